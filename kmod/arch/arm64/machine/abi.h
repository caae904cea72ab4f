/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/abi.h: numbers of the calling convention of arm64 (Procedure Call Standard, section 6.8.2). Pure.
 */
#ifndef _KINST_ARM64_ABI_H
#define _KINST_ARM64_ABI_H

/* Integer arguments in registers at a function's entry; the others are on the stack. */
#define KINST_ARCH_ARGS 8

#endif /* _KINST_ARM64_ABI_H */
