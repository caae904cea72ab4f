/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/trap.h: the probe path, from a breakpoint or from ftrace to the programs.
 */
#ifndef _KINST_TRAP_H
#define _KINST_TRAP_H

#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include "arch/ksym.h"
#include "text/site.h"

/* Runs the programs of all listeners at the site. The instruction pointer is undefined afterwards. */
void kinst_hit(struct kinst_site *site, struct pt_regs *regs);

/*
 * Does for other hits what a trap does by itself: makes RCU watch, even in the idle loop, and turns preemption off.
 * Otherwise even rcu_is_watching() would end in preempt_schedule_notrace(), which may have one of our jumps. Returns
 * the argument of the mirror. Context: any, interrupts off.
 */
static nokprobe_inline bool kinst_watch(void)
{
	__preempt_count_add(PREEMPT_OFFSET);
	if (likely(rcu_is_watching()))
		return false;
	kinst_sym_ct_nmi_enter();
	return true;
}

static nokprobe_inline void kinst_unwatch(bool idle)
{
	if (unlikely(idle))
		kinst_sym_ct_nmi_exit();
	__preempt_count_sub(PREEMPT_OFFSET); /* a pending reschedule happens when interrupts are turned on */
}

/*
 * Handles a hit of the breakpoint at addr: runs the programs and redirects the registers to the trampoline. False if
 * another tool set it. Context: the probe path, interrupts off, NMI-like, any stack.
 */
bool kinst_trap(struct pt_regs *regs, unsigned long addr);

#endif /* _KINST_TRAP_H */
