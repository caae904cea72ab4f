/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/ksym.h: the unexported symbols that arm64 needs in addition to ksym.h,
 * as lists in the same format.
 */
#ifndef _KINST_ARM64_KSYM_H
#define _KINST_ARM64_KSYM_H

#include <linux/types.h>
#include <asm/pgtable-types.h>

#define KINST_ARCH_KSYM_FUNCTIONS(X) \
	X(insn_copy)                 \
	X(insn_patch_text)           \
	X(insn_patch_text_nosync)    \
	X(vmalloc_node_range)

#define KINST_ARCH_KSYM_DATA(X)      \
	X(do_el1_brk64)

#define KINST_ARCH_KSYM_ROWS(NEED, WANT)                       \
	NEED(insn_copy, "aarch64_insn_copy"),                  \
	NEED(insn_patch_text, "aarch64_insn_patch_text"),      \
	NEED(insn_patch_text_nosync, "aarch64_insn_patch_text_nosync"), \
	NEED(vmalloc_node_range, "__vmalloc_node_range_noprof"), \
	NEED(do_el1_brk64, "do_el1_brk64")

/* Copies to text that nothing executes. */
void *kinst_sym_insn_copy(void *to, void *from, size_t len);
/* Writes n instructions while all other CPUs wait. With CPU hotplug locked. */
int kinst_sym_insn_patch_text(void *addrs[], u32 insns[], int n);
/* Writes one while they run. */
int kinst_sym_insn_patch_text_nosync(void *addr, u32 insn);
void *kinst_sym_vmalloc_node_range(unsigned long size, unsigned long align, unsigned long start, unsigned long end, gfp_t gfp,
				   pgprot_t prot, unsigned long flags, int node, const void *caller);

/* The prefix of a system call's function. */
#define KINST_ARCH_SYS "__arm64_sys_"

#endif /* _KINST_ARM64_KSYM_H */
