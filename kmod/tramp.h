/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tramp.h: trampoline slots, where a probed instruction runs instead.
 */
#ifndef _KINST_TRAMP_H
#define _KINST_TRAMP_H

#include "arch/arch.h"

/*
 * Takes a slot and stages the relocated instruction for it; kinst_slots_flush()
 * writes what is staged. All with the patch lock held.
 */
enum kinst_reason kinst_slot_get(const struct kinst_arch_insn *insn, unsigned long *slot);
void kinst_slots_flush(void);

/* The slot may be used again. With the patch lock held, and no task in the slot any more. */
void kinst_slot_put(unsigned long slot);

int kinst_tramp_init(void);
void kinst_tramp_exit(void);

#endif /* _KINST_TRAMP_H */
