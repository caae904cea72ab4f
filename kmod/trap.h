/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trap.h: the probe path, from a breakpoint or from ftrace to the programs.
 */
#ifndef _KINST_TRAP_H
#define _KINST_TRAP_H

#include <linux/ptrace.h>
#include "probe.h"

/* The hash of sites. Writers hold probe.c's mutex; readers are on the probe path. */
struct kinst_site *kinst_site_find(unsigned long addr);
void kinst_site_publish(struct kinst_site *site);
void kinst_site_unpublish(struct kinst_site *site);
/* Calls f for every site; f may unpublish it. */
void kinst_site_for_each(void (*f)(struct kinst_site *site, void *arg), void *arg);

/* Runs the programs of everyone who listens at the site. regs->ip is undefined after it. */
void kinst_hit(struct kinst_site *site, struct pt_regs *regs);

int kinst_trap_init(void);
void kinst_trap_exit(void);

#endif /* _KINST_TRAP_H */
