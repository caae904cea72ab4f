/*
 * tests/support/beginnings.c: calls of inlined functions whose beginning the compiler moves, shares, or loses. They
 * contain no counters: a counter would keep the beginning in place.
 */
volatile unsigned sink;
struct sequence { int x, encoding; };
struct database { struct sequence *standard; int busy; };

__attribute__((noinline)) static struct sequence *lookup(struct database *db, const char *name, int create)
{
	static struct sequence s[3];

	sink = create;
	s->x = name[0] == 'x';
	return name[0] == 'n' && !create ? 0 : s;
}

/* The second call in encode() is entered in the middle where the first one has tested the name. */
static inline struct sequence *find(struct database *db, int encoding, const char *name, int create)
{
	struct sequence *s;

	if (name) {
		s = lookup(db, name, create);
		if (s)
			s += encoding - 1;
	} else {
		s = db->standard;
	}
	return s;
}

__attribute__((noinline)) static int encode(struct database *db, int encoding, const char *name)
{
	struct sequence *s = find(db, encoding, name, 0);

	if (s && s->x) {
		if (db->busy)
			return 5;
		if (s->encoding == encoding)
			sink = 7;
	}
	s = find(db, encoding, name, 1);
	if (!s)
		return 7;
	s->encoding = encoding;
	return 0;
}

/* The multiplications of two calls are interleaved. */
static inline unsigned hash(unsigned long x)
{
	return (x * 889523592379UL << 24) >> 52;
}

__attribute__((noinline)) static unsigned match(const unsigned long *restrict p, const unsigned long *end,
						unsigned *restrict table)
{
	unsigned n = 0;

	do {
		unsigned a = hash(p[0]), b;

		table[a] = n;
		b = hash(p[1]);
		n += table[b] + 3;
		table[b] = a;
		p += 2;
	} while (p < end);
	return n;
}

/* Both arms of a branch have the same beginning. */
static inline unsigned price(const unsigned char *t, unsigned s)
{
	unsigned p = 0;

	s += 256;
	do {
		p += t[s & 255];
		s >>= 1;
	} while (s != 1);
	return p;
}

__attribute__((noinline)) static unsigned either(const unsigned char *t, unsigned s, unsigned m, int plain)
{
	unsigned p = 0;

	if (plain) {
		p += price(t, s);
	} else {
		s += 256;
		do {
			p += t[(s ^ m) & 255];
			s <<= 1;
		} while (s < 65536);
	}
	return p;
}

/* A block has the same beginning and end on all paths. */
struct block { void *first, *last; };

static inline struct block make(void *i)
{
	struct block b = { i, i };

	return b;
}

struct in { struct in *previous; int op; };

__attribute__((noinline)) static void *bound(void *a, void *b)
{
	sink++;
	return a ? a : b;
}

__attribute__((noinline)) static void bind(struct block b, void *body)
{
	sink = b.first == body;
}

__attribute__((noinline)) static void all(struct in *last, void *body)
{
	for (struct in *i = last; i; i = i->previous) {
		if (i->op == 3) {
			i->op = 4;
			body = bound(body, i);
		}
		bind(make(i), body);
	}
}

/* The calls of run() on three paths are merged. */
struct finder { unsigned ahead, nice, longest, distance; };

__attribute__((noinline)) static void run(struct finder *f, unsigned n)
{
	sink = n;
	f->distance ^= n;
}

__attribute__((noinline)) static unsigned longest(struct finder *f, unsigned i)
{
	sink = i;
	f->longest = i * 7 % 23;
	return i * 5 % 19;
}

static inline void skip(struct finder *f, unsigned n)
{
	if (n != 0) {
		run(f, n);
		f->ahead += n;
	}
}

