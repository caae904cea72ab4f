/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/decode.h: the kernel's own instruction decoder, in the kernel through ksym.c,
 * in user space compiled from tools/arch/x86/lib of a kernel source tree.
 */
#ifndef _KINST_X86_DECODE_H
#define _KINST_X86_DECODE_H

#include <asm/insn.h>

#ifdef __KERNEL__
#include "arch/ksym.h"

static inline int kinst_insn_decode(struct insn *insn, const void *text, int avail)
{
	return kinst_sym_insn_decode(insn, text, avail, INSN_MODE_64);
}
#else
static inline int kinst_insn_decode(struct insn *insn, const void *text, int avail)
{
	return insn_decode(insn, text, avail, INSN_MODE_64);
}
#endif

#endif /* _KINST_X86_DECODE_H */
