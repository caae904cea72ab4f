/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/unwind.h: kernel stacks, through slots and detours.
 */
#ifndef _KINST_UNWIND_H
#define _KINST_UNWIND_H

#include "hit.h"

/* At load: the entry of all detours, and the offset in it of the instruction that turns interrupts off. */
void kinst_unwind_init(unsigned long entry, u32 quiet);

/*
 * Walks the kernel's stack at a hit, from regs on, or from our own frame if regs is NULL: stores up to n return
 * addresses in pcs (which may be NULL), and returns their count. Context: a hit, in the guard.
 */
u32 kinst_walk_stack(const struct kinst_hit *hit, struct pt_regs *regs, u64 *pcs, u32 n);

/*
 * Sets *to to the registers at the place that a slot or a detour was executing when it was interrupted with regs.
 * False if regs are not from a slot or detour. Context: any, NMI included, with interrupts off.
 */
bool kinst_regs_at_place(struct pt_regs *to, struct pt_regs *regs);

#endif /* _KINST_UNWIND_H */
