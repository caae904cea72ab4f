// SPDX-License-Identifier: GPL-2.0
/*
 * probed.c: a driver with static probes, made by each macro of kinst/sdt.h. Each write to the parameter `fire` fires
 * them.
 */
#include <linux/module.h>
#include <kinst/sdt.h>

struct thing {
	int number;
	unsigned char small;
	short rows[4];
	const char *text;
};

static struct thing thing = { -5, 250, { 1, -2, 3, -4 }, "a thing" };
static unsigned int costly; /* how often the costly argument was computed */
module_param(costly, uint, 0400);

/* An argument that is in memory stays there. */
noinline void probed_memory(struct thing *t);
noinline void probed_memory(struct thing *t)
{
	DTRACE_PROBE4(probed, memory, t->number, t->small, t->rows[1], t->text);
}

/* Arguments that are in registers stay there, and a probe that is off is a nop. */
noinline int probed_off(int a, unsigned long b);
noinline int probed_off(int a, unsigned long b)
{
	DTRACE_PROBE2(probed, off, a, b);
	return a + 1;
}

static noinline void many(signed char a, unsigned short b, int c, unsigned long long d, bool e, struct thing *f)
{
	DTRACE_PROBE_TYPES(probed, six__arguments, "signed char", "uint16_t", "int", "u64", "bool", "struct thing *");
	DTRACE_PROBE6(probed, six__arguments, a, b, c, d, e, f);
}

static noinline void constants(void)
{
	DTRACE_PROBE5(probed, constants, 7, -1, 0x123456789abcdef0, (unsigned char)200, thing.number);
}

static __always_inline void inlined(int n)
{
	DTRACE_PROBE1(probed, inlined, n);
}

static noinline void twice(int n)
{
	inlined(n);
	asm volatile("" : "+r"(n));
	inlined(2 * n);
}

static noinline unsigned int cost(void)
{
	return ++costly;
}

static noinline void gated(void)
{
	if (DTRACE_PROBE_ENABLED(probed, gated))
		DTRACE_PROBE1(probed, gated, cost());
}

static int fire_set(const char *val, const struct kernel_param *kp)
{
	DTRACE_PROBE(probed, nothing);
	probed_memory(&thing);
	probed_off(1, 2);
	many(-100, 65535, -3, -1ull, true, &thing);
	constants();
	twice(21);
	gated();
	return 0;
}

static const struct kernel_param_ops fire_ops = { .set = fire_set };
module_param_cb(fire, &fire_ops, NULL, 0200);

static int __init probed_init(void)
{
	DTRACE_PROBE(probed, gone);
	return 0;
}

static void __exit probed_exit(void)
{
}

module_init(probed_init);
module_exit(probed_exit);
MODULE_DESCRIPTION("a driver's static probes, for the tests of kinst");
MODULE_LICENSE("GPL");
