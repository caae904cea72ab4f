/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/detour.h: the detours in use: the place of each, and the offsets of its copies of the displaced instructions.
 */
#ifndef _KINST_DETOUR_H
#define _KINST_DETOUR_H

#include "arch/arch.h"
#include "patch/tramp.h"

#define KINST_JUMP_MOST KINST_JUMP_LEN /* instructions that a jump covers */

struct kinst_detour {
	unsigned long at;
	unsigned long place; /* the first of the displaced instructions */
	u8 n; /* number of these instructions */
	bool calls; /* the last of them is a call */
	u8 copies[KINST_JUMP_MOST]; /* their offsets in the detour */
	u8 from[KINST_JUMP_MOST + 1]; /* their offsets from the place; last, the offset of what follows */
};

/* By detour index; NULL: not in use. Read by hits; written with the sites' mutex held. */
extern struct kinst_detour *kinst_detour_of[KINST_DETOURS_IN_ALL];

/*
 * Like kinst_slot_place(), for an address in a detour. If the call of the entry has begun, and is not undone yet,
 * sets *called to the offset of the address in the detour.
 */
unsigned long kinst_detour_place(unsigned long addr, bool *pushed, unsigned int *called);

#endif /* _KINST_DETOUR_H */
