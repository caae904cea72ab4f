/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/tramp.h: trampoline slots and detours, where probed instructions run instead.
 */
#ifndef _KINST_TRAMP_H
#define _KINST_TRAMP_H

#include <linux/kprobes.h>

#include "arch/arch.h"
#include "text/pool.h"

/* Takes a slot and writes the relocated instruction into it. All with the patch lock held. */
enum kinst_reason kinst_slot_get(const struct kinst_arch_insn *insn, unsigned long *slot);

/* The slot may be used again. With the patch lock held, and no task in the slot any more. */
void kinst_slot_put(unsigned long slot);

/* How many there are to be taken, without those that are given back in a moment. */
unsigned int kinst_slots_left(void);

/* A detour that calls entry and then does what the n instructions do; at: where each begins in it. */
enum kinst_reason kinst_detour_get(const struct kinst_arch_insn *insns, unsigned int n, unsigned long entry,
				   unsigned long *detour, u8 *at);
void kinst_detour_put(unsigned long detour);

extern u8 kinst_detours[]; /* arch/x86/pool.S */

/* Which detour the address is in; KINST_DETOURS: none. Context: any, the probe path included. */
static nokprobe_inline unsigned int kinst_detour_number(unsigned long addr)
{
	unsigned long number = (addr - (unsigned long)kinst_detours) / KINST_DETOUR_LEN;

	return number < KINST_DETOURS ? number : KINST_DETOURS;
}

/*
 * Of an address in a slot, the one that it stands for: that of the instruction, or of the next one when it has been
 * executed; 0: the address is in no slot. *pushed becomes true when there is a word more on the stack than there.
 * Context: any, the probe path included; interrupts off.
 */
unsigned long kinst_slot_place(unsigned long addr, bool *pushed);

/* The slots that stay with instructions of a module which is gone. */
void kinst_tramp_forget(const struct module *mod);

/*
 * Slots were put: when no site has one of the fault pool any more, and no task sleeps in one, the pool is free and
 * the module may go; else it is looked at again and again. With the mutex held, and after a wait for all tasks.
 */
void kinst_tramp_rest(void);

void kinst_tramp_exit(void);

#endif /* _KINST_TRAMP_H */
