// SPDX-License-Identifier: GPL-2.0
/*
 * deep.c: a module that uses most of a task's stack.
 *
 *   /sys/module/deep/parameters/left     N: calls deep_leaf() with about N bytes of the writer's stack left
 */
#include <linux/module.h>
#include <linux/sched/task_stack.h>

static unsigned int left;
static unsigned long calls;

noinline void deep_leaf(void);
noinline void deep_leaf(void)
{
	calls++;
	barrier();
	calls++;
}

static unsigned long room(void)
{
	unsigned long here;

	return (unsigned long)&here - (unsigned long)task_stack_page(current);
}

/* The frames must stay: the computation after the call depends on them. */
static noinline unsigned int deep(unsigned int bytes)
{
	volatile unsigned char frame[128];

	frame[bytes % sizeof(frame)] = 1;
	if (room() < bytes + 2 * sizeof(frame))
		deep_leaf();
	else
		frame[0] = deep(bytes);
	return frame[0] + frame[bytes % sizeof(frame)];
}

static int left_set(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_uint(val, kp);

	if (!ret)
		deep(left);
	return ret;
}

static const struct kernel_param_ops left_ops = { .set = left_set, .get = param_get_uint };

module_param_cb(left, &left_ops, &left, 0600);

static int __init deep_init(void)
{
	return 0;
}

static void __exit deep_exit(void) {}

module_init(deep_init);
module_exit(deep_exit);
MODULE_DESCRIPTION("calls a function deep in a task's stack");
MODULE_LICENSE("GPL");
