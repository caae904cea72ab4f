/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/jump.h: the jump-optimised form of a site.
 */
#ifndef _KINST_JUMP_H
#define _KINST_JUMP_H

#include <linux/linkage.h>
#include <linux/list.h>
#include <linux/ptrace.h>
#include "text/probe.h"

#define KINST_JUMP_MOST KINST_JUMP_LEN /* instructions that a jump covers */

/*
 * What stands, or will stand, in the place of a site's breakpoint: a jump over
 * the instruction and, if it is shorter than a jump, over those behind it.
 */
struct kinst_jump {
	struct list_head node; /* of those that are undone, or wait to be freed */
	union {
		struct list_head pending; /* prepared, not patched yet */
		struct rcu_head rcu;
	};
	struct kinst_site *site;
	unsigned long detour;
	u8 len; /* of what it replaces: whole instructions */
	u8 n; /* of these */
	bool calls; /* the last of them is a call */
	u8 at[KINST_JUMP_MOST]; /* where the detour has them */
	u8 from[KINST_JUMP_MOST + 1]; /* where the function has them, from the site on, and what follows */
	bool alone; /* that is one instruction: nobody can be in the middle of it */
	bool patched;
	u8 original[KINST_JUMP_LEN];
	u8 jump[KINST_JUMP_LEN];
};

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

/* Called by kinst_jump_entry(); the instruction pointer is where a detour goes on. */
asmlinkage void kinst_jump_hit(struct pt_regs *regs);

/* As kinst_slot_place(), of an address in a detour. */
unsigned long kinst_detour_place(unsigned long addr, bool *pushed);

void kinst_jump_exit(void);

#endif /* _KINST_JUMP_H */
