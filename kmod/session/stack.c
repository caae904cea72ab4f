// SPDX-License-Identifier: GPL-2.0
/*
 * session/stack.c: return addresses of the kernel (the kernel's own unwinder) and of
 * user space (frame pointers).
 *
 * Context: probe; in the guard, interrupts off; NMI too. The unwinder takes no
 * locks; user frames are read without faulting.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/unwind.h>
#include "context.h"
#include "text/jump.h"
#include "program/session.h"
#include "session/stack.h"
#include "text/tramp.h"

#define MAX_DEPTH 512

/* Frames of the way to us, which are on the stack when there are no registers to start from. */
static __at_hit bool is_own(const struct kinst_hit *hit, unsigned long pc)
{
	return within_module_core(pc, THIS_MODULE) || pc - hit->via < hit->via_size;
}
NOKPROBE_SYMBOL(is_own);

/* Where the walk begins. A system call has the program's registers, and no kernel stack yet but that of its entry. */
static nokprobe_inline struct pt_regs *start_of(const struct kinst_hit *hit)
{
	return hit->kind == KINST_P_SYSCALL_ENTRY || hit->kind == KINST_P_SYSCALL_RETURN ? NULL : hit->regs;
}

/* An interrupt can come between the call in a detour and where interrupts go off: the registers as behind that call. */
static nokprobe_inline void leave_entry(struct pt_regs *regs)
{
	unsigned long in = instruction_pointer(regs) - (unsigned long)kinst_jump_entry;

	if (in > kinst_jump_quiet)
		return;
	regs->sp += in == kinst_jump_quiet ? sizeof(long) : 0;
	instruction_pointer_set(regs, *(unsigned long *)regs->sp);
	regs->sp += sizeof(long);
}

__at_hit bool kinst_regs_at_place(struct pt_regs *to, struct pt_regs *regs)
{
	unsigned long ip, place;
	bool pushed = false;

	*to = *regs;
	leave_entry(to);
	ip = instruction_pointer(to);
	place = kinst_slot_place(ip, &pushed) ?: kinst_detour_place(ip, &pushed);
	if (!place)
		return false;
	instruction_pointer_set(to, place);
	to->sp += pushed ? sizeof(long) : 0;
	return true;
}
NOKPROBE_SYMBOL(kinst_regs_at_place);

static DEFINE_PER_CPU(struct pt_regs, kinst_walk_regs); /* in the guard */

/*
 * The walk has come to registers that were saved in a slot or a detour, which the unwinder knows nothing of: it
 * goes on from the place that they stand for, which is put in *pc. False: it has come to something else.
 */
static nokprobe_inline bool go_on(struct unwind_state *state, unsigned long *pc)
{
	struct pt_regs *regs = unwind_get_entry_regs(state, NULL), *copy = raw_cpu_ptr(&kinst_walk_regs);

	if (!regs || instruction_pointer(regs) != *pc || !kinst_regs_at_place(copy, regs))
		return false;
	*pc = instruction_pointer(copy);
	unwind_start(state, current, copy, NULL);
	return true;
}

/* Fills pcs (may be NULL) with up to n addresses; returns how many there are, at most n. */
static __at_hit u32 walk(const struct kinst_hit *hit, u64 *pcs, u32 n)
{
	struct pt_regs *regs = start_of(hit);
	struct unwind_state state;
	unsigned long pc;
	u32 found = 0;

	unwind_start(&state, current, regs, NULL);
	while (found < n && !unwind_done(&state)) {
		pc = unwind_get_return_address(&state);
		if (!pc)
			break;
		if (!regs && !found && is_own(hit, pc)) {
			unwind_next_frame(&state);
			continue;
		}
		if (!go_on(&state, &pc))
			unwind_next_frame(&state);
		if (pcs)
			pcs[found] = pc;
		found++;
	}
	return found;
}
NOKPROBE_SYMBOL(walk);

/* At a timer the place that was interrupted is news, and part of the stack; at others the probe's name tells it. */
static nokprobe_inline bool shows_place(const struct kinst_hit *hit)
{
	return kinst_is_timer(hit->kind) && hit->regs && !user_mode(hit->regs);
}

__at_hit void kinst_env_stack(struct kinst_ctx *c, u64 *pcs, u32 n)
{
	u32 found = 0;

	if (n && shows_place(c->hit))
		pcs[found++] = instruction_pointer(c->hit->regs);
	found += walk(c->hit, pcs + found, n - found);
	memset(pcs + found, 0, (n - found) * sizeof(*pcs));
}
NOKPROBE_SYMBOL(kinst_env_stack);

__at_hit u32 kinst_stack_depth(const struct kinst_hit *hit)
{
	return shows_place(hit) + walk(hit, NULL, MAX_DEPTH);
}
NOKPROBE_SYMBOL(kinst_stack_depth);

/* The unwinder starts behind the frame of the registers: the first address is in who called the probed function. */
__at_hit u64 kinst_stack_caller(const struct kinst_hit *hit)
{
	u64 pc = 0;

	walk(hit, &pc, 1);
	return pc;
}
NOKPROBE_SYMBOL(kinst_stack_caller);

/* ---- user space ---- */

struct frame {
	unsigned long next;
	unsigned long ret;
};

/*
 * The place it was at, then by frame pointers. A function without one hides its caller, a program
 * without them shows little more than the first entry.
 */
static __at_hit u32 walk_user(u64 *pcs, u32 n)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long fp;
	struct frame f;
	u32 found = 0;

	if (!current->mm || current->flags & PF_KTHREAD || !n)
		return 0;
	if (pcs)
		pcs[0] = instruction_pointer(regs);
	for (found = 1, fp = frame_pointer(regs); found < n && fp; found++, fp = f.next) {
		if (!kinst_env_read_user(&f, fp, sizeof(f)) || !f.ret)
			break;
		if (pcs)
			pcs[found] = f.ret;
		if (f.next <= fp) {
			found++; /* the outermost frame, or nonsense: it cannot go on from here */
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
