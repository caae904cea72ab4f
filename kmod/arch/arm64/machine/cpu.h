/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/cpu.h: properties of this processor.
 */
#ifndef _KINST_ARM64_CPU_H
#define _KINST_ARM64_CPU_H

#include <linux/string.h>
#include <linux/thread_info.h>
#include <asm/cpufeature.h>
#include <asm/memory.h>
#include <asm/stack_pointer.h>

/*
 * Whether jumps may replace breakpoints. Where the kernel bars itself from user memory by switching the page table, code
 * that has it switched would lose it to a hit that reads user memory, and only a trap saves the state.
 */
static inline bool kinst_arch_can_jump(void)
{
	return !system_uses_ttbr0_pan();
}

/* Whether a reason of kinst_arch_decode() applies to this CPU: all do. */
static inline bool kinst_arch_reason_counts(u16 reason)
{
	return true;
}

/* The start of a function, given the address from kprobes. */
static inline unsigned long kinst_arch_function_start(unsigned long addr)
{
	return addr;
}

/* Whether all n bytes are padding between functions: udf #0. */
static inline bool kinst_arch_is_fill(const void *text, size_t n)
{
	return !memchr_inv(text, 0, n);
}

/* A trap stays on the stack of the interrupted code. */
static __always_inline bool kinst_arch_on_exception_stack(void)
{
	return false;
}

/* The bytes of stack that a hit needs from kinst_hit() on: for a program, and for two faults in it. */
#define KINST_STACK_NEED 4096

/* Whether less than that is left of the stack. All of the kernel's stacks have this alignment, to detect overflows. */
static __always_inline bool kinst_arch_stack_is_short(void)
{
	return (current_stack_pointer & (THREAD_SIZE - 1)) < KINST_STACK_NEED;
}

/* Whether the n bytes from addr on are in the part of the address space of the kernel, or in that of programs. */
static __always_inline bool kinst_arch_is_canonical(unsigned long addr, size_t n)
{
	long first = (long)addr >> vabits_actual, last = (long)(addr + n - 1) >> vabits_actual;

	return first == last && (!first || first == -1);
}

#endif /* _KINST_ARM64_CPU_H */
