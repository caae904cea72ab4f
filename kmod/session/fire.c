// SPDX-License-Identifier: GPL-2.0
/*
 * session/fire.c: kinst_fire(), the entry from the probe side to the programs, and its guard (session/guard.h).
 *
 * Context: any, NMI included.
 */
#include <linux/irqflags.h>
#include "context.h"
#include "session/guard.h"

DEFINE_PER_CPU(struct kinst_guard, kinst_guard);

/* Context: any, interrupts off. Until kinst_guard_exit(), hits on this CPU run nothing. Returns the argument for it. */
__probe_path u32 kinst_guard_enter(void)
{
	u32 busy = raw_cpu_read(kinst_guard.busy);

	raw_cpu_write(kinst_guard.busy, 1);
	barrier();
	return busy;
}
NOKPROBE_SYMBOL(kinst_guard_enter);

__probe_path void kinst_guard_exit(u32 busy)
{
	barrier();
	raw_cpu_write(kinst_guard.busy, busy);
}
NOKPROBE_SYMBOL(kinst_guard_exit);

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
