/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/sites.h: the life of a site.
 */
#ifndef _KINST_SITES_H
#define _KINST_SITES_H

#include <linux/mutex.h>
#include "text/probe.h"

/* Everything about sites, slots and listeners, but for the probe path, which reads under RCU. Before the patch lock. */
extern struct mutex kinst_sites_mutex;

/*
 * The site at the instruction (at the ftrace site), an old one or a new one that
 * is put on fresh; or NULL and why not. With the patch lock held.
 */
struct kinst_site *kinst_site_break(const struct kinst_arch_insn *insn, const struct kinst_func *f,
				    struct list_head *fresh, enum kinst_reason *reason);
struct kinst_site *kinst_site_fentry(unsigned long addr, struct list_head *fresh, enum kinst_reason *reason);
/* The mirror, for one that has not been armed. */
void kinst_site_drop(struct kinst_site *site);

/*
 * Arms the sites of the list: the breakpoints with the patch lock held, then ftrace's without. A site that
 * is not armed then, cannot be.
 */
void kinst_sites_arm(struct list_head *fresh);
int kinst_sites_arm_fentry(struct list_head *fresh);
/* The mirror of both; without the patch lock. The list is empty after it. */
void kinst_sites_remove(struct list_head *dead);

/* Sites whose jumps were lost, of a module that goes: nobody can bring those back. Without the patch lock. */
void kinst_sites_forget(struct list_head *lost);

/* Waits until every task and every CPU is somewhere else than it was, of its own will. Without the mutex. */
void kinst_sites_quiesce(void);

/* In the background: what was taken away is freed. */
void kinst_sites_reap_later(void);

/* Waits until the slots of the removed sites are free again. Without the mutex. */
void kinst_sites_reap(void);

void kinst_sites_exit(void);

#endif /* _KINST_SITES_H */
