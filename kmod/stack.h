/* SPDX-License-Identifier: GPL-2.0 */
/* stack.h: stacks of the kernel and of user space; any context. */
#ifndef _KINST_STACK_H
#define _KINST_STACK_H

#include <linux/ptrace.h>
#include <linux/types.h>

/* regs: at the probe, or NULL for the caller's own stack below the module. */
u32 kinst_stack_depth(struct pt_regs *regs);
u64 kinst_stack_caller(struct pt_regs *regs);
u32 kinst_ustack_depth(void);
u64 kinst_ustack_caller(void);

#endif /* _KINST_STACK_H */
