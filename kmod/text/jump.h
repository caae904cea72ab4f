/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/jump.h: the jump-optimised form of a site: a jump to a detour in place of the breakpoint. An architecture
 * provides the code of both, and what may lead to the middle of a jump (refs.h).
 */
#ifndef _KINST_JUMP_H
#define _KINST_JUMP_H

#include <linux/linkage.h>
#include <linux/list.h>
#include "text/probe.h"

/* Makes the site a candidate for a jump; schedules the candidates. With the sites' mutex held. */
void kinst_jump_enqueue(struct kinst_site *site);
void kinst_jump_schedule(void);

/*
 * Called before the batch's sites are armed: undoes the jumps that they would be
 * in the middle of, and all jumps at the points if these exclude jumps. With the
 * mutex and the patch lock held.
 */
void kinst_jumps_make_way(struct kinst_points *points, struct list_head *fresh);

/* Turns sites that are removed back into breakpoints. With the mutex and the patch lock held. */
void kinst_jumps_leave(struct list_head *dead);

/*
 * For the reaper: moves the jumps that were undone to the list, and frees them once
 * no task can be in their detours. With the mutex held, then with both locks.
 */
void kinst_jumps_reap(struct list_head *reaped);
void kinst_jumps_free(struct list_head *reaped);

/* The bytes that the jump replaced, and their number; 0 if it is not in the text. */
size_t kinst_jump_original(const struct kinst_jump *jump, const u8 **bytes);

/* Like kinst_slot_place(), for an address in a detour. */
unsigned long kinst_detour_place(unsigned long addr, bool *pushed);

/* The function that detours call, of the architecture. It calls kinst_jump_hit() with interrupts off. */
void kinst_jump_entry(void);
asmlinkage void kinst_jump_hit(struct pt_regs *regs);

void kinst_jump_exit(void);

#endif /* _KINST_JUMP_H */
