// SPDX-License-Identifier: GPL-2.0
/*
 * fire.c: kinst_fire(), the door from the probe side to the programs.
 *
 * The guard: a CPU runs one program at a time. A hit inside a program, inside what
 * it calls, or in an NMI on top of it, is counted and runs nothing. So all
 * that a program uses on its CPU needs no lock, and no hit can recurse.
 *
 * Context: any, NMI included.
 */
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include "session.h"

static DEFINE_PER_CPU(u32, kinst_busy);

/* Context: any, interrupts off. Until the exit, hits on this CPU run nothing. Returns what exit wants back. */
notrace u32 kinst_guard_enter(void)
{
	u32 busy = raw_cpu_read(kinst_busy);

	raw_cpu_write(kinst_busy, 1);
	barrier();
	return busy;
}
NOKPROBE_SYMBOL(kinst_guard_enter);

notrace void kinst_guard_exit(u32 busy)
{
	barrier();
	raw_cpu_write(kinst_busy, busy);
}
NOKPROBE_SYMBOL(kinst_guard_exit);

notrace void kinst_fire_irqoff(struct kinst_session *s, u32 probe, struct kinst_hit *hit)
{
	struct kinst_vcpu *v;
	u32 state = READ_ONCE(s->state);

	if (state != KINST_STATE_ACTIVE && state != KINST_STATE_WARMUP && state != KINST_STATE_COOLDOWN)
		return;
	v = s->vcpus[raw_smp_processor_id()];
	if (v->elsewhere && hit->kind >= KINST_P_INSN) {
		/* not traced; BEGIN and END fire wherever the consumer is */
	} else if (raw_cpu_read(kinst_busy)) {
		WRITE_ONCE(v->nested, v->nested + 1);
	} else {
		/* An NMI between the test and this runs its program to the end, and clears the mark again. */
		raw_cpu_write(kinst_busy, 1);
		barrier();
		kinst_run_probe(s, v, probe, hit);
		barrier();
		raw_cpu_write(kinst_busy, 0);
	}
}
NOKPROBE_SYMBOL(kinst_fire_irqoff);

notrace void kinst_fire(struct kinst_session *s, u32 probe, struct kinst_hit *hit)
{
	unsigned long flags;

	raw_local_irq_save(flags); /* the traced kind would be a probe's work of its own */
	kinst_fire_irqoff(s, probe, hit);
	raw_local_irq_restore(flags);
}
NOKPROBE_SYMBOL(kinst_fire);
