/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/detour.S: the target of the call in a detour:
 *
 *	pushfq
 *	call	kinst_jump_entry
 *	popfq
 *	(the displaced instructions)
 *
 * Builds what a trap would have left on the stack, which is that of the probed
 * code. Kernel code has no red zone below its stack pointer. The detour itself
 * restores the flags, after the return: the thunk that replaces a return may
 * change them (call depth tracking does). Until then interrupts are off.
 */
#include <linux/linkage.h>
#include <asm/ibt.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

	.text
/* Context: any, once the kernel's own entry code is done; interrupts as they were. */
SYM_FUNC_START(kinst_jump_entry)
	ENDBR			/* only for tools that see its address taken: all calls are direct */
	pushq	$0		/* interrupts off, direction up, no access to user memory */
.Lquiet:
	popfq
	pushq	$__KERNEL_DS
	pushq	%rsp
	addq	$3*8, (%rsp)	/* sp: above ss, the return address and the flags */
	pushq	3*8(%rsp)	/* the flags */
	pushq	$__KERNEL_CS
	pushq	4*8(%rsp)	/* ip: where the detour continues; kinst_jump_hit() corrects it */
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
	call	kinst_jump_hit
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
SYM_FUNC_END(kinst_jump_entry)

	.section .rodata
	.balign	4
SYM_DATA(kinst_jump_quiet, .long .Lquiet - kinst_jump_entry)

	.section .note.GNU-stack, "", @progbits
