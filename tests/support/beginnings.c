/*
 * tests/support/beginnings.c: calls of inlined functions whose beginning the compiler moves, shares, or loses. Nothing in them
 * counts: a counter would keep the beginning where it is.
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

/* The second call in encode() is entered in its midst where the first one has tested the name. */
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

/* The multiplications of two calls are mixed. */
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

/* Both ways of a branch begin in the same way. */
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

/* A block begins and ends in the same way on all paths. */
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

int main(void)
{
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
	__asm__ volatile("int3");
	return 0;
}
