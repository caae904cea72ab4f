/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/sites.h: the life of a site.
 */
#ifndef _KINST_SITES_H
#define _KINST_SITES_H

#include "text/site.h"

struct kinst_func;

/*
 * The site at the instruction (at the ftrace site), existing or new; a new one
 * is added to fresh. NULL and the reason on failure. With the patch lock held.
 */
struct kinst_site *kinst_site_break(const struct kinst_arch_insn *insn, const struct kinst_func *f,
				    struct list_head *fresh, enum kinst_reason *reason);
struct kinst_site *kinst_site_fentry(unsigned long addr, struct list_head *fresh, enum kinst_reason *reason);
/* The mirror, for a site that has not been armed. */
void kinst_site_drop(struct kinst_site *site);

/*
 * Arm the sites of the list: the breakpoints with the patch lock held, then the ftrace sites without the mutex, in the
 * session's turn. A site that is not armed afterwards cannot be.
 */
void kinst_sites_arm(struct list_head *fresh);
int kinst_sites_arm_fentry(struct list_head *fresh);
/*
 * The mirrors. The breakpoints with the mutex held, without the patch lock; the list then has only ftrace sites.
 * Sites whose breakpoint or jump other code has overwritten stay permanently, since it may be written back; they
 * move to the list lost if there is one.
 */
void kinst_sites_disarm(struct list_head *dead, struct list_head *lost);
/* Empties the list. */
void kinst_sites_disarm_fentry(struct list_head *dead);

/* The original bytes at addr, below our breakpoint or jump, and their count; 0 if neither. With the mutex held. */
size_t kinst_site_original(unsigned long addr, const u8 **bytes);

/* Drops the lost sites of a module that is unloaded: nothing can be written back there. Without the patch lock. */
void kinst_sites_forget(struct list_head *lost);

/* Frees removed sites and jumps in the background. */
void kinst_sites_reap_later(void);

/* Waits until the slots of the removed sites are free again. Without the mutex. */
void kinst_sites_reap(void);
void kinst_sites_reap_killable(void);

int kinst_sites_init(void);
void kinst_sites_exit(void);

#endif /* _KINST_SITES_H */
