/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/shots.h: the breakpoints of probes that are removed at their first hit: how they are written, and removed.
 */
#ifndef _KINST_SHOTS_H
#define _KINST_SHOTS_H

#include <linux/list.h>

#include "arch/arch.h"

struct kinst_alias;
struct kinst_host;
struct kinst_session;

enum kinst_once_state { KINST_WAITING, KINST_ARMED, KINST_HIT, KINST_SPENT, KINST_GONE };

struct kinst_shot {
	unsigned long addr;
	union {
		kinst_opcode_t *alias; /* if a hit stores: where its first byte can be written */
		unsigned long slot; /* otherwise */
	};
	struct kinst_host *host;
	u32 probe; /* index in the session's image */
	s32 to; /* of a branch: its target, from addr */
	u16 misses;
	u8 len; /* of the instruction */
	u16 cond; /* of a branch, for kinst_arch_taken() */
	u8 when; /* enum kinst_when */
	u8 state; /* enum kinst_once_state */
	bool linked; /* the caller is in the link register there */
	kinst_opcode_t original;
};

struct kinst_once {
	struct list_head node; /* RCU */
	struct kinst_session *session;
	struct kinst_alias *alias; /* the second mapping */
	bool ready; /* sorted by address */
	bool spent; /* a probe's breakpoint waits for its removal */
	u32 n, room;
	struct kinst_shot shots[];
};

extern struct list_head kinst_onces; /* under the mutex */

/* The first of the probes at addr, or NULL. Context: any; under RCU, or with the mutex held. */
struct kinst_shot *kinst_shot_find(struct kinst_once *once, unsigned long addr);

/* Gives back the slot. With the patch lock held, when no task is in it. The session is reaped at its end. */
void kinst_shot_unplace(const struct kinst_shot *shot);

/* Makes the places writable from a hit, if hits write. The probes are sorted, and all still exist. */
int kinst_once_map(struct kinst_once *once);

/* Writes an opcode to the place; all CPUs see it after kinst_patch_sync(). With the patch lock held. */
void kinst_shot_write(const struct kinst_shot *shot, kinst_opcode_t opcode);

/*
 * Restores the byte that the breakpoint replaced. The hit may have done so long ago; anything that other code has
 * written since then is left alone.
 */
void kinst_shot_restore(const struct kinst_shot *shot);

/* If hits do not write: begins to remove the breakpoints of probes that were hit. */
void kinst_once_remove_later(void);

/* The mirror of kinst_once_new(), once no hit can be under way. True if it must be reaped. */
bool kinst_once_free(struct kinst_once *once);

/*
 * For the reaper, where such probes have slots: one moves what was freed to the list, the other frees it once no task
 * can be in the slots; then kinst_tramp_rest() must be called. The first with the mutex held, the second without.
 */
void kinst_onces_reap(struct list_head *reaped);
void kinst_onces_free(struct list_head *reaped);

void kinst_once_exit(void);

#endif /* _KINST_SHOTS_H */
