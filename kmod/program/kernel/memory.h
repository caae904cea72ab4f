/* SPDX-License-Identifier: GPL-2.0 */
/* program/kernel/memory.h: the context that a hit interrupts; callable in any context. */
#ifndef _KINST_MEMORY_H
#define _KINST_MEMORY_H

#include "hit.h"

/*
 * The context that a breakpoint, an NMI or our timer has interrupted: 0 a thread, 1 a
 * softirq, 2 an interrupt. A breakpoint, NMI or timer itself counts as one interrupt.
 */
u32 kinst_context_level(const struct kinst_hit *hit);

#endif /* _KINST_MEMORY_H */
