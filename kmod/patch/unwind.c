// SPDX-License-Identifier: GPL-2.0
/*
 * patch/unwind.c: kernel stacks, by the kernel's own unwinder, through slots and detours.
 *
 * Context: probe; in the guard, interrupts off; NMI too; except at load.
 */
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <machine/detour.h>
#include <machine/unwind.h>

#include "context.h"
#include "patch/detour.h"
#include "patch/tramp.h"
#include "patch/unwind.h"

static unsigned long kinst_entry __ro_after_init;
static u32 kinst_entry_quiet __ro_after_init;

void kinst_unwind_init(unsigned long entry, u32 quiet)
{
	kinst_entry = entry;
	kinst_entry_quiet = quiet;
}

__at_hit bool kinst_regs_at_place(struct pt_regs *to, struct pt_regs *regs)
{
	unsigned int called = 0;
	unsigned long ip, place;
	bool pushed = false;

	*to = *regs;
	kinst_arch_leave_entry(to, kinst_entry, kinst_entry_quiet);
	ip = instruction_pointer(to);
	place = kinst_slot_place(ip, &pushed) ?: kinst_detour_place(ip, &pushed, &called);
	if (!place)
		return false;
	instruction_pointer_set(to, place);
	kinst_arch_undo(to, called, pushed);
	return true;
}
NOKPROBE_SYMBOL(kinst_regs_at_place);

static DEFINE_PER_CPU(struct pt_regs, kinst_walk_regs); /* used in the guard */

__at_hit u32 kinst_walk_stack(const struct kinst_hit *hit, struct pt_regs *regs, u64 *pcs, u32 n)
{
	bool linked = hit->kind == KINST_P_FBT_ENTRY || hit->kind == KINST_P_FBT_RETURN || (kinst_is_insn(hit->kind) && hit->linked);

	return kinst_arch_walk(hit->via, hit->via_size, regs, linked, pcs, n, raw_cpu_ptr(&kinst_walk_regs), kinst_regs_at_place);
}
NOKPROBE_SYMBOL(kinst_walk_stack);
