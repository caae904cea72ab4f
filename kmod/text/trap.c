// SPDX-License-Identifier: GPL-2.0
/*
 * text/trap.c: the path of a breakpoint from the trap to the programs and on to the
 * trampoline.
 *
 * State at a breakpoint: interrupts off, in_nmi(), RCU watching, on the stack of
 * the interrupted code. All functions up to here are in the list of places/trappath.c,
 * and this file calls nothing outside the module: a probe there would hit itself. From
 * kinst_hit() on, a guard ensures that a hit inside a probe's own work runs no
 * program (program/kernel/guard.h); the instruction is still executed.
 */
#include <linux/kprobes.h>
#include <linux/rculist.h>

#include "context.h"
#include "program/kernel/fire.h"
#include "text/once.h"
#include "text/trap.h"

/* Context: the probe path, interrupts off, the guard taken. */
static __always_inline void kinst_fire_listener(const struct kinst_listener *listener, struct pt_regs *regs, struct kinst_hit *hit)
{
	u32 kind = listener->kind;

	instruction_pointer_set(regs, listener->ip);
	hit->kind = kind;
	hit->linked = listener->linked;
	hit->nargs = 0;
	if (kind == KINST_P_FBT_ENTRY) {
		BUILD_BUG_ON(KINST_ARCH_ARGS > ARRAY_SIZE(hit->args));
		kinst_arch_args(regs, hit->args);
		hit->nargs = KINST_ARCH_ARGS;
	} else if (unlikely(kind == KINST_P_FBT_RETURN)) {
		hit->args[0] = listener->exit;
		hit->args[1] = kinst_arch_return_value(regs);
		hit->nargs = 2;
	}
	kinst_fire_guarded(listener->session, listener->probe, hit);
}

/* Whether an indirect jump goes to the listener's target. Context: the probe path, interrupts off. */
static __always_inline bool kinst_jumps(const struct kinst_way *way, const struct pt_regs *regs)
{
	unsigned long to;
	u32 busy;

	if (!way->operand.memory)
		return kinst_arch_operand_at(&way->operand, regs) == way->target;
	busy = kinst_guard_enter();
	to = kinst_arch_operand_at(&way->operand, regs);
	kinst_guard_exit(busy);
	return to == way->target;
}

/* Whether control takes the listener's edge. Context: the probe path, interrupts off. */
static __probe_path bool kinst_goes(const struct kinst_site *site, const struct kinst_listener *listener, const struct pt_regs *regs)
{
	const struct kinst_way *way = listener->way;
	bool taken;
	u8 i;

	if (listener->when == KINST_TARGET) {
		if (!kinst_jumps(way, regs))
			return false;
	} else if (listener->when != KINST_ALWAYS) {
		taken = site->cond && kinst_arch_taken(site->cond, regs);
		if ((listener->when == KINST_TAKEN) != taken)
			return false;
	}
	for (i = 0; way && i < way->nhops; i++) {
		const struct kinst_hop *hop = &way->hops[i];

		if (kinst_arch_label((const u8 *)hop->at, hop->len, hop->at) != hop->to)
			return false;
	}
	return true;
}
NOKPROBE_SYMBOL(kinst_goes);

/* Whether the listener is called for the hit. */
static __always_inline bool kinst_wants(const struct kinst_site *site, const struct kinst_listener *listener,
					const struct pt_regs *regs)
{
	return likely(!listener->way && !listener->when) || kinst_goes(site, listener, regs);
}

/* Context: the probe path. */
static __probe_path void kinst_turn_all_away(const struct kinst_site *site, const struct pt_regs *regs)
{
	struct kinst_listener *listener;

	list_for_each_entry_rcu(listener, &site->listeners, node, true)
		if (kinst_wants(site, listener, regs))
			kinst_turn_away(listener->session, listener->kind);
}
NOKPROBE_SYMBOL(kinst_turn_all_away);

/* Context: the probe path; any, NMI included, with interrupts off. */
void __probe_path kinst_hit(struct kinst_site *site, struct pt_regs *regs)
{
	struct kinst_guard *guard = kinst_guard_take();
	struct kinst_listener *listener;

	if (unlikely(!guard)) {
		kinst_turn_all_away(site, regs);
		return;
	}
	guard->hit.regs = regs;
	guard->hit.fuel = KINST_HIT_FUEL;
	list_for_each_entry_rcu(listener, &site->listeners, node, true)
		if (kinst_wants(site, listener, regs))
			kinst_fire_listener(listener, regs, &guard->hit);
	kinst_guard_give(guard);
}
NOKPROBE_SYMBOL(kinst_hit);

/* Context: the probe path, interrupts off, NMI-like, any stack. */
bool __probe_path kinst_trap(struct pt_regs *regs, unsigned long addr)
{
	struct kinst_site *site = kinst_site_lookup(addr);

	/*
	 * A hit at a known site continues in its trampoline, even if its breakpoint is no longer
	 * in memory: under QEMU it may trap again and again (arch/x86/poke.c).
	 */
	if (site && !site->fentry) {
		kinst_hit(site, regs);
		instruction_pointer_set(regs, READ_ONCE(site->onward));
		return true;
	}
	if (kinst_once_trap(regs, addr))
		return true;
	if (kinst_arch_is_break((void *)addr))
		return false;
	/* The breakpoint was removed after it was hit: run the current instruction. */
	instruction_pointer_set(regs, addr);
	return true;
}
NOKPROBE_SYMBOL(kinst_trap);
