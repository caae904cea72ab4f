/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/detour.h: the target of the call in a detour (insn.c):
 *
 *	sub	sp, sp, #KINST_DETOUR_FRAME
 *	stp	x29, x30, [sp, #S_FP]
 *	ldr	x30, (the entry's address)
 *	blr	x30
 *	msr	daif, x29
 *	ldp	x29, x30, [sp, #S_FP]
 *	add	sp, sp, #KINST_DETOUR_FRAME
 *	(the displaced instruction)
 *
 * Completes a trap frame on the stack of the probed code. Kernel code has no red zone below its stack pointer. From the
 * entry's start to the detour's msr, interrupts are off, and x29 is not a frame pointer.
 */
#ifndef _KINST_ARM64_DETOUR_H
#define _KINST_ARM64_DETOUR_H

#ifdef __ASSEMBLER__
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm-offsets.h>
#include <asm/cpucaps.h>
#include <asm/sysreg.h>
#include <machine/text.h>

/* By their encoding: assemblers may not know them. */
#define KINST_PAN S3_0_C4_C2_3
#define KINST_TCO S3_3_C4_C2_7

/* Stores, or loads, x0 to x28 in the frame. */
.macro KINST_REGISTERS pair, single
	\pair	x0, x1, [sp, #S_X0]
	\pair	x2, x3, [sp, #S_X2]
	\pair	x4, x5, [sp, #S_X4]
	\pair	x6, x7, [sp, #S_X6]
	\pair	x8, x9, [sp, #S_X8]
	\pair	x10, x11, [sp, #S_X10]
	\pair	x12, x13, [sp, #S_X12]
	\pair	x14, x15, [sp, #S_X14]
	\pair	x16, x17, [sp, #S_X16]
	\pair	x18, x19, [sp, #S_X18]
	\pair	x20, x21, [sp, #S_X20]
	\pair	x22, x23, [sp, #S_X22]
	\pair	x24, x25, [sp, #S_X24]
	\pair	x26, x27, [sp, #S_X26]
	\single	x28, [sp, #S_X28]
.endm

/*
 * Defines entry(), which calls hit(), and, in the word quiet, the offset of its instruction that turns interrupts off.
 *
 * A trap bars the kernel from user memory, and has tags checked; here, the entry does so, and undoes it: x19 has the
 * flags, x20 the interrupt masks, x21 and x22 these two, and x23 the return address.
 *
 * Context: any, after the kernel's own entry code; interrupts unchanged.
 */
.macro KINST_DETOUR_ENTRY entry, quiet, hit
	.text
SYM_FUNC_START(\entry)
	mrs	x29, daif
.Lquiet:
	msr	daifset, #3
	KINST_REGISTERS stp, str

	mrs	x19, nzcv
	mov	x20, x29
	mov	x21, #0
	mov	x22, #0
	mov	x23, x30
alternative_if ARM64_HAS_PAN
	mrs	x21, KINST_PAN
	SET_PSTATE_PAN(1)
alternative_else_nop_endif
alternative_if ARM64_MTE
	mrs	x22, KINST_TCO
	SET_PSTATE_TCO(0)
alternative_else_nop_endif
	mrs	x0, CurrentEL
	mrs	x1, SPSel
	orr	x0, x0, x1
	orr	x0, x0, x19
	orr	x0, x0, x20
	orr	x0, x0, x21
	orr	x0, x0, x22
	add	x1, sp, #KINST_DETOUR_FRAME
	stp	x1, x30, [sp, #S_SP]	/* pc: where the detour continues; the handler corrects it */
	mov	x1, #-1
	stp	x0, xzr, [sp, #S_PSTATE]
	stp	x1, xzr, [sp, #S_SYSCALLNO]
	ldr	x0, [sp, #S_FP]
	stp	x0, x30, [sp, #S_STACKFRAME]
	add	x29, sp, #S_STACKFRAME
	mov	x0, sp
	bl	\hit

alternative_if ARM64_MTE
	msr	KINST_TCO, x22
alternative_else_nop_endif
alternative_if ARM64_HAS_PAN
	msr	KINST_PAN, x21
alternative_else_nop_endif
	msr	nzcv, x19
	mov	x29, x20
	mov	x30, x23
	KINST_REGISTERS ldp, ldr
	ret
SYM_FUNC_END(\entry)

	.if	PT_REGS_SIZE > KINST_DETOUR_FRAME || S_FP != 29 * 8 || S_PC != S_SP + 8 || S_SYSCALLNO < S_PSTATE + 16
	.error	"the registers do not fit the frame of a detour"
	.endif

	.section .rodata
	.balign	4
SYM_DATA(\quiet, .long .Lquiet - \entry)

.endm
#else
#include <linux/ptrace.h>
#include <linux/types.h>
#include <machine/text.h>

/*
 * Moves the registers past the return from the entry, if an interrupt arrived between the call in a detour and the
 * instruction that turns interrupts off, quiet bytes from the entry. Context: any.
 */
static __always_inline void kinst_arch_leave_entry(struct pt_regs *regs, unsigned long entry, u32 quiet)
{
	if (instruction_pointer(regs) - entry <= quiet)
		instruction_pointer_set(regs, regs->regs[30]);
}

/*
 * Takes back what was done before the place is executed: in a detour up to the offset called, sp was lowered, and then x29
 * and x30 were saved. A call loses x30 in any case.
 */
static __always_inline void kinst_arch_undo(struct pt_regs *regs, unsigned int called, bool pushed)
{
	const struct pt_regs *saved = (const struct pt_regs *)regs->sp;

	if (!called)
		return;
	if (called > 4 && called < KINST_DETOUR_COPIES - 4) {
		regs->regs[29] = saved->regs[29];
		regs->regs[30] = saved->regs[30];
	}
	regs->sp += KINST_DETOUR_FRAME;
}
#endif

#endif /* _KINST_ARM64_DETOUR_H */
