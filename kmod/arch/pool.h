/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/pool.h: the trampoline pools, which the architecture defines in the module's text, and their sizes.
 *
 * 32,768 slots are 1 MiB of text: more than all instructions of a few hundred
 * functions, or an exit of every function of a kernel without modules. A cloud
 * kernel has some 530 instructions with an exception-table entry, a full one a few
 * thousand; a slot of the fault pool stays with its instruction once it is used.
 * If no detour is free, a probe keeps its breakpoint.
 *
 * If jumps do not reach so far, more pools of the same sizes are allocated near the kernel when they are needed.
 */
#ifndef _KINST_POOL_H
#define _KINST_POOL_H

#define KINST_POOL_SLOTS 32768
#define KINST_FAULT_SLOTS 4096
#define KINST_DETOURS 16384

#ifndef __ASSEMBLER__
#include <linux/types.h>

extern u8 kinst_pool[];
extern u8 kinst_fault_pool[];
extern u8 kinst_detours[];

#ifdef __KERNEL__
#include <machine/text.h>

#if KINST_NEAR_POOLS
/* Allocates memory for code within reach of all of the kernel's text, filled with breakpoints. NULL: there is none. */
u8 *kinst_arch_near_new(size_t size);
/* Its mirror, for all of it, once nothing can run there. */
void kinst_arch_near_free(void);
#else
static inline u8 *kinst_arch_near_new(size_t size)
{
	return NULL;
}

static inline void kinst_arch_near_free(void) {}
#endif
#endif
#endif

#endif /* _KINST_POOL_H */
