// SPDX-License-Identifier: GPL-2.0
/*
 * text/sites.c: makes and removes sites, in batches.
 *
 *   new -> (its listeners are staged) -> armed -> restored -> limbo -> freed
 *
 * Limbo: the breakpoint is removed, but a task that was preempted in the slot may
 * still run its code. Only when every task has voluntarily passed through the
 * scheduler is the slot filled with breakpoints and reused. That takes a
 * while, so it is done in the background and for many at once.
 */
#include <linux/list_sort.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "patch/patch.h"
#include "patch/quiesce.h"
#include "patch/tramp.h"
#include "places/host.h"
#include "text/fentry.h"
#include "text/jump.h"
#include "text/locks.h"
#include "text/once.h"
#include "text/shots.h"
#include "text/sites.h"

static LIST_HEAD(kinst_limbo); /* under the mutex */

size_t kinst_site_original(unsigned long addr, const u8 **bytes)
{
	struct kinst_site *site = kinst_site_find(addr);
	size_t len;

	*bytes = (const u8 *)kinst_once_original(addr);
	if (*bytes)
		return sizeof(kinst_opcode_t);
	if (!site || site->fentry || !site->armed)
		return 0;
	len = site->jump ? kinst_jump_original(site->jump, bytes) : 0;
	if (len)
		return len;
	*bytes = (const u8 *)&site->original;
	return sizeof(site->original);
}

static void kinst_reap(struct work_struct *work);
static DECLARE_WORK(kinst_reaper, kinst_reap);

void kinst_sites_reap_later(void)
{
	queue_work(kinst_queue, &kinst_reaper);
}

/* With the patch lock held. The reaper looks after the fault pool. */
static void kinst_slot_leave(unsigned long slot)
{
	if (kinst_slot_put(slot))
		kinst_sites_reap_later();
}

static struct kinst_site *kinst_site_new(unsigned long addr, struct list_head *fresh)
{
	struct kinst_site *site = kzalloc(sizeof(*site), GFP_KERNEL);

	if (!site)
		return NULL;
	INIT_LIST_HEAD(&site->listeners);
	INIT_LIST_HEAD(&site->hopeful);
	site->addr = addr;
	list_add_tail(&site->batch, fresh);
	return site;
}

struct kinst_site *kinst_site_break(const struct kinst_arch_insn *insn, const struct kinst_func *f,
				    struct list_head *fresh, enum kinst_reason *reason)
{
	struct kinst_site *site = kinst_site_find(insn->addr);
	unsigned long slot;

	*reason = site && site->lost ? KINST_R_FOREIGN : KINST_OK;
	if (site)
		return *reason ? NULL : site;
	*reason = kinst_once_original(insn->addr) ? KINST_R_BUSY : kinst_slot_get(insn, &slot);
	if (*reason)
		return NULL;
	site = kinst_site_new(insn->addr, fresh);
	if (!site)
		goto slot;
	site->host = kinst_host_get(f);
	if (!site->host)
		goto site;
	site->slot = slot;
	site->onward = slot;
	memcpy(&site->original, insn->bytes, sizeof(site->original));
	site->cond = insn->flow == KINST_FLOW_BRANCH ? insn->cond : 0;
	kinst_site_publish(site);
	return site;

site:
	list_del(&site->batch);
	kfree(site);
slot:
	kinst_slot_leave(slot);
	*reason = KINST_R_LIMIT;
	return NULL;
}

struct kinst_site *kinst_site_fentry(unsigned long addr, struct list_head *fresh, enum kinst_reason *reason)
{
	struct kinst_site *site = kinst_site_find(addr);

	*reason = KINST_OK;
	if (site)
		return site;
	site = kinst_site_new(addr, fresh);
	if (!site) {
		*reason = KINST_R_LIMIT;
		return NULL;
	}
	site->fentry = true;
	kinst_site_publish(site);
	return site;
}

void kinst_site_drop(struct kinst_site *site)
{
	kinst_site_unpublish(site);
	list_del(&site->batch);
	kinst_host_put(site->host);
	kinst_slot_leave(site->slot);
	kfree_rcu(site, rcu);
}

void kinst_sites_arm(struct list_head *fresh)
{
	struct kinst_site *site;

	/* Every CPU sees the slots before the first breakpoint leads there. */
	kinst_patch_sync();
	list_for_each_entry(site, fresh, batch) {
		if (fatal_signal_pending(current))
			break;
		if (site->fentry)
			continue;
		/* No holder of our lock has changed the text; but not all code that patches takes it. */
		site->armed = kinst_patch_arm(site->addr, site->original);
		if (site->armed)
			kinst_jump_enqueue(site);
	}
	kinst_patch_sync();
	kinst_jump_schedule();
}

