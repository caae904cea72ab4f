// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/unwind.c: kernel stacks, by the kernel's own unwinder, through slots and detours.
 *
 * Context: probe; in the guard, interrupts off; NMI too. The unwinder takes no locks.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <asm/unwind.h>

#include "context.h"
#include "arch/arch.h"
#include "kinst.h"
#include "text/jump.h"
#include "text/tramp.h"
#include "detour.h"

/* Whether a frame is on the path to us, which is on the stack if there are no registers to start from. */
static __at_hit bool is_own(const struct kinst_hit *hit, unsigned long pc)
{
	return within_module_core(pc, THIS_MODULE) || pc - hit->via < hit->via_size;
}
NOKPROBE_SYMBOL(is_own);

/*
 * Steps the registers past the return if an interrupt came between the call in a detour and the instruction that turns
 * interrupts off.
 */
static nokprobe_inline void leave_entry(struct pt_regs *regs)
{
	unsigned long in = instruction_pointer(regs) - (unsigned long)kinst_jump_entry;

	if (in > kinst_jump_quiet)
		return;
	regs->sp += in == kinst_jump_quiet ? sizeof(long) : 0;
	instruction_pointer_set(regs, *(unsigned long *)regs->sp);
	regs->sp += sizeof(long);
}

__at_hit bool kinst_arch_regs_at_place(struct pt_regs *to, struct pt_regs *regs)
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
NOKPROBE_SYMBOL(kinst_arch_regs_at_place);

static DEFINE_PER_CPU(struct pt_regs, kinst_walk_regs); /* used in the guard */

/*
 * If the walk has reached registers that were saved in a slot or a detour, which the unwinder cannot handle, continues
 * it from the place that was executed there, and puts that in *pc. False if it has reached anything else.
 */
static nokprobe_inline bool go_on(struct unwind_state *state, unsigned long *pc)
{
	struct pt_regs *regs = unwind_get_entry_regs(state, NULL), *copy = raw_cpu_ptr(&kinst_walk_regs);

	if (!regs || instruction_pointer(regs) != *pc || !kinst_arch_regs_at_place(copy, regs))
		return false;
	*pc = instruction_pointer(copy);
	unwind_start(state, current, copy, NULL);
	return true;
}

__at_hit u32 kinst_arch_walk(const struct kinst_hit *hit, struct pt_regs *regs, u64 *pcs, u32 n)
{
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
NOKPROBE_SYMBOL(kinst_arch_walk);
