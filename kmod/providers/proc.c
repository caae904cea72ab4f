// SPDX-License-Identifier: GPL-2.0
/*
 * providers/proc.c: the providers proc, sched and io: events of processes,
 * threads and disks, derived from tracepoints.
 *
 * Context: the probe path; in a tracepoint, interrupts on or off. The tasks that
 * a tracepoint passes exist as long as it runs.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>

#include "context.h"
#include "compat/tracepoints.h"
#include "providers/sdt.h"

#define TASK(word) ((struct task_struct *)(unsigned long)(word))

static __probe_path void no_args(struct kinst_hit *hit)
{
	hit->nargs = 0;
}
NOKPROBE_SYMBOL(no_args);

static __probe_path void one_arg(struct kinst_hit *hit, u64 arg)
{
	hit->nargs = 1;
	hit->args[0] = arg;
}
NOKPROBE_SYMBOL(one_arg);

/* ---- sched_process_fork(parent, child) ---- */

static __probe_path bool proc_create(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	one_arg(hit, raw[1]);
	return TASK(raw[1])->pid == TASK(raw[1])->tgid;
}
NOKPROBE_SYMBOL(proc_create);

static __probe_path bool proc_lwp_create(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	one_arg(hit, raw[1]);
	return true;
}
NOKPROBE_SYMBOL(proc_lwp_create);

/* ---- sched_process_exec(task, old pid, binary) ---- */

static __probe_path bool proc_exec_success(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	no_args(hit);
	return true;
}
NOKPROBE_SYMBOL(proc_exec_success);

/* ---- sched_process_exit(task, …) ---- */

/* How the process ended: after a group exit, all threads give the same reason. */
static __probe_path u64 reason(const struct task_struct *task)
{
	const struct signal_struct *signal = task->signal;
	int code = signal->flags & SIGNAL_GROUP_EXIT ? signal->group_exit_code : task->exit_code;

	return code & 0x80 ? CLD_DUMPED : code & 0x7f ? CLD_KILLED : CLD_EXITED;
}
NOKPROBE_SYMBOL(reason);

/* Whether its exit was reported before: if several threads exit at once, each may look like the last one. */
static __probe_path bool was_told(struct kinst_event_state *state, const struct task_struct *task)
{
	u64 key = (unsigned long)task->signal ^ task->group_leader->start_boottime;

	return xchg(&state->ended[hash_64(key, ilog2(KINST_EVENT_ENDED))], key) == key;
}
NOKPROBE_SYMBOL(was_told);

static __probe_path bool proc_exit(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	if (!kinst_trace_is_last(raw) || (!KINST_TRACE_TELLS_LAST && was_told(state, TASK(raw[0]))))
		return false;
	one_arg(hit, reason(TASK(raw[0])));
	return true;
}
NOKPROBE_SYMBOL(proc_exit);

static __probe_path bool proc_lwp_exit(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	no_args(hit);
	return true;
}
NOKPROBE_SYMBOL(proc_lwp_exit);

/* ---- signal_generate(signal, info, task, to the group, result), signal_deliver(signal, info, action) ---- */

enum { GENERATED = 0, IGNORED = 1 }; /* TRACE_SIGNAL_DELIVERED, TRACE_SIGNAL_IGNORED */

static __probe_path bool generated(const u64 *raw, struct kinst_hit *hit, int result)
{
	hit->nargs = 3;
	hit->args[0] = hit->args[1] = raw[2];
	hit->args[2] = (int)raw[0];
	return (int)raw[4] == result;
}
NOKPROBE_SYMBOL(generated);

static __probe_path bool proc_signal_send(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	return generated(raw, hit, GENERATED);
}
NOKPROBE_SYMBOL(proc_signal_send);

static __probe_path bool proc_signal_discard(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	return generated(raw, hit, IGNORED);
}
NOKPROBE_SYMBOL(proc_signal_discard);

static __probe_path bool proc_signal_handle(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	const struct k_sigaction *action = (const struct k_sigaction *)(unsigned long)raw[2];
	unsigned long handler = (unsigned long)action->sa.sa_handler;

	hit->nargs = 3;
	hit->args[0] = (int)raw[0];
	hit->args[1] = raw[1];
	hit->args[2] = handler;
	return handler != (unsigned long)SIG_DFL && handler != (unsigned long)SIG_IGN;
}
NOKPROBE_SYMBOL(proc_signal_handle);

/* ---- sched_switch(preempted, from, to, state) ---- */

static __probe_path bool sched_off_cpu(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	one_arg(hit, raw[2]);
	return true;
}
NOKPROBE_SYMBOL(sched_off_cpu);

static __probe_path bool sched_preempt(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	no_args(hit);
	return (bool)(raw[0] & 1);
}
NOKPROBE_SYMBOL(sched_preempt);

/* The thread gives up the CPU to wait: it is neither runnable nor exiting. */
static __probe_path bool sched_sleep(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	no_args(hit);
	return !(raw[0] & 1) && (unsigned int)raw[3] && !((unsigned int)raw[3] & TASK_DEAD);
}
NOKPROBE_SYMBOL(sched_sleep);

/* ---- sched_waking(task) ---- */

static __probe_path bool sched_wakeup(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	one_arg(hit, raw[0]);
	return true;
}
NOKPROBE_SYMBOL(sched_wakeup);

/* ---- block_bio_queue(bio) ---- */

static __probe_path bool io_start(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state)
{
	one_arg(hit, raw[0]);
	return true;
}
NOKPROBE_SYMBOL(io_start);

const struct kinst_event_row kinst_events[KINST_E_MAX] = {
	[KINST_E_PROC_CREATE] = { "sched_process_fork", proc_create },
	[KINST_E_PROC_EXEC_SUCCESS] = { "sched_process_exec", proc_exec_success },
	[KINST_E_PROC_EXIT] = { "sched_process_exit", proc_exit },
	[KINST_E_PROC_LWP_CREATE] = { "sched_process_fork", proc_lwp_create },
	[KINST_E_PROC_LWP_EXIT] = { "sched_process_exit", proc_lwp_exit },
	[KINST_E_PROC_SIGNAL_SEND] = { "signal_generate", proc_signal_send },
	[KINST_E_PROC_SIGNAL_DISCARD] = { "signal_generate", proc_signal_discard },
	[KINST_E_PROC_SIGNAL_HANDLE] = { "signal_deliver", proc_signal_handle },
	[KINST_E_SCHED_OFF_CPU] = { "sched_switch", sched_off_cpu },
	[KINST_E_SCHED_PREEMPT] = { "sched_switch", sched_preempt },
	[KINST_E_SCHED_SLEEP] = { "sched_switch", sched_sleep },
	[KINST_E_SCHED_WAKEUP] = { "sched_waking", sched_wakeup },
	[KINST_E_IO_START] = { "block_bio_queue", io_start },
};
