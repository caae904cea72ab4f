// SPDX-License-Identifier: GPL-2.0
/*
 * places/kprobes.c: kprobes that are registered while a function gets its first site.
 *
 * A kprobe that has passed the blacklist check and waits for the kernel's lock while we arm is still registered, as a
 * breakpoint; we write no jump over it. Every kprobe that will become a jump passes through one kernel function,
 * under the lock that protects hosts, and is stopped there.
 */
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/printk.h>

#include "arch/ksym.h"
#include "patch/patch.h"
#include "places/host.h"
#include "places/kprobes.h"
#include "places/read.h"

#ifdef CONFIG_OPTPROBES
/* Leaves the kprobe as if its instructions had never allowed a jump. */
static void kinst_kprobe_deny(struct optimized_kprobe *op)
{
	list_del_init(&op->list);
	op->kp.flags &= ~KPROBE_FLAG_OPTIMIZED;
	op->optinsn.size = 0;
}

/* Context: a kprobe's, in the work that processes the list, with kprobe_mutex. */
static int kinst_before_optimizing(struct kprobe *kp, struct pt_regs *regs)
{
	struct list_head *waiting = (struct list_head *)regs_get_kernel_argument(regs, 0);
	struct optimized_kprobe *op, *next;

	list_for_each_entry_safe(op, next, waiting, list)
		if (kinst_is_hosted((unsigned long)op->kp.addr))
			kinst_kprobe_deny(op);
	return 0;
}

static struct kprobe kinst_optimizer = { .pre_handler = kinst_before_optimizing };

/* The kprobe is placed after the ftrace site: ftrace can be switched off. */
static int kinst_optimizer_find(void)
{
	struct kinst_func *f;

	kinst_patch_lock();
	f = kinst_func_get(kinst_addr_arch_optimize_kprobes);
	if (f)
		kinst_optimizer.addr = (void *)(f->site ? f->site + KINST_FTRACE_LEN : f->start);
	kinst_func_put(f);
	kinst_patch_unlock();
	return f ? 0 : -ENOMEM;
}

int kinst_kprobes_init(void)
{
	int err = kinst_optimizer_find();

	if (!err)
		err = register_kprobe(&kinst_optimizer);
	if (err)
		pr_err("kinst: cannot keep optimised kprobes out of functions with probes (%d)\n", err);
	return err;
}

void kinst_kprobes_exit(void)
{
	unregister_kprobe(&kinst_optimizer);
}
#else
int kinst_kprobes_init(void)
{
	return 0;
}

void kinst_kprobes_exit(void) {}
#endif
