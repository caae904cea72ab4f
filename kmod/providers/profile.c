// SPDX-License-Identifier: GPL-2.0
/*
 * providers/profile.c: the profile provider: profile-N fires on every CPU, tick-N on one.
 *
 * The timers run in hard interrupts, pinned to their CPUs. The timers of profile-N exist
 * for online CPUs: the hotplug state starts them when a CPU comes up and
 * cancels them when it goes down. If a tick's CPU goes down, the kernel moves the
 * tick, as it does any timer.
 *
 * Intervals that pass while a firing is late or still running are lost, so that a
 * slow program cannot keep its CPU in the interrupt. The combined rate of the timers
 * of all sessions is limited.
 *
 * Context: process, except kinst_timer_fire().
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <asm/irq_regs.h>

#include "compat/hrtimer.h"
#include "context.h"
#include "patch/unwind.h"
#include "program/kernel/fire.h"
#include "providers/profile.h"

/* Twice the rate of all default probes together. */
static unsigned int max_timer_hz = 40000;
module_param(max_timer_hz, uint, 0600);
MODULE_PARM_DESC(max_timer_hz, "maximum firings per second on one CPU, of the profile and tick probes of all sessions");

#define KINST_MAX_TIMERS 1000 /* probes of one session */

struct kinst_timer {
	struct hrtimer timer;
	struct kinst_session *session;
	u64 interval; /* ns */
	u32 probe, kind;
};

struct kinst_timers {
	struct kinst_session *session;
	struct hlist_node node; /* of the hotplug state */
	struct kinst_timer *list; /* all, as armed; ticks run from here */
	struct kinst_timer **cpus; /* by CPU number: the profile-N timers, nprofile each */
	u32 n, nprofile;
	u64 hz; /* their share of max_timer_hz */
	bool started;
};

static DEFINE_MUTEX(budget_lock);
static u64 budget_used;
static int hotplug_state;

/* ---- firing ---- */

static DEFINE_PER_CPU(struct pt_regs, place_regs);

/* In a slot or a detour, the interrupted place is that of the original instruction. Context: as kinst_timer_fire(). */
static nokprobe_inline struct pt_regs *place_of(struct pt_regs *regs)
{
	struct pt_regs *copy = raw_cpu_ptr(&place_regs);

	return regs && !user_mode(regs) && kinst_regs_at_place(copy, regs) ? copy : regs;
}

/* Context: the timer's hard interrupt, interrupts off. */
static __probe_path enum hrtimer_restart kinst_timer_fire(struct hrtimer *timer)
{
	struct kinst_timer *t = container_of(timer, struct kinst_timer, timer);
	struct pt_regs *regs = place_of(get_irq_regs());
	u64 pc = regs ? instruction_pointer(regs) : 0;
	bool user = regs && user_mode(regs);
	struct kinst_hit hit = {
		.regs = regs,
		.kind = t->kind,
		.nargs = 3,
		.fuel = KINST_HIT_FUEL,
		.args = { user ? 0 : pc, user ? pc : 0 },
	};

	if (READ_ONCE(t->session->state) != KINST_STATE_ACTIVE)
		return HRTIMER_NORESTART; /* it never becomes active again */
	if (t->kind == KINST_P_PROFILE)
		hit.args[2] = ktime_to_ns(ktime_sub(ktime_get(), hrtimer_get_expires(timer)));
	kinst_fire(t->session, t->probe, &hit);
	hrtimer_forward_now(timer, ns_to_ktime(t->interval));
	return HRTIMER_RESTART;
}
NOKPROBE_SYMBOL(kinst_timer_fire);

/* ---- start and stop ---- */

/* Called on the CPU that the timer fires on. */
static void start(struct kinst_timer *t)
{
	hrtimer_start(&t->timer, ktime_add_ns(ktime_get(), t->interval), HRTIMER_MODE_ABS_PINNED_HARD);
}

static void init(struct kinst_timer *t, const struct kinst_timer *model)
{
	*t = *model;
	kinst_hrtimer_setup(&t->timer, kinst_timer_fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
}

static bool is_traced(const struct kinst_timers *timers, u32 cpu)
{
	u32 only = timers->session->prog.hdr->cpu;

	return only == KINST_NONE || only == cpu;
}

/* Callback of the hotplug state: on the CPU that comes up, or that is online when the instance is added. */
static int cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct kinst_timers *timers = hlist_entry(node, struct kinst_timers, node);
	u32 i;

	if (is_traced(timers, cpu))
		for (i = 0; i < timers->nprofile; i++)
			start(&timers->cpus[cpu][i]);
	return 0;
}

/* The mirror, when the CPU goes down or the instance is removed. */
static int cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct kinst_timers *timers = hlist_entry(node, struct kinst_timers, node);
	u32 i;

	for (i = 0; i < timers->nprofile; i++)
		hrtimer_cancel(&timers->cpus[cpu][i].timer);
	return 0;
}

