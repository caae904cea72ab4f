// SPDX-License-Identifier: GPL-2.0
/*
 * ways.c: functions with known paths: a recursive one, nested loops, an inlined one, and one that an interrupt calls
 * while a thread is in it. Each write of N to a parameter calls its function with N.
 */
#include <linux/irq_work.h>
#include <linux/module.h>

noinline int ways_down(int n);
noinline int ways_down(int n)
{
	int below;

	if (n <= 0)
		return 0;
	below = ways_down(n - 1);
	/* Prevents the compiler from making it a loop. */
	asm volatile("" : "+r"(below));
	return below + 1;
}

noinline int ways_loop(int n);
noinline int ways_loop(int n)
{
	int i, j, sum = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < 3; j++)
			asm volatile("" : "+r"(sum));
		if (i & 1)
			asm volatile("inc %0" : "+r"(sum));
	}
	return sum;
}

static __always_inline int ways_odd(int n)
{
	int odd = 0;

	asm volatile("" : "+r"(n));
	if (n & 1)
		asm volatile("inc %0" : "+r"(odd));
	return odd;
}

noinline int ways_copies(int n);
noinline int ways_copies(int n)
{
	int odd = ways_odd(n);

	asm volatile("" : "+r"(odd));
	return odd + ways_odd(n + 1);
}

static void interrupt(struct irq_work *work);
static DEFINE_IRQ_WORK(work, interrupt);

noinline int ways_shared(int n);
noinline int ways_shared(int n)
{
	int i, sum = 0;

	for (i = 0; i < n; i++) {
		asm volatile("inc %0" : "+r"(sum));
		/* The interrupt arrives immediately. */
		if (i == 20)
			irq_work_queue(&work);
	}
	return sum;
}

static unsigned int interrupts;
module_param(interrupts, uint, 0400);

static void interrupt(struct irq_work *work)
{
	interrupts += ways_shared(5) == 5;
}

static int shared(int n)
{
	int sum = 0;

	while (n-- > 0)
		sum += ways_shared(40);
	irq_work_sync(&work);
	return sum;
}

static int call(const char *val, const struct kernel_param *kp)
{
	int (*function)(int) = kp->arg, n, error = kstrtoint(val, 0, &n);

	if (!error)
		function(n);
	return error;
}

static const struct kernel_param_ops calls = { .set = call };
module_param_cb(down, &calls, ways_down, 0200);
module_param_cb(loop, &calls, ways_loop, 0200);
module_param_cb(copies, &calls, ways_copies, 0200);
module_param_cb(shared, &calls, shared, 0200);

MODULE_DESCRIPTION("functions with known paths, for the tests of kinst");
MODULE_LICENSE("GPL");
