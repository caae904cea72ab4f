/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/kernel/fire.h: the entry from a hit to the programs of a session.
 *
 * Context of all: any, NMI included.
 */
#ifndef _KINST_FIRE_H
#define _KINST_FIRE_H

#include "program/kernel/guard.h"
#include "program/session.h"

/* The part of kinst_fire() that runs with the guard taken. */
static __always_inline void kinst_fire_guarded(struct kinst_session *s, u32 probe, struct kinst_hit *hit)
{
	struct kinst_vcpu *v = s->vcpus[raw_smp_processor_id()];

	/* BEGIN and END fire on the consumer's current CPU. */
	if (likely(!v->elsewhere || hit->kind < KINST_P_INSN))
		kinst_run_probe(s, v, probe, hit);
}

/* The part that runs if the guard cannot be taken: counts the hit. */
void kinst_turn_away(struct kinst_session *s, u32 kind);

/*
 * Runs the ECBs of one probe of one session: all of the above, for hits that have one listener.
 *
 * Context: any, NMI included. Returns with interrupts as they were. Never
 * sleeps, locks, allocates or faults.
 */
void kinst_fire(struct kinst_session *s, u32 probe, struct kinst_hit *hit);

#endif /* _KINST_FIRE_H */
