/* shapes.c: inline functions of several shapes, each called a known number of times: calls_NAME. */
#define inlined static inline __attribute__((always_inline))
#define apart __attribute__((noinline, noclone))

typedef unsigned int u32;

volatile u32 sink;
volatile u32 calls_early, calls_loop, calls_outer, calls_inner, calls_checked, calls_tail, calls_mixed, calls_empty;
volatile u32 calls_choice, calls_turned;

apart u32 other(u32 x)
{
	return x * 3 + sink;
}

apart __attribute__((cold, noreturn)) void fatal(u32 x)
{
	sink = x;
	__builtin_trap();
}

apart __attribute__((cold)) void complain(u32 x)
{
	sink += x;
}

inlined u32 early(u32 x)
{
	calls_early++;
	if (x % 3 == 0)
		return 1;
	if (x % 5 == 0)
		return other(x);
	sink += x;
	return x;
}

inlined u32 loop(u32 x)
{
	u32 i, sum = 0;

	calls_loop++;
	for (i = 0; i < x % 7; i++) {
		if (other(i) == 5000)
			break;
		sum += sink;
	}
	return sum;
}

inlined u32 inner(u32 x)
{
	calls_inner++;
	return x & 1 ? other(x) : x >> 1;
}

inlined u32 outer(u32 x)
{
	calls_outer++;
	if (x % 4)
		return inner(x) + inner(x + 1);
	return inner(x);
}

inlined u32 checked(u32 x)
{
	calls_checked++;
	if (__builtin_expect(x == 0xffffff, 0))
		fatal(x);
	if (__builtin_expect(x % 11 == 0, 0)) {
		complain(x);
		return 0;
	}
	return sink + x;
}

inlined u32 tail(u32 x)
{
	calls_tail++;
	return other(x + 1);
}

inlined u32 mixed(const u32 *p)
{
	u32 a, b;

	calls_mixed++;
	a = p[0];
	b = p[1];
	return a > b ? a - b : b - a;
}

inlined u32 choice(u32 x)
{
	calls_choice++;
	switch (x % 4) {
	case 0:
		return other(1);
	case 1:
		return sink;
	case 2:
		complain(x);
		break;
	}
	return x;
}

/* In a loop, clang places one of its blocks before its first block. */
inlined u32 turned(u32 x)
{
	calls_turned++;
	sink = x * 7;
	if (x % 3 == 0) {
		if (sink % 4 == 1)
			return x + 2;
	} else {
		sink = other(x);
		if (sink & 64)
			sink = other(x + 1);
	}
	sink = x >> 3;
	return x * 5;
}

apart u32 caller_one(u32 x)
{
	u32 p[2] = { x, sink };

	return early(x) + checked(x) + mixed(p);
}

apart u32 caller_two(u32 x)
{
	u32 i, sum = 0;

	for (i = 0; i < 4; i++)
		sum += loop(x + i) + early(i);
	if (x % 2)
		return tail(sum);
	return outer(sum) + choice(x);
}

apart u32 caller_three(u32 x)
{
	while (x > 10) {
		if (choice(x) > 1000000)
			return early(x);
		x -= 1 + checked(x) % 3;
		if (outer(x) == 77)
			continue;
		sink = x;
	}
	return tail(x);
}

apart u32 caller_four(u32 x)
{
	u32 i;

	for (i = 0; i < 5; i++)
		x += turned(x + 1);
	return x;
}

int main(void)
{
	u32 i;

	__asm__ volatile("int3");
	for (i = 0; i < 60; i++)
		sink = (caller_one(i) + caller_two(i * 7) + caller_three(i) + caller_four(i)) % 1000;
	__asm__ volatile("int3");
	return 0;
}
