/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cpu.h: what this processor, and who stands between us and it, allow.
 */
#ifndef _KINST_X86_CPU_H
#define _KINST_X86_CPU_H

#include <asm/cpufeature.h>

/* May jumps stand in the place of breakpoints? Under Xen PV a detour cannot turn interrupts off by itself. */
static inline bool kinst_arch_can_jump(void)
{
	return !cpu_feature_enabled(X86_FEATURE_XENPV);
}

/* Would the CPU miss an endbr64 that a breakpoint replaced? */
static inline bool kinst_arch_endbr_matters(void)
{
#ifdef CONFIG_X86_KERNEL_IBT
	return cpu_feature_enabled(X86_FEATURE_IBT);
#else
	return false;
#endif
}

#endif /* _KINST_X86_CPU_H */