/* ---- addresses for ftrace, in chunks as large as memory allows ---- */

#define KINST_FEW 64

typedef int (*kinst_ips_fn)(unsigned long *ips, unsigned int n);

/* Takes the list's next ftrace sites, from *at on, that are armed (or not): at most room of them. */
static unsigned int kinst_fentry_take(struct list_head *sites, struct kinst_site **at, bool armed, unsigned long *ips,
				      unsigned int room)
{
	struct kinst_site *site = *at;
	unsigned int n = 0;

	list_for_each_entry_from(site, sites, batch) {
		if (!site->fentry || site->armed != armed)
			continue;
		if (n == room)
			break;
		ips[n++] = site->addr;
	}
	*at = site;
	return n;
}

/* Applies f to the ftrace sites that are armed (or not), in chunks if need be; inverts armed where f succeeded. */
static int kinst_fentry_change(struct list_head *sites, bool armed, kinst_ips_fn f)
{
	static unsigned long few[KINST_FEW]; /* under kinst_turn */
	struct kinst_site *site, *next, *from;
	unsigned int count = 0, n, room;
	unsigned long *ips;
	int err = 0;

	list_for_each_entry(site, sites, batch)
		count += site->fentry && site->armed == armed;
	if (!count)
		return 0;
	ips = kvmalloc_array(count, sizeof(*ips), GFP_KERNEL | __GFP_NOWARN);
	room = ips ? count : KINST_FEW;
	for (from = list_first_entry(sites, struct kinst_site, batch); !err; from = next) {
		next = from;
		n = kinst_fentry_take(sites, &next, armed, ips ?: few, room);
		if (!n)
			break;
		err = f(ips ?: few, n);
		site = from;
		list_for_each_entry_from(site, sites, batch) {
			if (err || site == next)
				break;
			if (site->fentry && site->armed == armed)
				site->armed = !armed;
		}
	}
	kvfree(ips);
	return err;
}

static int kinst_fentry_drop(unsigned long *ips, unsigned int n)
{
	kinst_fentry_remove(ips, n);
	return 0;
}

int kinst_sites_arm_fentry(struct list_head *fresh)
{
	return kinst_fentry_change(fresh, false, kinst_fentry_add);
}

/* ---- removal ---- */

void kinst_sites_disarm(struct list_head *dead, struct list_head *lost)
{
	struct kinst_site *site, *next;

	if (list_empty(dead))
		return;
	kinst_patch_lock();
	kinst_jumps_leave(dead);
	list_for_each_entry(site, dead, batch)
		if (!site->fentry && site->armed && !site->lost && !kinst_patch_restore(site->addr, site->original))
			kinst_site_lose(site);
	list_for_each_entry_safe(site, next, dead, batch) {
		if (!site->lost)
			continue;
		if (lost)
			list_move_tail(&site->batch, lost);
		else
			list_del_init(&site->batch);
	}
	/* After this no CPU is in the handler for one of them, or will enter it. */
	kinst_patch_sync();
	list_for_each_entry(site, dead, batch) {
		kinst_host_put(site->host);
		site->host = NULL;
	}
	kinst_patch_unlock();
	list_for_each_entry_safe(site, next, dead, batch) {
		if (site->fentry && site->armed)
			continue;
		kinst_site_unpublish(site);
		list_move_tail(&site->batch, &kinst_limbo);
	}
	kinst_sites_reap_later();
}

void kinst_sites_disarm_fentry(struct list_head *dead)
{
	struct kinst_site *site;

	if (list_empty(dead))
		return;
	kinst_fentry_change(dead, true, kinst_fentry_drop);
	mutex_lock(&kinst_sites_mutex);
	list_for_each_entry(site, dead, batch)
		kinst_site_unpublish(site);
	list_splice_tail_init(dead, &kinst_limbo);
	mutex_unlock(&kinst_sites_mutex);
	kinst_sites_reap_later();
}

void kinst_sites_forget(struct list_head *lost)
{
	struct kinst_site *site;

	if (list_empty(lost))
		return;
	kinst_patch_lock();
	list_for_each_entry(site, lost, batch) {
		kinst_site_unpublish(site);
		kinst_host_put(site->host);
	}
	kinst_patch_unlock();
	/* Their memory and detours are never freed: pointers to them may be anywhere. */
	INIT_LIST_HEAD(lost);
}

