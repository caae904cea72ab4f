/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/brk.S: the place at which the kernel's handler of breakpoints calls the module's.
 *
 * ftrace calls this at the start of do_el1_brk64(esr, regs): x9 is the address that it returns to, x30 continues in it,
 * and all other registers are as at its start.
 */
#include <linux/linkage.h>

	.text
SYM_FUNC_START(kinst_brk_entry)
	stp	x29, x30, [sp, #-48]!
	mov	x29, sp
	stp	x9, x0, [sp, #16]
	str	x1, [sp, #32]
	bl	kinst_brk
	cmp	w0, #0
	ldr	x1, [sp, #32]
	ldp	x9, x0, [sp, #16]
	ldp	x29, x10, [sp], #48
	mov	x30, x9
	b.eq	.Lothers
	ret
.Lothers:
	ret	x10
SYM_FUNC_END(kinst_brk_entry)

	.section .note.GNU-stack, "", @progbits
