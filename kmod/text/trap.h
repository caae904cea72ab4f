/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/trap.h: the probe path, from a breakpoint or from ftrace to the programs.
 */
#ifndef _KINST_TRAP_H
#define _KINST_TRAP_H

#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include "ksym.h"
#include "text/probe.h"

/* The hash of sites. Writers hold text/probe.c's mutex; readers are on the probe path. */
struct kinst_site *kinst_site_find(unsigned long addr);
void kinst_site_publish(struct kinst_site *site);
void kinst_site_unpublish(struct kinst_site *site);
/* Calls f for every site; f may unpublish it. */
void kinst_site_for_each(void (*f)(struct kinst_site *site, void *arg), void *arg);

/* Runs the programs of everyone who listens at the site. the instruction pointer is undefined after it. */
void kinst_hit(struct kinst_site *site, struct pt_regs *regs);

/*
 * What a trap does by itself, for hits that come in another way: RCU watches, even in the idle loop, and preemption
 * is off, as even to ask RCU ends in preempt_schedule_notrace() otherwise, where there may be a jump of ours.
 * Returns what the mirror wants back. Context: any, interrupts off.
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
	__preempt_count_sub(PREEMPT_OFFSET); /* who wants the CPU gets it as interrupts come on */
}

/*
 * A breakpoint at addr was hit: runs the programs and sends the registers to the trampoline. False: it is not one of
 * ours. Called by the architecture. Context: the probe path, interrupts off, NMI-like, any stack.
 */
bool kinst_trap(struct pt_regs *regs, unsigned long addr);

/* Of the architecture: makes kinst_trap() hear of breakpoints in the kernel. */
int kinst_trap_init(void);
void kinst_trap_exit(void);

#endif /* _KINST_TRAP_H */
