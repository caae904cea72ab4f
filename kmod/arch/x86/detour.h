/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/detour.h: the entry of all detours (detour.S).
 */
#ifndef _KINST_X86_DETOUR_H
#define _KINST_X86_DETOUR_H

#include <linux/types.h>

/*
 * The target of the call in a detour. The instruction at offset kinst_jump_quiet turns interrupts off; just
 * before it, there is one more word on the stack than at the entry.
 */
void kinst_jump_entry(void);
extern const u32 kinst_jump_quiet;

#endif /* _KINST_X86_DETOUR_H */
