/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/trap.h: int3, delivered through the kernel's chain of die notifiers. Context: any, on the probe
 * path; all inline, so that nothing here can be probed.
 */
#ifndef _KINST_X86_TRAP_H
#define _KINST_X86_TRAP_H

#include <linux/kdebug.h>
#include <linux/ptrace.h>

/* The registers at a breakpoint in the kernel, from the notifier's arguments; NULL: it is something else. */
static __always_inline struct pt_regs *kinst_arch_break_regs(unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;

	return event != DIE_INT3 || user_mode(regs) ? NULL : regs;
}

/* The address of the breakpoint that was hit. */
static __always_inline unsigned long kinst_arch_break_addr(const struct pt_regs *regs)
{
	return regs->ip - 1;
}

#endif /* _KINST_X86_TRAP_H */
