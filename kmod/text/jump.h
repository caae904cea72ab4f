/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/jump.h: the jump-optimised form of a site, which is the architecture's: a jump to a
 * detour in place of the breakpoint. One that has none leaves its sites as they are.
 */
#ifndef _KINST_JUMP_H
#define _KINST_JUMP_H

#include <linux/list.h>
#include "text/probe.h"

/* The site wants to be a jump; those that do soon will be. With the sites' mutex held. */
void kinst_jump_enqueue(struct kinst_site *site);
void kinst_jump_schedule(void);

/*
 * Before the batch's sites are armed: takes back the jumps that they would be
 * in the middle of, and those that a user of the points does not want. With the
 * mutex and the patch lock held.
 */
void kinst_jumps_make_way(struct kinst_points *points, struct list_head *fresh);

/* Sites that go: they are back at their breakpoints. With the mutex and the patch lock held. */
void kinst_jumps_leave(struct list_head *dead);

/*
 * The reaper's part: those that were taken back move to the list, and are freed
 * once no task can be in their detours. With the mutex, then with both locks held.
 */
void kinst_jumps_reap(struct list_head *reaped);
void kinst_jumps_free(struct list_head *reaped);

/* Whether the jump is in the text, and what was there before it: how many bytes. */
bool kinst_jump_is_patched(const struct kinst_jump *jump);
size_t kinst_jump_original(const struct kinst_jump *jump, const u8 **bytes);

/* As kinst_slot_place(), of an address in a detour. */
unsigned long kinst_detour_place(unsigned long addr, bool *pushed);

void kinst_jump_exit(void);

#endif /* _KINST_JUMP_H */
