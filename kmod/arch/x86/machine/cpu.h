/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/cpu.h: properties of this processor, and of a hypervisor below us.
 */
#ifndef _KINST_X86_CPU_H
#define _KINST_X86_CPU_H

#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>
#include <asm/ibt.h>
#include <asm/pgtable.h>
#include <asm/processor.h>

/* Whether jumps may replace breakpoints. Under Xen PV a detour cannot turn interrupts off. */
static inline bool kinst_arch_can_jump(void)
{
	return !cpu_feature_enabled(X86_FEATURE_XENPV);
}

/* Whether a reason of kinst_arch_decode() applies to this CPU: endbr64 matters only if the CPU checks for it. */
static inline bool kinst_arch_reason_counts(u16 reason)
{
	if (reason != KINST_R_INSN_LANDING_PAD)
		return true;
#ifdef CONFIG_X86_KERNEL_IBT
	return cpu_feature_enabled(X86_FEATURE_IBT);
#else
	return false;
#endif
}

/* The start of a function, given the address from kprobes, which is after its endbr64. */
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

/* Whether all n bytes are padding between functions. */
static inline bool kinst_arch_is_fill(const void *text, size_t n)
{
	return !memchr_inv(text, KINST_BREAK, n);
}

/* Whether we are on the stack of an NMI, a machine check or the like. All of these are in the CPU entry area. */
static __always_inline bool kinst_arch_on_exception_stack(void)
{
	return (long)current_stack_pointer >> P4D_SHIFT == CPU_ENTRY_AREA_PGD;
}

/*
 * The bytes of stack that a hit needs from kinst_hit() on: for a program and everything that it calls (1.2 KiB), for a
 * page fault in it, and for a breakpoint in the page fault (half a KiB each).
 */
#define KINST_STACK_NEED 2560

/*
 * Whether less than that is left of an exception stack, which is one page, page-aligned, or of the task's stack. With
 * KASAN exception stacks are larger, and part of their space is not counted. Interrupt stacks have no fixed alignment,
 * and are empty when an interrupt arrives.
 */
static __always_inline bool kinst_arch_stack_is_short(void)
{
	unsigned long sp = current_stack_pointer;

	if (kinst_arch_on_exception_stack())
		return (sp & (PAGE_SIZE - 1)) < KINST_STACK_NEED;
	return sp - (unsigned long)current->stack < KINST_STACK_NEED;
}

/*
 * Whether the n bytes from addr on are canonical addresses in the current paging mode. The kernel's own check uses
 * the mode that the processor supports, and the kernel warns when that is wrong.
 */
static __always_inline bool kinst_arch_is_canonical(unsigned long addr, size_t n)
{
	return __is_canonical_address(addr, __VIRTUAL_MASK_SHIFT + 1) &&
	       __is_canonical_address(addr + n - 1, __VIRTUAL_MASK_SHIFT + 1);
}

#endif /* _KINST_X86_CPU_H */
