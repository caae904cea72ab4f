/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/jump.h: the jump-optimised form of a site: a jump to a detour in place of the breakpoint. An architecture
 * provides the code of both (machine/detour.h).
 */
#ifndef _KINST_JUMP_H
#define _KINST_JUMP_H

#include <linux/linkage.h>
#include <linux/list.h>
#include "text/site.h"

/* Makes the site a candidate for a jump; schedules the candidates. With the sites' mutex held. */
void kinst_jump_enqueue(struct kinst_site *site);
void kinst_jump_schedule(void);

/*
 * Called before the batch's sites are armed: undoes the jumps that cover them,
 * and the jumps at the sites of these listeners, whose session excludes jumps
 * (NULL: it does not). True if any were undone: they must be reaped. With the mutex and the patch lock held.
 */
bool kinst_jumps_make_way(struct list_head *listeners, struct list_head *fresh);

/* Turns sites that are removed back into breakpoints; they must be reaped. With the mutex and the patch lock held. */
void kinst_jumps_leave(struct list_head *dead);

/*
 * For the reaper: one moves the jumps that were undone to the list, the other frees them once
 * no task can be in their detours. The first with the mutex held, the second with both locks.
 */
void kinst_jumps_reap(struct list_head *reaped);
void kinst_jumps_free(struct list_head *reaped);

/* The bytes that the jump replaced, and their count; 0 if the jump is not in the text. */
size_t kinst_jump_original(const struct kinst_jump *jump, const u8 **bytes);

/* The entry of all detours (text/entry.S), and the offset of the instruction in it that turns interrupts off. */
void kinst_jump_entry(void);
extern const u32 kinst_jump_quiet;

/* Called by the entry, with interrupts off. */
asmlinkage void kinst_jump_hit(struct pt_regs *regs);

/* KINST_IOC_SETTLE: waits until every site that can be a jump is one; returns the number of jumps. */
u32 kinst_jumps_settle(void);

void kinst_jump_init(void);
void kinst_jump_exit(void);

#endif /* _KINST_JUMP_H */