static void start_ticks(void *arg)
{
	struct kinst_timers *timers = arg;
	u32 i;

	for (i = 0; i < timers->n; i++)
		if (timers->list[i].kind == KINST_P_TICK)
			start(&timers->list[i]);
}

static void cancel_ticks(struct kinst_timers *timers)
{
	u32 i;

	for (i = 0; i < timers->n; i++)
		if (timers->list[i].kind == KINST_P_TICK)
			hrtimer_cancel(&timers->list[i].timer);
}

void kinst_profile_start(struct kinst_timers *timers)
{
	u32 only;

	if (!timers)
		return;
	timers->started = true;
	if (timers->nprofile)
		cpuhp_state_add_instance(hotplug_state, &timers->node); /* cpu_comes() does not fail */
	only = timers->session->prog.hdr->cpu;
	if (only == KINST_NONE)
		only = raw_smp_processor_id();
	if (smp_call_function_single(only, start_ticks, timers, true))
		start_ticks(timers); /* the CPU is off; the traced one comes up later or never */
}

/* ---- arm and disarm ---- */

/* A slow timer counts as one firing per second. DIV_ROUND_UP_ULL() will not do: it divides by the low 32 bits. */
static u64 cost(u64 interval)
{
	return DIV64_U64_ROUND_UP(NSEC_PER_SEC, interval);
}

static bool charge(struct kinst_timers *timers, u64 hz)
{
	bool fits;

	mutex_lock(&budget_lock);
	fits = budget_used + hz <= READ_ONCE(max_timer_hz);
	if (fits)
		budget_used += hz;
	mutex_unlock(&budget_lock);
	if (fits)
		timers->hz += hz;
	return fits;
}

static void discharge(struct kinst_timers *timers)
{
	mutex_lock(&budget_lock);
	budget_used -= timers->hz;
	mutex_unlock(&budget_lock);
}

static void take(struct kinst_timers *timers, const struct kinst_probe *probe, u32 index, struct kinst_result *res)
{
	struct kinst_timer model = {
		.session = timers->session,
		.interval = probe->func,
		.probe = index,
		.kind = probe->kind,
	};

	if (timers->n == KINST_MAX_TIMERS) {
		res->reason = KINST_R_LIMIT;
	} else if (!charge(timers, cost(probe->func))) {
		res->reason = KINST_R_RATE;
	} else {
		init(&timers->list[timers->n++], &model);
		timers->nprofile += probe->kind == KINST_P_PROFILE;
	}
}

/* Each possible CPU has separate timers. */
static int make_cpus(struct kinst_timers *timers)
{
	u32 cpu, i, k;

	timers->cpus = kvcalloc(nr_cpu_ids, sizeof(*timers->cpus), GFP_KERNEL);
	if (!timers->cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		timers->cpus[cpu] = kvcalloc(timers->nprofile + 1, sizeof(struct kinst_timer), GFP_KERNEL);
		if (!timers->cpus[cpu])
			return -ENOMEM;
		for (i = k = 0; i < timers->n; i++)
			if (timers->list[i].kind == KINST_P_PROFILE)
				init(&timers->cpus[cpu][k++], &timers->list[i]);
	}
	return 0;
}

static void free_timers(struct kinst_timers *timers)
{
	u32 cpu;

	for (cpu = 0; timers->cpus && cpu < nr_cpu_ids; cpu++)
		kvfree(timers->cpus[cpu]);
	kvfree(timers->cpus);
	kvfree(timers->list);
	kfree(timers);
}

struct kinst_timers *kinst_profile_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				       struct kinst_result *res)
{
	struct kinst_timers *timers;
	u32 i, wanted = 0;

	for (i = 0; i < n; i++)
		wanted += kinst_is_timer(probes[i].kind);
	if (!wanted)
		return NULL;
	timers = kzalloc(sizeof(*timers), GFP_KERNEL);
	if (!timers)
		return ERR_PTR(-ENOMEM);
	timers->session = s;
	timers->list = kvcalloc(min_t(u32, wanted, KINST_MAX_TIMERS), sizeof(*timers->list), GFP_KERNEL);
	if (!timers->list)
		goto fail;
	for (i = 0; i < n; i++)
		if (kinst_is_timer(probes[i].kind))
			take(timers, &probes[i], i, &res[i]);
	if (make_cpus(timers))
		goto uncharge;
	return timers;

uncharge:
	discharge(timers);
fail:
	free_timers(timers);
	return ERR_PTR(-ENOMEM);
}

void kinst_profile_disarm(struct kinst_timers *timers)
{
	if (!timers)
		return;
	if (timers->started) {
		cancel_ticks(timers);
		if (timers->nprofile)
			cpuhp_state_remove_instance(hotplug_state, &timers->node);
	}
	discharge(timers);
	free_timers(timers);
}

/* ---- load and unload ---- */

int kinst_profile_init(void)
{
	int state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "kinst:online", cpu_comes, cpu_goes);

	if (state < 0)
		return state;
	hotplug_state = state;
	return 0;
}

void kinst_profile_exit(void)
{
	cpuhp_remove_multi_state(hotplug_state);
}
