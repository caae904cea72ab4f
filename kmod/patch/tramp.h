/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/tramp.h: trampoline slots and detours, where displaced instructions run.
 */
#ifndef _KINST_TRAMP_H
#define _KINST_TRAMP_H

#include <linux/kprobes.h>

#include "arch/arch.h"
#include "arch/pool.h"

/* Takes a slot and writes the relocated instruction into it. With the patch lock held. */
enum kinst_reason kinst_slot_get(const struct kinst_arch_insn *insn, unsigned long *slot);

/*
 * Frees the slot for reuse. With the patch lock held, once no task is in the slot any more. Returns whether it was the
 * last one of the fault pool: then kinst_tramp_rest() must be called.
 */
bool kinst_slot_put(unsigned long slot);

/* The number of free ordinary slots, not counting slots that are about to be freed. */
unsigned int kinst_slots_left(void);

/*
 * Takes a detour that calls entry and then does what the n instructions do; at[] is set to their offsets in the detour.
 * Both with the patch lock held.
 */
enum kinst_reason kinst_detour_get(const struct kinst_arch_insn *insns, unsigned int n, unsigned long entry,
				   unsigned long *detour, u8 *at);
void kinst_detour_put(unsigned long detour);

/* The detours in the module's text, and those near the kernel. */
#define KINST_DETOUR_POOLS (1 + !!KINST_NEAR_POOLS)
#define KINST_DETOURS_IN_ALL (KINST_DETOUR_POOLS * KINST_DETOURS)

extern u8 *kinst_near_detours; /* NULL: none */

/* The index of the detour that contains the address; KINST_DETOURS_IN_ALL if none. Context: any, including the probe path. */
static nokprobe_inline unsigned int kinst_detour_number(unsigned long addr)
{
	unsigned long number = (addr - (unsigned long)kinst_detours) / KINST_DETOUR_LEN;

	if (number < KINST_DETOURS)
		return number;
	if (!KINST_NEAR_POOLS || !READ_ONCE(kinst_near_detours))
		return KINST_DETOURS_IN_ALL;
	number = (addr - (unsigned long)kinst_near_detours) / KINST_DETOUR_LEN;
	return number < KINST_DETOURS ? KINST_DETOURS + number : KINST_DETOURS_IN_ALL;
}

/* Frees the pools near the kernel, at unload. */
void kinst_tramp_exit(void);

/*
 * The original address for an address in a slot: the instruction's, or the next one's if it has been executed;
 * 0 if the address is in no slot. Sets *pushed to true if the stack has one more word than at the original.
 * Context: any, the probe path included; interrupts off.
 */
unsigned long kinst_slot_place(unsigned long addr, bool *pushed);

/* Frees the fault pool's slots of a module that is unloaded. */
void kinst_tramp_forget(const struct module *mod);

/*
 * Called after slots were freed: once no site has a slot of the fault pool any more, and no task sleeps in one, frees
 * the pool and unpins the module. True if a task sleeps in one: call it again later. With the mutex held, after a wait
 * for all tasks.
 */
bool kinst_tramp_rest(void);

#endif /* _KINST_TRAMP_H */
