/* SPDX-License-Identifier: GPL-2.0 */
/*
 * jump.h: the jump-optimised form of a site.
 */
#ifndef _KINST_JUMP_H
#define _KINST_JUMP_H

#include <linux/linkage.h>
#include <linux/list.h>
#include <linux/ptrace.h>
#include "probe.h"

/*
 * What stands, or will stand, in the place of a site's breakpoint: a jump over
 * the instruction and, if it is shorter than a jump, over those behind it.
 */
struct kinst_jump {
	struct list_head node; /* of its function's; then of those that are undone or wait to be freed */
	struct list_head pending; /* prepared, not patched yet */
	struct kinst_site *site;
	struct kinst_jump_func *func;
	unsigned long detour;
	u8 len; /* of what it replaces: whole instructions */
	bool alone; /* that is one instruction: nobody can be in the middle of it */
	bool patched;
	u8 original[KINST_JUMP_LEN];
	u8 jump[KINST_JUMP_LEN];
};

/* The site wants to be a jump; those that do soon will be. With the sites' mutex held. */
void kinst_jump_hope(struct kinst_site *site);
void kinst_jump_soon(void);

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

/* Called by kinst_jump_entry() of arch/: from is where a detour goes on. */
asmlinkage void kinst_jump_hit(struct pt_regs *regs, unsigned long from);

/* Is there a jump in the function that starts there? Then the kernel refuses kprobes in it because of us. */
bool kinst_jump_in(unsigned long func);

void kinst_jump_exit(void);

#endif /* _KINST_JUMP_H */
