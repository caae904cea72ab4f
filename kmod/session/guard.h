/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session/guard.h: a CPU runs one program at a time: who may begin, and who is turned away.
 *
 * A hit inside a program, inside what it calls, or in an NMI on top of it, is
 * counted and runs nothing. So all that a program uses on its CPU needs no lock,
 * and no hit can recurse.
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
	struct kinst_hit hit; /* for who has taken it */
};

DECLARE_PER_CPU(struct kinst_guard, kinst_guard);

/*
 * May a hit run its programs? NULL: there is one that runs, or there is too little left of the stack.
 * An NMI between the test and the mark runs its own to the end, and takes its mark away again.
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

/* What kinst_fire() does, the guard being taken. */
static __always_inline void kinst_fire_guarded(struct kinst_session *s, u32 probe, struct kinst_hit *hit)
{
	struct kinst_vcpu *v = s->vcpus[raw_smp_processor_id()];

	/* BEGIN and END fire wherever the consumer is. */
	if (likely(!v->elsewhere || hit->kind < KINST_P_INSN))
		kinst_run_probe(s, v, probe, hit);
}

/* What it does instead when the guard could not be taken: counts. */
void kinst_turn_away(struct kinst_session *s, u32 kind);

#endif /* _KINST_GUARD_H */
