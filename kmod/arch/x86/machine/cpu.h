/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/cpu.h: what this processor, and who stands between us and it, allow.
 */
#ifndef _KINST_X86_CPU_H
#define _KINST_X86_CPU_H

#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>
#include <asm/ibt.h>
#include <asm/pgtable.h>
#include <asm/processor.h>

/* May jumps stand in the place of breakpoints? Under Xen PV a detour cannot turn interrupts off by itself. */
static inline bool kinst_arch_can_jump(void)
{
	return !cpu_feature_enabled(X86_FEATURE_XENPV);
}

/* Whether a reason of kinst_arch_decode() counts on this machine: only a CPU that looks for it misses an endbr64. */
static inline bool kinst_arch_reason_counts(u16 reason)
{
	if (reason != KINST_R_INSN_ENDBR)
		return true;
#ifdef CONFIG_X86_KERNEL_IBT
	return cpu_feature_enabled(X86_FEATURE_IBT);
#else
	return false;
#endif
}

/* The start of a function, of which kprobes gives the address after its endbr64. */
static inline unsigned long kinst_arch_function_start(unsigned long addr)
{
#ifdef CONFIG_X86_KERNEL_IBT
	u32 before;

	if (!copy_from_kernel_nofault(&before, (void *)(addr - 4), sizeof(before)) &&
	    (before == gen_endbr() || before == gen_endbr_poison()))
		return addr - 4;
#endif
	return addr;
}

/* Whether all n bytes are what fills the text between functions. */
static inline bool kinst_arch_is_fill(const void *text, size_t n)
{
	return !memchr_inv(text, KINST_BREAK, n);
}

/* Are we on the stack of an NMI, a machine check or the like? All of them are in the area of the CPUs' entries. */
static __always_inline bool kinst_arch_on_exception_stack(void)
{
	return (long)current_stack_pointer >> P4D_SHIFT == CPU_ENTRY_AREA_PGD;
}

/*
 * What a hit needs of the stack from kinst_hit() on: for a program with all that it calls (1.2 KiB), for a page fault
 * inside of that, and for a breakpoint inside of the fault (half a KiB each).
 */
#define KINST_STACK_NEED 2560

/*
 * Is there less than that left? Only an exception stack is as small: a page, and aligned as one. Of the larger ones that
 * KASAN wants, some room is not seen.
 */
static __always_inline bool kinst_arch_stack_is_short(void)
{
	return kinst_arch_on_exception_stack() && (current_stack_pointer & (PAGE_SIZE - 1)) < KINST_STACK_NEED;
}

/*
 * Can the paging that is in force tell the n bytes from addr on at all? The kernel's own question goes by what the
 * processor could do, and it warns when that is wrong.
 */
static __always_inline bool kinst_arch_is_canonical(unsigned long addr, size_t n)
{
	return __is_canonical_address(addr, __VIRTUAL_MASK_SHIFT + 1) &&
	       __is_canonical_address(addr + n - 1, __VIRTUAL_MASK_SHIFT + 1);
}

#endif /* _KINST_X86_CPU_H */
