/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tramp.h: trampoline slots and detours, where probed instructions run instead.
 */
#ifndef _KINST_TRAMP_H
#define _KINST_TRAMP_H

#include <linux/kprobes.h>

#include "arch/arch.h"
#include "pool.h"

/* Takes a slot and writes the relocated instruction into it. All with the patch lock held. */
enum kinst_reason kinst_slot_get(const struct kinst_arch_insn *insn, unsigned long *slot);

/* The slot may be used again. With the patch lock held, and no task in the slot any more. */
void kinst_slot_put(unsigned long slot);

/* How many there are to be taken, without those that are given back in a moment. */
unsigned int kinst_slots_left(void);

/* A slot for the detour of a jump: what stands there instead of n instructions. */
enum kinst_reason kinst_detour_get(const struct kinst_arch_insn *insns, unsigned int n, unsigned long *detour);
void kinst_detour_put(unsigned long detour);

extern u8 kinst_detours[]; /* pool.S */

/* Which detour the address is in; KINST_DETOURS: none. Context: any, the probe path included. */
static nokprobe_inline unsigned int kinst_detour_number(unsigned long addr)
{
	unsigned long number = (addr - (unsigned long)kinst_detours) / KINST_DETOUR_SIZE;

	return number < KINST_DETOURS ? number : KINST_DETOURS;
}

/* The slots that stay with instructions of a module which is gone. */
void kinst_tramp_forget(const struct module *mod);

void kinst_tramp_exit(void);

#endif /* _KINST_TRAMP_H */
