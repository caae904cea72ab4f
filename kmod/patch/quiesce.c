// SPDX-License-Identifier: GPL-2.0
/*
 * patch/quiesce.c: waits until every task has voluntarily passed through the scheduler.
 *
 * Tasks RCU does not see the idle tasks. Tasks Rude RCU does not help: newer kernels assume that nothing is traced
 * where RCU does not watch, and then it does nothing. Otherwise it waits for a work item on every CPU, with CPU
 * hotplug locked, and the item never runs on a CPU that is held by a real-time task that never sleeps.
 * An idle task runs with preemption off: a CPU that runs another task has left its idle task through the scheduler.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "arch/ksym.h"
#include "patch/quiesce.h"

/* How long to wait for a CPU's work item before checking again which task runs there. */
#define KINST_LOOK (HZ / 50)

struct kinst_visit {
	struct work_struct work;
	unsigned int count; /* how often the work has run */
};

static DEFINE_PER_CPU(struct kinst_visit, kinst_visits);
static DECLARE_WAIT_QUEUE_HEAD(kinst_visited);

/* Context: the workqueue of a CPU, which therefore does not run its idle task. */
static void kinst_visit(struct work_struct *work)
{
	struct kinst_visit *visit = container_of(work, struct kinst_visit, work);

	WRITE_ONCE(visit->count, visit->count + 1);
	wake_up_all(&kinst_visited);
}

/* Whether the CPU's idle task may be running. */
static bool kinst_may_idle(int cpu)
{
	bool idle = true;

	if (!cpu_online(cpu))
		return false;
	rcu_read_lock();
	if (kinst_addr_cpu_curr_snapshot)
		idle = is_idle_task(kinst_sym_cpu_curr_snapshot(cpu));
	rcu_read_unlock();
	return idle;
}

/* The work item may be left pending, on a CPU whose current task never lets it run. */
static void kinst_leave_idle(int cpu)
{
	struct kinst_visit *visit = per_cpu_ptr(&kinst_visits, cpu);
	unsigned int before = READ_ONCE(visit->count);

	if (!kinst_may_idle(cpu))
		return;
	schedule_work_on(cpu, &visit->work);
	while (!wait_event_timeout(kinst_visited, READ_ONCE(visit->count) != before || !kinst_may_idle(cpu), KINST_LOOK))
		;
}

void kinst_quiesce(void)
{
	int cpu;

	synchronize_rcu_tasks();
	for_each_online_cpu(cpu)
		kinst_leave_idle(cpu);
}

void kinst_quiesce_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_WORK(&per_cpu_ptr(&kinst_visits, cpu)->work, kinst_visit);
}

void kinst_quiesce_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		cancel_work_sync(&per_cpu_ptr(&kinst_visits, cpu)->work);
}
