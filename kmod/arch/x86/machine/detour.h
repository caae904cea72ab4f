/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/detour.h: the target of the call in a detour:
 *
 *	pushfq
 *	call	(the entry)
 *	popfq
 *	(the displaced instructions)
 *
 * Builds a trap frame on the stack of the probed code. Kernel code has no red zone
 * below its stack pointer. The detour itself
 * restores the flags, after the return: the thunk that replaces a return may
 * change them (call depth tracking does). Until then interrupts are off.
 */
#ifndef _KINST_X86_DETOUR_H
#define _KINST_X86_DETOUR_H

#ifdef __ASSEMBLER__
#include <linux/linkage.h>
#include <asm/ibt.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

/*
 * Defines entry(), which calls hit(), and, in the word quiet, the offset of its instruction that turns interrupts off;
 * just before that, the stack has one more word than at the entry.
 *
 * Context: any, after the kernel's own entry code; interrupts unchanged.
 */
.macro KINST_DETOUR_ENTRY entry, quiet, hit
	.text
SYM_FUNC_START(\entry)
	ENDBR			/* only for tools that see its address taken: all calls are direct */
	pushq	$0		/* interrupts off, direction up, no access to user memory */
.Lquiet:
	popfq
	pushq	$__KERNEL_DS
	pushq	%rsp
	addq	$3*8, (%rsp)	/* sp: above ss, the return address and the flags */
	pushq	3*8(%rsp)	/* the flags */
	pushq	$__KERNEL_CS
	pushq	4*8(%rsp)	/* ip: where the detour continues; the handler corrects it */
	pushq	$-1		/* orig_ax */
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	UNWIND_HINT_REGS
	movq	%rsp, %rdi
	call	\hit
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	leaq	6*8(%rsp), %rsp
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(\entry)

	.section .rodata
	.balign	4
SYM_DATA(\quiet, .long .Lquiet - \entry)

.endm
#else
#include <linux/ptrace.h>
#include <linux/types.h>

/*
 * Moves the registers past the return from the entry, if an interrupt arrived between the call in a detour and the
 * instruction that turns interrupts off, quiet bytes from the entry. Context: any.
 */
static __always_inline void kinst_arch_leave_entry(struct pt_regs *regs, unsigned long entry, u32 quiet)
{
	unsigned long in = instruction_pointer(regs) - entry;

	if (in > quiet)
		return;
	regs->sp += in == quiet ? sizeof(long) : 0;
	instruction_pointer_set(regs, *(unsigned long *)regs->sp);
	regs->sp += sizeof(long);
}

/*
 * Takes back what was done before the place is executed: in a detour up to the offset called, the flags were pushed; in a
 * slot or detour, the call's return address was, if pushed.
 */
static __always_inline void kinst_arch_undo(struct pt_regs *regs, unsigned int called, bool pushed)
{
	if (called || pushed)
		regs->sp += sizeof(long);
}
#endif

#endif /* _KINST_X86_DETOUR_H */
