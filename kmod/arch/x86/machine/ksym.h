/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/ksym.h: the unexported symbols that x86 needs in addition to ksym.h,
 * as lists in the same format.
 */
#ifndef _KINST_X86_KSYM_H
#define _KINST_X86_KSYM_H

#include <linux/types.h>

struct insn;

#define KINST_ARCH_KSYM_FUNCTIONS(X) \
	X(alternatives_text_reserved) \
	X(insn_decode)               \
	X(nmi_uaccess_okay)          \
	X(recover_probed_instruction) \
	X(text_poke)                 \
	X(text_poke_sync)

#define KINST_ARCH_KSYM_DATA(X)      \
	X(die_chain)                 \
	X(indirect_thunk_start)      \
	X(indirect_thunk_end)

#define KINST_ARCH_KSYM_ROWS(NEED, WANT)                                           \
	NEED(insn_decode, "insn_decode"),                                          \
	NEED(die_chain, "die_chain"),                                              \
	WANT(alternatives_text_reserved, "alternatives_text_reserved"),            \
	WANT(nmi_uaccess_okay, "nmi_uaccess_okay"),                                \
	WANT(recover_probed_instruction, "recover_probed_instruction"),            \
	NEED(text_poke, "text_poke"),                                              \
	NEED(text_poke_sync, "text_poke_sync", "smp_text_poke_sync_each_cpu"),     \
	WANT(indirect_thunk_start, "__indirect_thunk_start"),                      \
	WANT(indirect_thunk_end, "__indirect_thunk_end")

int kinst_sym_alternatives_text_reserved(void *first, void *last);
unsigned long kinst_sym_recover_probed_instruction(u8 *buf, unsigned long addr);
bool kinst_sym_nmi_uaccess_okay(void);
int kinst_sym_insn_decode(struct insn *insn, const void *text, int avail, int mode);
void *kinst_sym_text_poke(void *addr, const void *bytes, size_t len);
void kinst_sym_text_poke_sync(void);

/* The prefix of a system call's function. */
#define KINST_ARCH_SYS "__x64_sys_"

#endif /* _KINST_X86_KSYM_H */
