/* SPDX-License-Identifier: GPL-2.0 */
/*
 * jump.S: where the call at the beginning of a detour leads.
 *
 * Builds what a trap would have left on the stack, which is the one of what was
 * probed: struct pt_regs, with the return address where ss belongs. Kernel code
 * has no red zone below its stack pointer.
 */
#include <linux/linkage.h>
#include <asm/ibt.h>
#include <asm/segment.h>

	.text
/* Context: any but before the kernel's own entry code is through; interrupts as they were. */
SYM_FUNC_START(kinst_jump_entry)
	ENDBR			/* for whoever wonders that its address is taken: it is called directly */
	pushq	%rsp		/* sp, too low by the return address */
	pushfq
	pushq	$0		/* interrupts off, upwards, no access to user memory */
	popfq
	pushq	$__KERNEL_CS
	pushq	$0		/* ip: kinst_jump_hit() knows it */
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
	movq	%rsp, %rdi
	movq	20*8(%rsp), %rbx
	movq	%rbx, %rsi
	movq	$__KERNEL_DS, 20*8(%rsp)
	addq	$8, 19*8(%rsp)
	call	kinst_jump_hit
	movq	%rbx, 20*8(%rsp)
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
	leaq	3*8(%rsp), %rsp
	popfq
	leaq	8(%rsp), %rsp
	RET
SYM_FUNC_END(kinst_jump_entry)

	.section .note.GNU-stack, "", @progbits
