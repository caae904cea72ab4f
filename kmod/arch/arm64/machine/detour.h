/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/detour.h: no detours exist here: every probe is a breakpoint.
 */
#ifndef _KINST_ARM64_DETOUR_H
#define _KINST_ARM64_DETOUR_H

#ifdef __ASSEMBLER__
#include <linux/linkage.h>

/* Defines entry() and the word quiet, which nothing reaches. */
.macro KINST_DETOUR_ENTRY entry, quiet, hit
	.text
SYM_FUNC_START(\entry)
	brk	#0x800		/* BUG() */
SYM_FUNC_END(\entry)

	.section .rodata
	.balign	4
SYM_DATA(\quiet, .long 0)
.endm
#else
#include <linux/ptrace.h>
#include <linux/types.h>

static __always_inline void kinst_arch_leave_entry(struct pt_regs *regs, unsigned long entry, u32 quiet) {}
static __always_inline void kinst_arch_pop(struct pt_regs *regs) {}
#endif

#endif /* _KINST_ARM64_DETOUR_H */
