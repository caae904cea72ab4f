// SPDX-License-Identifier: GPL-2.0
/*
 * slow.c: functions that are slow in known places. Writing N to the parameter `calls` calls them N times.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>

static int sum;

/* Two of four calls are slow: 60 us and 20 us. */
noinline int slow_branch(int n);
noinline int slow_branch(int n)
{
	int found = n;

	if (n % 4 == 1) {
		udelay(60);
		found += 3;
	}
	if (n % 4 == 2)
		udelay(20);
	WRITE_ONCE(sum, found);
	return found;
}

/* Each level takes 60 us, before and after the one below it. */
noinline int slow_deep(int levels);
noinline int slow_deep(int levels)
{
	int below = 0;

	udelay(30);
	if (levels)
		below = slow_deep(levels - 1);
	udelay(30);
	WRITE_ONCE(sum, below);
	return below + 1;
}

static __always_inline int slow_piece(int n)
{
	if (n & 1)
		udelay(30);
	WRITE_ONCE(sum, n);
	return READ_ONCE(sum);
}

noinline int slow_once(int n);
noinline int slow_once(int n)
{
	return slow_piece(n);
}

noinline int slow_twice(int n);
noinline int slow_twice(int n)
{
	int first = slow_piece(n);

	return slow_piece(n + 1) - first;
}

noinline int slow_never(int n);
noinline int slow_never(int n)
{
	return slow_piece(n) + 1;
}

/* The total time of all calls of slow_branch(), in nanoseconds. */
static unsigned long spent;
module_param(spent, ulong, 0400);

static int call(const char *value, const struct kernel_param *param)
{
	int calls, n, error = kstrtoint(value, 0, &calls);

	for (n = spent = 0; n < calls && !error; n++) {
		u64 begin = ktime_get_ns();

		slow_branch(n);
		spent += ktime_get_ns() - begin;
		slow_deep(3);
		slow_once(n);
		slow_twice(n);
	}
	if (calls < 0)
		slow_never(calls);
	return error;
}

static const struct kernel_param_ops ops = { .set = call };
module_param_cb(calls, &ops, NULL, 0200);

MODULE_DESCRIPTION("functions that are slow in known places");
MODULE_LICENSE("GPL");
