/* SPDX-License-Identifier: GPL-2.0 */
/* session/stack.h: stacks of the kernel and of user space; any context. */
#ifndef _KINST_STACK_H
#define _KINST_STACK_H

#include <linux/types.h>

struct kinst_hit;
struct pt_regs;

u32 kinst_stack_depth(const struct kinst_hit *hit);
u64 kinst_stack_caller(const struct kinst_hit *hit);
u32 kinst_ustack_depth(void);
u64 kinst_ustack_caller(void);

/*
 * Of registers that were saved in a slot or a detour: makes in *to what they would be at the place that is
 * executed there. False: they were saved elsewhere. Context: any, NMI included, with interrupts off.
 */
bool kinst_regs_at_place(struct pt_regs *to, struct pt_regs *regs);

#endif /* _KINST_STACK_H */
