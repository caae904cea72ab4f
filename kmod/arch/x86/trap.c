// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/trap.c: int3, through the kernel's chain of die notifiers.
 */
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/notifier.h>

#include "context.h"
#include "arch/arch.h"
#include "text/trap.h"

/*
 * Context: exc_int3 by way of notify_die: interrupts off, NMI-like, any stack.
 * First in the chain, except for those of kprobes and of hardware breakpoints,
 * which pass on what is not theirs.
 */
static int __probe_path kinst_die(struct notifier_block *nb, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;

	if (event != DIE_INT3 || user_mode(regs))
		return NOTIFY_DONE;
	return kinst_trap(regs, regs->ip - 1) ? NOTIFY_STOP : NOTIFY_DONE;
}
NOKPROBE_SYMBOL(kinst_die);

static struct notifier_block kinst_die_nb = {
	.notifier_call = kinst_die,
	.priority = INT_MAX,
};

int kinst_trap_init(void)
{
	return register_die_notifier(&kinst_die_nb);
}

void kinst_trap_exit(void)
{
	unregister_die_notifier(&kinst_die_nb);
}
