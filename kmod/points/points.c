// SPDX-License-Identifier: GPL-2.0
/*
 * points/points.c: the probes of a session: preparing and arming, disarming and removing them.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/semaphore.h>
#include <linux/slab.h>

#include "patch/patch.h"
#include "patch/tramp.h"
#include "places/host.h"
#include "places/kprobes.h"
#include "places/read.h"
#include "places/refuse.h"
#include "places/trappath.h"
#include "places/walk.h"
#include "points/order.h"
#include "points/points.h"
#include "program/session.h"
#include "text/fentry.h"
#include "text/going.h"
#include "text/jump.h"
#include "text/locks.h"
#include "text/once.h"
#include "text/shots.h"
#include "text/sites.h"
#include "text/trap.h"

/* ---- arm ---- */

/* Moves the ftrace sites, which remain in the list, to the session's list to disarm without the mutex. */
static void kinst_leave(struct kinst_points *points, struct list_head *dead)
{
	kinst_sites_disarm(dead, NULL);
	list_splice_tail_init(dead, &points->leaving);
}

/*
 * Handles the sites of the list that could not be armed: each probe that needs one gets the reason, and all its places
 * are removed. With the mutex, without the patch lock.
 */
static void kinst_refuse_unarmed(struct kinst_points *points, struct list_head *fresh, bool fentry,
				 enum kinst_reason reason, struct kinst_result *res)
{
	struct kinst_site *site;
	struct kinst_listener *listener;
	bool any = false;
	LIST_HEAD(dead);

	list_for_each_entry(site, fresh, batch) {
		if (site->armed || site->fentry != fentry)
			continue;
		any = true;
		list_for_each_entry(listener, &site->listeners, node)
			res[listener->probe].reason = reason;
	}
	if (!any)
		return;
	list_for_each_entry(listener, &points->listeners, mine) {
		if (!listener->site || !res[listener->probe].reason)
			continue;
		list_del_rcu(&listener->node);
		if (list_empty(&listener->site->listeners))
			list_move_tail(&listener->site->batch, &dead);
		listener->site = NULL;
	}
	kinst_leave(points, &dead);
}

/* Moves ftrace sites to late, as all of them are armed at once; the others are finished. */
static void kinst_batch_end(struct list_head *fresh, struct list_head *late)
{
	struct kinst_site *site, *next;

	list_for_each_entry_safe(site, next, fresh, batch) {
		if (site->fentry)
			list_move_tail(&site->batch, late);
		else
			list_del_init(&site->batch);
	}
}

static bool kinst_is_killed(struct kinst_points *points)
{
	points->killed |= fatal_signal_pending(current);
	return points->killed;
}

/* Stages the probe if it is a function entry that ftrace serves. */
static bool kinst_stage_entry(struct kinst_points *points, const struct kinst_probe *probe, u32 index,
			      struct kinst_result *res, struct list_head *fresh)
{
	struct kinst_func *f = probe->kind == KINST_P_FBT_ENTRY ? kinst_func_get_entry(probe->func) : NULL;

	if (!f)
		return false;
	kinst_stage_probe(points, f, probe, index, res, fresh);
	kinst_func_put(f);
	return true;
}

/* Stages the entries that ftrace serves among the n probes in order, and keeps the others in order. */
static u32 kinst_stage_entries(struct kinst_points *points, const struct kinst_probe *probes, u32 *order, u32 n,
			       struct kinst_result *res, struct list_head *fresh)
{
	u32 i, others = 0;

	for (i = 0; i < n && !kinst_is_killed(points); i++) {
		if (!kinst_stage_entry(points, &probes[order[i]], order[i], &res[order[i]], fresh))
			order[others++] = order[i];
		cond_resched();
	}
	return others;
}

/* Stages the probes in order, unless a signal ends that early. */
static void kinst_stage_batch(struct kinst_points *points, const struct kinst_probe *probes, const u32 *order, u32 n,
			      struct kinst_result *res, struct list_head *fresh)
{
	struct kinst_func *f = NULL;
	u32 i;

	for (i = 0; i < n; i++) {
		const struct kinst_probe *probe = &probes[order[i]];

		if (!f || f->start != probe->func) {
			kinst_func_put(f);
			f = NULL;
			if (kinst_is_killed(points))
				break;
			f = kinst_func_get(probe->func);
			cond_resched();
		}
		kinst_stage_probe(points, f, probe, order[i], &res[order[i]], fresh);
	}
	kinst_func_put(f);
}

/* Arms the probes in order, except those moved to late; order has all probes of a function together. */
static void kinst_arm_batch(struct kinst_points *points, const struct kinst_probe *probes, const u32 *order, u32 n,
			    struct kinst_result *res)
{
	LIST_HEAD(fresh);

	kinst_patch_lock();
	kinst_stage_batch(points, probes, order, n, res, &fresh);
	if (kinst_jumps_make_way(points->nojump ? &points->listeners : NULL, &fresh))
		kinst_sites_reap_later();
	kinst_sites_arm(&fresh);
	kinst_patch_unlock();
	if (!kinst_is_killed(points))
		kinst_refuse_unarmed(points, &fresh, false, KINST_R_FOREIGN, res);
	kinst_batch_end(&fresh, &points->late);
}

