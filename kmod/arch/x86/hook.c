// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/hook.c: int3, delivered through the kernel's chain of die notifiers.
 */
#include <linux/cache.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/notifier.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>

#include "arch/arch.h"
#include "arch/ksym.h"
#include "context.h"

static kinst_arch_trap_fn kinst_trap_fn __ro_after_init;

/*
 * Context: the kernel's breakpoint handler, through notify_die: interrupts off, NMI-like, any stack. First in the
 * chain, except for the notifiers of kprobes and hardware breakpoints, which pass on any other breakpoint.
 */
static __probe_path int kinst_die(struct notifier_block *nb, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;

	if (event != DIE_INT3 || user_mode(regs))
		return NOTIFY_DONE;
	return kinst_trap_fn(regs, regs->ip - 1) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kinst_die);

static struct notifier_block kinst_die_nb = {
	.notifier_call = kinst_die,
	.priority = INT_MAX,
};

int kinst_arch_hook_traps(kinst_arch_trap_fn trap)
{
	kinst_trap_fn = trap;
	return register_die_notifier(&kinst_die_nb);
}

void kinst_arch_unhook_traps(void)
{
	unregister_die_notifier(&kinst_die_nb);
}

/* The chain is read each time: it may have changed since boot. */
bool kinst_arch_is_before_us(unsigned long start)
{
	struct atomic_notifier_head *head = (void *)kinst_addr_die_chain;
	struct notifier_block *nb;
	bool found = false;

	rcu_read_lock();
	for (nb = rcu_dereference(head->head); nb && !found; nb = rcu_dereference(nb->next))
		found = (unsigned long)nb->notifier_call == start;
	rcu_read_unlock();
	return found;
}
