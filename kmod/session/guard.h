/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session/guard.h: the guard that lets a CPU run one program at a time and turns other hits away.
 *
 * A hit inside a program, inside what it calls, or in an NMI on top of it, is
 * counted and runs nothing. Nothing that a program uses on its CPU therefore
 * needs a lock, and no hit can recurse.
 *
 * Context of all: any, NMI included, interrupts off.
 */
#ifndef _KINST_GUARD_H
#define _KINST_GUARD_H

#include <linux/percpu.h>
#include "arch/arch.h"
#include "program/session.h"

struct kinst_guard {
	u32 busy;
	struct kinst_hit hit; /* for the holder of the guard */
};

DECLARE_PER_CPU(struct kinst_guard, kinst_guard);

/*
 * Takes the guard for a hit. NULL: a program is running already, or too little of the stack is left.
 * An NMI between the test and the mark runs its own programs to the end, and clears its mark again.
 */
static __always_inline struct kinst_guard *kinst_guard_take(void)
{
	struct kinst_guard *guard = raw_cpu_ptr(&kinst_guard);

	if (unlikely(READ_ONCE(guard->busy) || kinst_arch_stack_is_short()))
		return NULL;
	WRITE_ONCE(guard->busy, 1);
	barrier();
	return guard;
}

static __always_inline void kinst_guard_give(struct kinst_guard *guard)
{
	barrier();
	WRITE_ONCE(guard->busy, 0);
}

/* The part of kinst_fire() that runs with the guard taken. */
static __always_inline void kinst_fire_guarded(struct kinst_session *s, u32 probe, struct kinst_hit *hit)
{
	struct kinst_vcpu *v = s->vcpus[raw_smp_processor_id()];

	/* BEGIN and END fire on whatever CPU the consumer is. */
	if (likely(!v->elsewhere || hit->kind < KINST_P_INSN))
		kinst_run_probe(s, v, probe, hit);
}

/* The part that runs if the guard could not be taken: counts the hit. */
void kinst_turn_away(struct kinst_session *s, u32 kind);

#endif /* _KINST_GUARD_H */