static void kinst_arm_fentry(struct work_struct *work)
{
	struct kinst_points *points = container_of(work, struct kinst_points, armer);

	points->err = kinst_sites_arm_fentry(&points->late);
	complete(&points->armed);
}

/*
 * Arms the ftrace sites: a change of the text by ftrace is expensive, but little more so for many sites. On an
 * emulated machine it takes seconds for all functions, and cannot be interrupted, so a worker does it. A task that is
 * killed does not wait for the worker.
 */
static void kinst_arm_late(struct kinst_points *points, struct kinst_result *res)
{
	struct kinst_site *site, *next;

	if (!list_empty(&points->late)) {
		reinit_completion(&points->armed);
		queue_work(kinst_queue, &points->armer);
		points->killed = wait_for_completion_killable(&points->armed);
		if (points->killed)
			return;
	}
	mutex_lock(&kinst_sites_mutex);
	if (points->err)
		kinst_refuse_unarmed(points, &points->late, true, KINST_R_FTRACE, res);
	list_for_each_entry_safe(site, next, &points->late, batch)
		list_del_init(&site->batch);
	mutex_unlock(&kinst_sites_mutex);
	kinst_sites_disarm_fentry(&points->leaving);
}

/*
 * How many probes to take next: at most a batch, and all probes of the last function, unless it has more than a batch.
 * A function is decoded again for each batch.
 */
static u32 kinst_batch(const struct kinst_probe *probes, const u32 *order, u32 count)
{
	u32 n = KINST_BATCH;

	if (count <= n)
		return count;
	while (n && probes[order[n]].func == probes[order[n - 1]].func)
		n--;
	return n ?: KINST_BATCH;
}

/* Gives waiters a chance to take the locks. */
static bool kinst_batch_lock(struct kinst_points *points)
{
	cond_resched();
	if (!points->killed)
		points->killed = mutex_lock_killable(&kinst_sites_mutex);
	return !points->killed;
}

/*
 * Arms the entries that ftrace serves, before all others: the functions that ftrace calls to arm them may later have
 * breakpoints, which would be hit a million times. The others remain in order; returns their count.
 */
static u32 kinst_arm_entries(struct kinst_points *points, const struct kinst_probe *probes, u32 *order, u32 count,
			     struct kinst_result *res)
{
	u32 i, n, j, others = 0;

	for (i = 0; i < count && kinst_batch_lock(points); i += n) {
		n = kinst_batch(probes, order + i, count - i);
		kinst_patch_lock();
		j = kinst_stage_entries(points, probes, order + i, n, res, &points->late);
		kinst_patch_unlock();
		mutex_unlock(&kinst_sites_mutex);
		memmove(order + others, order + i, j * sizeof(*order));
		others += j;
	}
	if (!points->killed)
		kinst_arm_late(points, res);
	return others;
}

static void kinst_arm_others(struct kinst_points *points, const struct kinst_probe *probes, const u32 *order, u32 count,
			     struct kinst_result *res)
{
	u32 i, n;

	for (i = 0; i < count && kinst_batch_lock(points); i += n) {
		n = kinst_batch(probes, order + i, count - i);
		kinst_arm_batch(points, probes, order + i, n, res);
		mutex_unlock(&kinst_sites_mutex);
	}
	if (points->once && kinst_batch_lock(points)) {
		kinst_once_ready(points->once, res);
		mutex_unlock(&kinst_sites_mutex);
	}
	if (!points->killed)
		kinst_arm_late(points, res);
}

/* ---- disarm ---- */

/* Removes a batch of the session's listeners from their sites, and sites without listeners. True if there are more. */
static bool kinst_disarm_some(struct kinst_points *points, struct kinst_listener **from)
{
	struct kinst_listener *listener = *from;
	u32 n = 0;
	LIST_HEAD(dead);

	list_for_each_entry_from(listener, &points->listeners, mine) {
		if (n++ == KINST_BATCH)
			break;
		if (!listener->site)
			continue;
		list_del_rcu(&listener->node);
		if (list_empty(&listener->site->listeners))
			list_move_tail(&listener->site->batch, &dead);
	}
	kinst_leave(points, &dead);
	*from = listener;
	return !list_entry_is_head(listener, &points->listeners, mine);
}

/* Removes all places of the session. In its turn if ftrace serves some of them. */
static void kinst_disarm_all(struct kinst_points *points)
{
	struct kinst_listener *from = list_first_entry(&points->listeners, struct kinst_listener, mine);
	bool more;

	kinst_move_begin();
	if (points->once) {
		mutex_lock(&kinst_sites_mutex);
		kinst_once_disarm(points->once);
		mutex_unlock(&kinst_sites_mutex);
	}
	do {
		cond_resched();
		mutex_lock(&kinst_sites_mutex);
		more = kinst_disarm_some(points, &from);
		mutex_unlock(&kinst_sites_mutex);
	} while (more);
	kinst_sites_disarm_fentry(&points->leaving);
	kinst_move_end();
}

