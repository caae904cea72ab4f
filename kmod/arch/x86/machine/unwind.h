/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/unwind.h: the kernel's unwinder, continued at code that it does not know. It takes no locks.
 * Context: a hit, in the guard, interrupts off; NMI too. All inline: a function that is passed is called directly.
 */
#ifndef _KINST_X86_UNWIND_H
#define _KINST_X86_UNWIND_H

#include <linux/module.h>
#include <linux/sched.h>
#include <asm/unwind.h>

/* If our trampoline was interrupted with regs, sets *to to the registers at the place that it executed; else false. */
typedef bool (*kinst_arch_place_fn)(struct pt_regs *to, struct pt_regs *regs);

/*
 * If the walk has reached registers that were saved in our code, which the unwinder cannot handle, continues it from
 * the place that was executed there, and stores that in *pc. False if it has reached anything else.
 */
static __always_inline bool kinst_arch_go_on(struct unwind_state *state, unsigned long *pc, struct pt_regs *copy,
					     kinst_arch_place_fn place)
{
	struct pt_regs *regs = unwind_get_entry_regs(state, NULL);

	if (!regs || instruction_pointer(regs) != *pc || !place(copy, regs))
		return false;
	*pc = instruction_pointer(copy);
	unwind_start(state, current, copy, NULL);
	return true;
}

/*
 * Walks the kernel's stack from regs on, or from our own frame if regs is NULL, without the frames of the module and
 * of the function at via: stores up to n return addresses in pcs (which may be NULL), and returns their count. copy:
 * memory for registers. linked: there is no frame yet, or no longer, which the unwinder knows by itself.
 */
static __always_inline u32 kinst_arch_walk(unsigned long via, unsigned long via_size, struct pt_regs *regs, bool linked,
					   u64 *pcs, u32 n, struct pt_regs *copy, kinst_arch_place_fn place)
{
	struct unwind_state state;
	unsigned long pc;
	u32 found = 0;

	unwind_start(&state, current, regs, NULL);
	while (found < n && !unwind_done(&state)) {
		pc = unwind_get_return_address(&state);
		if (!pc)
			break;
		if (!regs && !found && (within_module_core(pc, THIS_MODULE) || pc - via < via_size)) {
			unwind_next_frame(&state);
			continue;
		}
		if (!kinst_arch_go_on(&state, &pc, copy, place))
			unwind_next_frame(&state);
		if (pcs)
			pcs[found] = pc;
		found++;
	}
	return found;
}

#endif /* _KINST_X86_UNWIND_H */
