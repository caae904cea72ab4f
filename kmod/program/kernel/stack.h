/* SPDX-License-Identifier: GPL-2.0 */
/* program/kernel/stack.h: stacks of the kernel and of user space; any context. */
#ifndef _KINST_STACK_H
#define _KINST_STACK_H

#include <linux/types.h>

struct kinst_ctx;

u32 kinst_stack_depth(const struct kinst_ctx *c);
u64 kinst_stack_caller(const struct kinst_ctx *c);
u32 kinst_ustack_depth(void);
u64 kinst_ustack_caller(void);

#endif /* _KINST_STACK_H */