/*
 * A load that was ended by a signal keeps its turn until everything that it has armed is removed: other sessions would
 * mistake a site that ftrace has yet to arm for an armed one. A worker does that: the dying task may close other files
 * first, and each of them may need the turn.
 */
static void kinst_undo(struct work_struct *work)
{
	struct kinst_points *points = container_of(work, struct kinst_points, undoer);

	flush_work(&points->armer);
	kinst_disarm_all(points);
	up(&kinst_turn);
}

/* ---- a whole session ---- */

static void kinst_arm_all(struct kinst_points *points, const struct kinst_probe *probes, u32 *order, u32 count,
			  struct kinst_result *res)
{
	points->killed = down_killable(&kinst_turn);
	if (points->killed)
		return;
	count = kinst_arm_entries(points, probes, order, count, res);
	kinst_arm_others(points, probes, order, count, res);
	points->undone = points->killed;
	if (points->undone)
		queue_work(kinst_queue, &points->undoer);
	else
		up(&kinst_turn);
}

struct kinst_points *kinst_points_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				      struct kinst_result *res, kinst_want_fn want)
{
	struct kinst_points *points = kzalloc(sizeof(*points), GFP_KERNEL);
	u32 *order, count;

	if (!points)
		return ERR_PTR(-ENOMEM);
	points->session = s;
	points->want = want;
	points->paid = n;
	points->nojump = s->prog.hdr->flags & KINST_IMAGE_NOJUMP;
	INIT_LIST_HEAD(&points->listeners);
	INIT_LIST_HEAD(&points->late);
	INIT_LIST_HEAD(&points->leaving);
	INIT_WORK(&points->armer, kinst_arm_fentry);
	INIT_WORK(&points->undoer, kinst_undo);
	init_completion(&points->armed);
	order = kinst_order(probes, n, res, &count);
	if (!order)
		goto points;
	if (s->prog.hdr->flags & KINST_IMAGE_ONCE) {
		points->once = kinst_once_new(s, count);
		if (!points->once)
			goto order;
	}

	/* Sites that were just disarmed still have their slots. */
	if (count > kinst_slots_left())
		kinst_sites_reap_killable();
	kinst_move_begin();
	kinst_arm_all(points, probes, order, count, res);
	kinst_move_end();
	kvfree(order);
	return points;

order:
	kvfree(order);
points:
	kfree(points);
	return ERR_PTR(-ENOMEM);
}

void kinst_points_start(struct kinst_points *points)
{
	points->started = true;
	kinst_fentry_use();
}

void kinst_points_arm_once(struct kinst_points *points)
{
	if (!points->once)
		return;
	mutex_lock(&kinst_sites_mutex);
	kinst_once_arm(points->once);
	mutex_unlock(&kinst_sites_mutex);
}

static void kinst_points_end(struct kinst_points *points)
{
	if (points->started)
		kinst_fentry_unuse();
	points->started = false;
}

void kinst_points_silence(struct kinst_points *points)
{
	kinst_points_end(points);
	synchronize_rcu(); /* programs run with interrupts off */
}

void kinst_points_disarm(struct kinst_points *points)
{
	struct kinst_listener *listener, *next;

	kinst_points_end(points);
	if (points->undone) {
		flush_work(&points->undoer);
	} else if (points->fentry) {
		down(&kinst_turn);
		kinst_disarm_all(points);
		up(&kinst_turn);
	} else {
		kinst_disarm_all(points);
	}

	/* At a site that other sessions use as well, a CPU may still be about to call us. */
	synchronize_rcu();
	list_for_each_entry_safe(listener, next, &points->listeners, mine)
		kinst_listener_free(listener);
	if (points->once && kinst_once_free(points->once))
		kinst_sites_reap_later();
	kfree(points);
}

/* ---- load and unload ---- */

int kinst_points_init(void)
{
	int err;

	kinst_read_init(kinst_site_original);
	err = kinst_refuse_init();
	if (err)
		return err;
	mutex_lock(&kinst_sites_mutex);
	err = kinst_trap_path_init();
	mutex_unlock(&kinst_sites_mutex);
	if (err)
		goto hosts;
	err = kinst_kprobes_init();
	if (err)
		goto trap_path;
	err = kinst_arch_hook_traps(kinst_trap);
	if (err)
		goto kprobes;
	err = kinst_sites_init();
	if (err)
		goto trap;
	err = kinst_going_init();
	if (err)
		goto sites;
	return 0;

sites:
	kinst_sites_exit();
trap:
	kinst_arch_unhook_traps();
kprobes:
	kinst_kprobes_exit();
trap_path:
	kinst_trap_path_exit();
hosts:
	kinst_hosts_exit();
	kinst_refuse_exit();
	return err;
}

void kinst_points_exit(void)
{
	kinst_going_exit();
	/* A slot may end in a trap, until no task is in one. */
	kinst_sites_exit();
	kinst_arch_unhook_traps();
	kinst_kprobes_exit();
	kinst_trap_path_exit();
	kinst_hosts_exit();
	kinst_refuse_exit();
}