__attribute__((noinline)) static void optimum(struct finder *f, unsigned i, unsigned *back, unsigned *len)
{
	unsigned rep = longest(f, i);

	if (rep >= f->nice) {
		*back = i;
		*len = rep;
		skip(f, rep - 1);
		return;
	}
	if (f->longest >= f->nice) {
		*back = f->distance + 4;
		*len = f->longest;
		skip(f, f->longest - 1);
		return;
	}
	if (rep > 2 && (rep + 1 >= f->longest || (rep + 2 >= f->longest && f->distance > 512))) {
		*back = 1;
		*len = rep;
		skip(f, rep - 1);
		return;
	}
	*back = 7;
	*len = f->longest;
	skip(f, f->longest - 2);
}

/* One comparison decides whether to call, the next one is in the callee: they are swapped. */
struct next { unsigned long id, coder; void *end; };

__attribute__((noinline)) static void release(void *p)
{
	sink = (unsigned long)p;
}

static inline void finish(struct next *n)
{
	if (n->coder != 0) {
		if (n->end)
			release(n->end);
		else
			release(n);
		n->coder = 0;
		n->end = 0;
	}
}

__attribute__((noinline)) static unsigned long start(struct next *n, const unsigned long *filter)
{
	if (filter[0] != n->coder)
		finish(n);
	n->coder = filter[0];
	n->id = filter[1];
	return filter[0] == 0 ? 0 : filter[0] + filter[1];
}

/* The function has a loop, and is called in one. */
static inline int search(int v, const int *t)
{
	int low = 0, high = 256, mid;

	do {
		mid = (low + high) >> 1;
		if (v >= t[mid])
			low = mid;
		else
			high = mid;
	} while (high - low != 1);
	return low;
}

__attribute__((noinline)) static void indices(const int *t, const int *v, int n)
{
	for (int i = 0; i < n; i++)
		sink = search(v[i], t);
}

/* Two calls are merged. */
static inline unsigned get(const unsigned char *p)
{
	return (unsigned)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

__attribute__((noinline)) static const unsigned char *cell(const unsigned char *p, unsigned i)
{
	sink = i;
	return p + (i & 15);
}

__attribute__((noinline)) static unsigned child(const unsigned char *p, unsigned i, unsigned n)
{
	unsigned at;

	if (i >= n)
		at = get(&p[8]);
	else
		at = get(cell(p, i));
	sink = at;
	return at + 1;
}

int main(void)
{
	struct finder finder = { 0, 17, 0, 5 };
	static const unsigned long filters[3][2] = { { 5, 6 }, { 0, 1 }, { 9, 8 } };
	static int sorted[257], wanted[30];
	struct next next = { 0 };
	unsigned back, len;
	static struct sequence standard = { 1, 2 };
	static unsigned long text[400];
	static unsigned table[4096];
	static unsigned char bytes[256];
	static struct in in[9];
	struct database db = { &standard, 0 };
	const char *names[] = { "x", "n", "a", 0 };

	for (int i = 0; i < 400; i++)
		text[i] = (unsigned long)i * i;
	for (int i = 0; i < 256; i++)
		bytes[i] = i * i;
	for (int i = 1; i < 9; i++) {
		in[i].previous = &in[i - 1];
		in[i].op = i % 3 ? 3 : 1;
	}
	__asm__ volatile("int3");
	for (int i = 0; i < 40; i++)
		sink = encode(&db, 1, names[i & 3]);
	sink = match(text, text + 100, table);
	for (int i = 0; i < 30; i++)
		sink = either(bytes, i, 3, i % 3 == 0);
	all(&in[8], in);
	for (unsigned i = 0; i < 400; i++) {
		if (i == 200)
			finder.nice = 30;
		optimum(&finder, i, &back, &len);
	}
	for (unsigned i = 0; i < 50; i++)
		sink = start(&next, filters[i * i % 7 % 3]);
	for (int i = 0; i < 257; i++)
		sorted[i] = i;
	for (int i = 0; i < 30; i++)
		wanted[i] = i * 8;
	indices(sorted, wanted, 30);
	for (unsigned i = 0; i < 10; i++)
		sink = child(bytes, i, 5);
	__asm__ volatile("int3");
	return 0;
}
