// SPDX-License-Identifier: GPL-2.0
/*
 * starve.c: a module that makes memory allocations fail in the ioctls of one task.
 *
 *   /sys/module/starve/parameters/nth     N: in the writer's ioctls the Nth allocation fails, and no other
 *                                 one_in  N: each with a probability of one in N; 0: none
 *                                 failed  the number of failures since one of the two was written
 *
 * Before each allocation the kernel calls two functions that decide whether it fails. Kprobes override their result.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <asm/linkage.h>
#include <asm/syscall.h>

static struct task_struct *task; /* only compared */
static bool in_ioctl;
static unsigned int nth, one_in, failed, seen; /* seen: since one of the two was written */

/* ---- the task's settings ---- */

static int number_set(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_uint(val, kp);

	if (kp->arg == &nth)
		one_in = 0;
	else
		nth = 0;
	failed = seen = 0;
	task = current;
	return ret;
}

static const struct kernel_param_ops number_ops = { .set = number_set, .get = param_get_uint };

module_param_cb(nth, &number_ops, &nth, 0600);
module_param_cb(one_in, &number_ops, &one_in, 0600);
module_param(failed, uint, 0400);

/* ---- allocations ---- */

void starve_return(void);
asm(".text\n"
    ".type starve_return, @function\n"
    "starve_return:\n" ANNOTATE_NOENDBR ASM_RET ".size starve_return, .-starve_return\n");

static bool is_to_fail(gfp_t gfp)
{
	/* Movable pages belong to user space. */
	if (current != task || !in_ioctl || !in_task() || gfp & (__GFP_NOFAIL | __GFP_MOVABLE))
		return false;
	seen++;
	if (one_in ? get_random_u32() % one_in : seen != nth)
		return false;
	failed++;
	return true;
}
NOKPROBE_SYMBOL(is_to_fail);

/* Makes the function return at once, with this value. */
static int answer(struct pt_regs *regs, unsigned long value)
{
	regs->ax = value;
	regs->ip = (unsigned long)starve_return;
	return 1;
}
NOKPROBE_SYMBOL(answer);

static int before_slab(struct kprobe *kp, struct pt_regs *regs)
{
	return is_to_fail(regs->si) ? answer(regs, -ENOMEM) : 0;
}
NOKPROBE_SYMBOL(before_slab);

static int before_page(struct kprobe *kp, struct pt_regs *regs)
{
	return is_to_fail(regs->di) ? answer(regs, true) : 0;
}
NOKPROBE_SYMBOL(before_page);

static struct kprobe slab = { .symbol_name = "should_failslab", .pre_handler = before_slab };
static struct kprobe page = { .symbol_name = "should_fail_alloc_page", .pre_handler = before_page };

/* ---- ioctls ---- */

static int ioctl_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (current != task)
		return 1;
	in_ioctl = true;
	return 0;
}
NOKPROBE_SYMBOL(ioctl_begins);

static int ioctl_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	in_ioctl = false;
	return 0;
}
NOKPROBE_SYMBOL(ioctl_ends);

static struct kretprobe ioctls = {
	.kp.symbol_name = IS_ENABLED(CONFIG_ARM64) ? "__arm64_sys_ioctl" : "__x64_sys_ioctl",
	.entry_handler = ioctl_begins,
	.handler = ioctl_ends,
};

static int __init starve_init(void)
{
	int ret = register_kretprobe(&ioctls);

	if (ret)
		return ret;
	ret = register_kprobe(&slab);
	if (ret)
		goto no_slab;
	ret = register_kprobe(&page);
	if (ret)
		goto no_page;
	return 0;
no_page:
	unregister_kprobe(&slab);
no_slab:
	unregister_kretprobe(&ioctls);
	return ret;
}

static void __exit starve_exit(void)
{
	unregister_kprobe(&page);
	unregister_kprobe(&slab);
	unregister_kretprobe(&ioctls);
}

module_init(starve_init);
module_exit(starve_exit);
MODULE_DESCRIPTION("failing allocations, for the tests of kinst");
MODULE_LICENSE("GPL");
