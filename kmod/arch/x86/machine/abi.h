/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/abi.h: numbers of the calling convention of x86-64 (System V ABI, section 3.2.3). Pure.
 */
#ifndef _KINST_X86_ABI_H
#define _KINST_X86_ABI_H

/* Integer arguments in registers at a function's entry; the others are on the stack. */
#define KINST_ARCH_ARGS 6

#endif /* _KINST_X86_ABI_H */
