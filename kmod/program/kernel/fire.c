// SPDX-License-Identifier: GPL-2.0
/*
 * program/kernel/fire.c: kinst_fire(), the entry from a hit to the programs.
 *
 * Context: any, NMI included.
 */
#include <linux/irqflags.h>
#include "context.h"
#include "program/kernel/fire.h"

/* Context: as kinst_fire(), interrupts off. An NMI in the middle of counting loses nothing. */
__probe_path void kinst_turn_away(struct kinst_session *s, u32 kind)
{
	struct kinst_vcpu *v = s->vcpus[raw_smp_processor_id()];
	u32 state = READ_ONCE(s->state);

	if (state != KINST_STATE_ACTIVE && state != KINST_STATE_WARMUP && state != KINST_STATE_COOLDOWN)
		return;
	if (!v->elsewhere || kind < KINST_P_INSN)
		local_inc(&v->nested);
}
NOKPROBE_SYMBOL(kinst_turn_away);

__probe_path void kinst_fire(struct kinst_session *s, u32 probe, struct kinst_hit *hit)
{
	struct kinst_guard *guard;
	unsigned long flags;

	raw_local_irq_save(flags); /* the traced variant could itself fire probes */
	guard = kinst_guard_take();
	if (guard) {
		kinst_fire_guarded(s, probe, hit);
		kinst_guard_give(guard);
	} else {
		kinst_turn_away(s, hit->kind);
	}
	raw_local_irq_restore(flags);
}
NOKPROBE_SYMBOL(kinst_fire);
