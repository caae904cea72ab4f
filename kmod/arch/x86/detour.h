/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/detour.h: a place in the entry of all detours (detour.S).
 */
#ifndef _KINST_X86_DETOUR_H
#define _KINST_X86_DETOUR_H

#include <linux/types.h>

/*
 * The offset of the instruction in kinst_jump_entry() that turns interrupts off. Just before it, there is one more word on
 * the stack than at the entry.
 */
extern const u32 kinst_jump_quiet;

#endif /* _KINST_X86_DETOUR_H */
