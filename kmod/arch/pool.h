/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/pool.h: the trampoline pools, which the architecture defines in the module's text, and their sizes.
 *
 * 32,768 slots are 1 MiB of text: more than all instructions of a few hundred
 * functions, or an exit of every function of a kernel without modules. A cloud
 * kernel has some 530 instructions with an exception-table entry, a full one a few
 * thousand; a slot of the fault pool stays with its instruction once it is used.
 * If no detour is free, a probe keeps its breakpoint.
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
#endif

#endif /* _KINST_POOL_H */
