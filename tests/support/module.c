/* module.c: a relocatable module, with namesakes inside (compiled twice) and in the kernel. */
extern volatile int sink;

static inline __attribute__((always_inline)) void in_module(int x)
{
	for (int i = 0; i < x; i++)
		sink += i;
}

#ifndef AGAIN
__attribute__((used)) static int twice(int x)
{
	in_module(x);
	return x;
}
#endif

__attribute__((used)) static int repeated(int x)
{
	sink = 5;
	in_module(x);
	return x + 1;
}
