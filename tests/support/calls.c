/* calls.c: inlined functions. The tests contain the line numbers: do not change them. */
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
extern int printf(const char *, ...);
volatile int sink;
INLINE int leaf(int x)
{
	if (x & 1)
		return x * 3;
	sink = x;
	return x / 7;
}

INLINE int middle(int x)
{
	return leaf(x) + leaf(x + 1);
}

static int both(int x) { sink = x; return x * x + 1; }
int (*volatile pointer)(int) = both;

NOINLINE int one(int x)
{
	return leaf(x) + 1;
}

NOINLINE int two(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
		sum += middle(i);
	return sum + both(x);
}

int main(int argc, char **argv)
{
	(void)argv;
	return printf("%d %d %d\n", one(argc), two(argc), pointer(argc)) < 0;
}
