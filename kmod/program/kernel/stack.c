// SPDX-License-Identifier: GPL-2.0
/*
 * program/kernel/stack.c: return addresses of the kernel (by its unwinder) and of
 * user space (by frame pointers), and copies of user stacks.
 *
 * Context: probe; in the guard, interrupts off; NMI too. The unwinder takes no
 * locks; user frames are read without faulting.
 */
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include "arch/arch.h"
#include "context.h"
#include "patch/unwind.h"
#include "program/kernel/stack.h"
#include "program/session.h"

#define MAX_DEPTH 512

/* The registers to walk from. For a system call they are the program's: the only kernel stack is that of its entry. */
static nokprobe_inline struct pt_regs *start_of(const struct kinst_hit *hit)
{
	return hit->kind == KINST_P_SYSCALL_ENTRY || hit->kind == KINST_P_SYSCALL_RETURN ? NULL : hit->regs;
}

/*
 * The first address of a stack, if it is not a return address, or 0: the place that a timer interrupted, or the place
 * of an inlined copy, which is in the calling function. At other probes, the probe's name gives the place.
 */
static __at_hit u64 own_place(const struct kinst_ctx *c)
{
	const struct kinst_hit *hit = c->hit;
	const struct kinst_probe *q;

	if (kinst_inlined(c)) {
		q = &c->prog->probes[c->probe];
		return q->func + q->offset;
	}
	return kinst_is_timer(hit->kind) && hit->regs && !user_mode(hit->regs) ? instruction_pointer(hit->regs) : 0;
}
NOKPROBE_SYMBOL(own_place);

__at_hit void kinst_env_stack(struct kinst_ctx *c, u64 *pcs, u32 n)
{
	u64 place = own_place(c);
	u32 found = 0;

	if (n && place)
		pcs[found++] = place;
	found += kinst_walk_stack(c->hit, start_of(c->hit), pcs + found, n - found);
	memset(pcs + found, 0, (n - found) * sizeof(*pcs));
}
NOKPROBE_SYMBOL(kinst_env_stack);

__at_hit u32 kinst_stack_depth(const struct kinst_ctx *c)
{
	return !!own_place(c) + kinst_walk_stack(c->hit, start_of(c->hit), NULL, MAX_DEPTH);
}
NOKPROBE_SYMBOL(kinst_stack_depth);

/*
 * A copy's caller is the function that contains it, at the place itself. For other probes, the unwinder starts above
 * the frame of the registers: the first address is in the probed function's caller.
 */
__at_hit u64 kinst_stack_caller(const struct kinst_ctx *c)
{
	u64 pc = 0;

	if (kinst_inlined(c))
		return own_place(c);
	kinst_walk_stack(c->hit, start_of(c->hit), &pc, 1);
	return pc;
}
NOKPROBE_SYMBOL(kinst_stack_caller);

/* ---- user space ---- */

/*
 * Walks the program's stack from its instruction pointer, by frame pointers. A function without one hides its caller;
 * a program without them shows little more than the first entry.
 */
static __at_hit u32 walk_user(u64 *pcs, u32 n)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long fp;
	struct kinst_arch_frame f;
	u32 found = 0;

	if (!current->mm || current->flags & PF_KTHREAD || !n)
		return 0;
	if (pcs)
		pcs[0] = instruction_pointer(regs);
	for (found = 1, fp = frame_pointer(regs); found < n && fp; found++, fp = f.next) {
		if (!kinst_env_read_user(&f, fp, sizeof(f)) || !f.ret)
			break;
		if (pcs)
			pcs[found] = kinst_arch_user_return(f.ret);
		if (f.next <= fp) {
			found++; /* the outermost frame, or nonsense: the walk cannot continue */
			break;
		}
	}
	return found;
}
NOKPROBE_SYMBOL(walk_user);

__at_hit void kinst_env_ustack(struct kinst_ctx *c, u64 *pcs, u32 n)
{
	u32 found = walk_user(pcs, n);

	memset(pcs + found, 0, (n - found) * sizeof(*pcs));
}
NOKPROBE_SYMBOL(kinst_env_ustack);

/*
 * The stack is read page by page, up to the first page that is not in memory: a program's stack is present from its
 * stack pointer on, unless it was swapped out.
 */
__at_hit void kinst_env_ustack_copy(struct kinst_ustack *to, u32 size)
{
	const struct pt_regs *regs = task_pt_regs(current);
	u8 *bytes = (u8 *)(to + 1);
	u64 from;
	u32 n;

	if (!current->mm || current->flags & PF_KTHREAD)
		return;
	to->nregs = kinst_arch_user_regs(regs, to->regs);
	if (!to->nregs)
		return;
	to->ip = instruction_pointer((struct pt_regs *)regs);
	from = user_stack_pointer((struct pt_regs *)regs);
	for (; to->bytes < size; to->bytes += n) {
		n = min_t(u64, size - to->bytes, PAGE_SIZE - (from + to->bytes) % PAGE_SIZE);
		if (!kinst_env_read_user(bytes + to->bytes, from + to->bytes, n)) {
			memset(bytes + to->bytes, 0, n); /* it may have been copied in part */
			break;
		}
	}
}
NOKPROBE_SYMBOL(kinst_env_ustack_copy);

__at_hit u32 kinst_ustack_depth(void)
{
	return walk_user(NULL, MAX_DEPTH);
}
NOKPROBE_SYMBOL(kinst_ustack_depth);

__at_hit u64 kinst_ustack_caller(void)
{
	u64 pcs[2] = {};

	walk_user(pcs, 2);
	return pcs[1];
}
NOKPROBE_SYMBOL(kinst_ustack_caller);
