/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/sites.h: the life of a site.
 */
#ifndef _KINST_SITES_H
#define _KINST_SITES_H

#include <linux/mutex.h>
#include <linux/semaphore.h>
#include <linux/workqueue.h>
#include "text/probe.h"

/*
 * For all of sites, slots and listeners; the probe path reads under RCU instead. Taken before the patch lock. It is not
 * held while ftrace works, which may wait for every CPU.
 */
extern struct mutex kinst_sites_mutex;

/*
 * Probes that are armed or disarmed, and slots that are given back, under one hold of the locks, for which the load of
 * every module waits. Between two batches others get the locks.
 */
#define KINST_BATCH 512

/*
 * A session's turn: one at a time arms, from its first site until ftrace has armed the last, or takes away what ftrace
 * serves. The sites of others are armed meanwhile, or breakpoints on their way out. A semaphore, as it may be given back
 * by another task than the one that took it. Taken before the mutex.
 */
extern struct semaphore kinst_turn;

/* For what changes the text, or waits for all tasks: none of it may keep other work of a CPU waiting. */
extern struct workqueue_struct *kinst_queue;

/*
 * The site at the instruction (at the ftrace site), an existing one or a new one
 * that is added to fresh; or NULL and the reason. With the patch lock held.
 */
struct kinst_site *kinst_site_break(const struct kinst_arch_insn *insn, const struct kinst_func *f,
				    struct list_head *fresh, enum kinst_reason *reason);
struct kinst_site *kinst_site_fentry(unsigned long addr, struct list_head *fresh, enum kinst_reason *reason);
/* The mirror, for a site that has not been armed. */
void kinst_site_drop(struct kinst_site *site);

/*
 * Arms the sites of the list: the breakpoints with the patch lock held, then those of ftrace without the mutex, in the
 * session's turn. A site that is not armed afterwards cannot be.
 */
void kinst_sites_arm(struct list_head *fresh);
int kinst_sites_arm_fentry(struct list_head *fresh);
/* Keeps a site, and the module: what we wrote there was overwritten, and may come back. */
void kinst_site_lose(struct kinst_site *site);
/*
 * The mirrors. The breakpoints with the mutex held, without the patch lock; the list then has only what ftrace has armed.
 * Sites whose breakpoint or jump others have overwritten stay for ever, as what was there may come back; they go to the
 * list of the lost ones if there is one.
 */
void kinst_sites_disarm(struct list_head *dead, struct list_head *lost);
/* Empties the list. */
void kinst_sites_disarm_fentry(struct list_head *dead);

/* Forgets lost sites of a module that is unloaded: what was there cannot come back. Without the patch lock. */
void kinst_sites_forget(struct list_head *lost);

/* Frees what was removed, in the background. */
void kinst_sites_reap_later(void);

/* Waits until the slots of the removed sites are free again. Without the mutex. */
void kinst_sites_reap(void);
void kinst_sites_reap_killable(void);

int kinst_sites_init(void);
void kinst_sites_exit(void);

#endif /* _KINST_SITES_H */
