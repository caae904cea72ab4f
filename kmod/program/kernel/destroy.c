// SPDX-License-Identifier: GPL-2.0
/*
 * program/kernel/destroy.c: the destructive actions: stop(), raise(), chill(), breakpoint(), panic().
 *
 * A signal cannot be sent from a probe, which may be inside the signal code
 * itself: an irq_work sends it as soon as the CPU takes the interrupt.
 *
 * Context: probe, in the guard, interrupts off; except the interrupt and init/exit.
 */
#include <linux/irq_work.h>
#include <linux/kgdb.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include "context.h"
#include "program/kernel/destroy.h"
#include "program/kernel/guard.h"
#include "program/session.h"

#define CHILL_INTERVAL 1000000000ull /* nanoseconds */
#define CHILL_MAX 500000000ull /* most nanoseconds that a CPU is delayed per interval */

/* The signals to send. Programs and the interrupt below hold the guard while they access them. */
struct pending {
	struct irq_work work;
	struct pid *pid; /* of the process; NULL: nothing */
	bool stop;
	int sig; /* 0: none */
};

static DEFINE_PER_CPU(struct pending, pending);

/* For chill(). */
static DEFINE_PER_CPU(u64, chill_mark);
static DEFINE_PER_CPU(u64, chilled);

/* Context: an interrupt on the CPU whose program queued it; on PREEMPT_RT a thread on that CPU. */
static void deliver(struct irq_work *work)
{
	struct pending *p = container_of(work, struct pending, work), now;
	unsigned long flags;
	u32 busy;

	local_irq_save(flags);
	busy = kinst_guard_enter();
	now = *p;
	p->pid = NULL;
	p->stop = false;
	p->sig = 0;
	kinst_guard_exit(busy);
	local_irq_restore(flags);
	if (!now.pid)
		return;
	if (now.sig)
		kill_pid(now.pid, now.sig, 1);
	if (now.stop)
		kill_pid(now.pid, SIGSTOP, 1);
	put_pid(now.pid);
}

/* Until they are sent, one stop() and the first raise() of a process count, as in the reference implementations. */
static __at_hit void send(u32 kind, u64 sig)
{
	struct pending *p = this_cpu_ptr(&pending);
	struct pid *pid = task_tgid(current);

	if (!current->mm || current->flags & (PF_KTHREAD | PF_EXITING))
		return;
	if (kind == KINST_ACT_RAISE && (!sig || !valid_signal(sig)))
		return;
	if (!p->pid)
		p->pid = get_pid(pid);
	else if (p->pid != pid)
		return;
	if (kind == KINST_ACT_STOP)
		p->stop = true;
	else if (!p->sig)
		p->sig = sig;
	irq_work_queue(&p->work);
}
NOKPROBE_SYMBOL(send);

static __at_hit void chill(struct kinst_ctx *c, u64 ns)
{
	u64 start = kinst_env_now(), now = start;

	if (start - raw_cpu_read(chill_mark) > CHILL_INTERVAL) {
		raw_cpu_write(chill_mark, start);
		raw_cpu_write(chilled, 0);
	}
	if (ns > CHILL_MAX || raw_cpu_read(chilled) + ns > CHILL_MAX) {
		kinst_fault(c, KINST_FLT_ILLOP, 0);
		return;
	}
	while (now - start < ns) {
		cpu_relax();
		now = kinst_env_now();
	}
	raw_cpu_write(chilled, raw_cpu_read(chilled) + (now - start));
}
NOKPROBE_SYMBOL(chill);

__at_hit void kinst_env_destroy(struct kinst_ctx *c, u32 kind, u64 value)
{
	switch (kind) {
	case KINST_ACT_STOP:
	case KINST_ACT_RAISE:
		send(kind, value);
		break;
	case KINST_ACT_CHILL:
		chill(c, value);
		break;
	case KINST_ACT_BREAKPOINT:
#ifdef CONFIG_KGDB
		if (kgdb_connected) /* without a debugger it would be an oops */
			kgdb_breakpoint();
#endif
		break;
	case KINST_ACT_PANIC:
		panic("dtrace: panic action at probe %s:%s:%s:%s (ecb %u)", c->prog->strtab + c->prog->probes[c->probe].prov,
		      c->prog->strtab + c->prog->probes[c->probe].mod,
		      c->prog->strtab + c->prog->probes[c->probe].name_func,
		      c->prog->strtab + c->prog->probes[c->probe].name, c->epid);
	}
}
NOKPROBE_SYMBOL(kinst_env_destroy);

/* ---- module load and unload; context: process ---- */

void kinst_destroy_init(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		init_irq_work(&per_cpu_ptr(&pending, cpu)->work, deliver);
}

/* No session is left. */
void kinst_destroy_exit(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu_ptr(&pending, cpu)->work);
}