static int kinst_by_slot(void *unused, const struct list_head *a, const struct list_head *b)
{
	return list_entry(a, struct kinst_site, batch)->slot > list_entry(b, struct kinst_site, batch)->slot;
}

/* Frees the slots of the next sites of the sorted list, from *at on. True if there are more. */
static bool kinst_reap_some(struct list_head *reaped, struct kinst_site **at)
{
	struct kinst_site *site = *at;
	unsigned int n = 0;

	list_for_each_entry_from(site, reaped, batch) {
		if (n++ == KINST_BATCH)
			break;
		kinst_slot_leave(site->slot);
	}
	kinst_patch_sync();
	*at = site;
	return !list_entry_is_head(site, reaped, batch);
}

static void kinst_reap_all(struct list_head *reaped)
{
	struct kinst_site *at = list_first_entry(reaped, struct kinst_site, batch);
	bool more;

	do {
		cond_resched();
		mutex_lock(&kinst_sites_mutex);
		kinst_patch_lock();
		more = kinst_reap_some(reaped, &at);
		kinst_patch_unlock();
		mutex_unlock(&kinst_sites_mutex);
	} while (more);
}

#define KINST_REST_DELAY HZ

static void kinst_rest_again(struct work_struct *work);
static DECLARE_DELAYED_WORK(kinst_rest_work, kinst_rest_again);

/* Checks the fault pool while a task sleeps in it. Called after a wait for all tasks, or if none has entered it. */
static void kinst_rest(void)
{
	mutex_lock(&kinst_sites_mutex);
	if (kinst_tramp_rest())
		schedule_delayed_work(&kinst_rest_work, KINST_REST_DELAY);
	mutex_unlock(&kinst_sites_mutex);
}

/* No task has entered the pool since the wait for all tasks, since no site has a slot in it. */
static void kinst_rest_again(struct work_struct *work)
{
	kinst_rest();
}

static void kinst_reap(struct work_struct *work)
{
	struct kinst_site *site, *next;
	LIST_HEAD(reaped);
	LIST_HEAD(jumps);
	LIST_HEAD(onces);

	mutex_lock(&kinst_sites_mutex);
	list_splice_init(&kinst_limbo, &reaped);
	kinst_jumps_reap(&jumps);
	kinst_onces_reap(&onces);
	mutex_unlock(&kinst_sites_mutex);
	if (!list_empty(&reaped) || !list_empty(&jumps) || !list_empty(&onces)) {
		synchronize_rcu();
		kinst_quiesce();
	}

	mutex_lock(&kinst_sites_mutex);
	kinst_patch_lock();
	kinst_jumps_free(&jumps);
	kinst_patch_sync();
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
	/* Adjacent slots are written together. */
	list_sort(NULL, &reaped, kinst_by_slot);
	kinst_reap_all(&reaped);
	kinst_onces_free(&onces);
	kinst_rest();

	list_for_each_entry_safe(site, next, &reaped, batch)
		kfree(site);
}

void kinst_sites_reap(void)
{
	kinst_sites_reap_later();
	flush_work(&kinst_reaper);
}

/*
 * The reaper waits for Tasks RCU. Before 6.9, that includes the first task of a PID namespace while that task exits
 * and waits for all other tasks of the namespace, which it has killed. So none of them may wait for the reaper.
 */
void kinst_sites_reap_killable(void)
{
	kinst_sites_reap_later();
	while (work_busy(&kinst_reaper) && !fatal_signal_pending(current))
		schedule_timeout_killable(HZ / 100);
}

int kinst_sites_init(void)
{
	int err = kinst_fentry_init();

	if (err)
		return err;
	kinst_jump_init();
	kinst_quiesce_init();
	kinst_queue = alloc_workqueue("kinst", WQ_UNBOUND, 0);
	if (kinst_queue)
		return 0;
	kinst_fentry_exit();
	return -ENOMEM;
}

void kinst_sites_exit(void)
{
	kinst_once_exit();
	kinst_jump_exit();
	kinst_fentry_exit();
	kinst_sites_reap();
	rcu_barrier();
	/* The module is unloaded only when nothing holds it: then no task is in the fault pool. */
	cancel_delayed_work_sync(&kinst_rest_work);
	destroy_workqueue(kinst_queue);
	kinst_quiesce_exit();
	kinst_tramp_exit();
}
