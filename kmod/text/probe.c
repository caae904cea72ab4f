// SPDX-License-Identifier: GPL-2.0
/*
 * text/probe.c: the probes of a session: preparing and arming, disarming and removing
 * them, also those of a module that is unloaded.
 */
#include <linux/err.h>
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "places/func.h"
#include "text/host.h"
#include "text/jump.h"
#include "ksym.h"
#include "text/patch.h"
#include "places/refuse.h"
#include "program/session.h"
#include "text/sites.h"
#include "text/tramp.h"
#include "text/trap.h"
#include "places/trappath.h"

/* Probes that are prepared and armed under one hold of the patch lock. */
#define KINST_BATCH 8192

/* ---- listeners ---- */

/* Whether the session has as many listeners as it may have, at all places or at this one. */
static bool kinst_is_crowded(const struct kinst_points *points, const struct kinst_site *site)
{
	struct kinst_listener *listener;
	u32 n = 0;

	list_for_each_entry(listener, &site->listeners, node)
		n += listener->points == points;
	return n >= KINST_MAX_USERS_OF_SITE || points->nusers >= KINST_MAX_USERS;
}

#define KINST_CHARGE 128 /* listeners that are charged for at a time */

/* The session was charged for one listener per probe; a probe with several places needs more, charged for here. */
static bool kinst_is_paid(struct kinst_points *points)
{
	if (points->nusers < points->paid)
		return true;
	if (kinst_session_charge(points->session, KINST_CHARGE * KINST_PROBE_BYTES))
		return false;
	points->paid += KINST_CHARGE;
	return true;
}

static enum kinst_reason kinst_stage(struct kinst_want *want, struct kinst_site *site, unsigned long ip,
				     struct kinst_listener **out)
{
	struct kinst_listener *listener;

	if (kinst_is_crowded(want->points, site) || !kinst_is_paid(want->points))
		return KINST_R_LIMIT;
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return KINST_R_LIMIT;
	want->points->nusers++;
	listener->session = want->points->session;
	listener->site = site;
	listener->points = want->points;
	listener->ip = ip;
	listener->probe = want->index;
	listener->kind = want->probe->kind;
	list_add_tail(&listener->mine, &want->listeners);
	*out = listener;
	return KINST_OK;
}

enum kinst_reason kinst_want_break(struct kinst_want *want, const struct kinst_func *f,
				   const struct kinst_arch_insn *insn, struct kinst_listener **listener)
{
	enum kinst_reason reason;
	struct kinst_site *site = kinst_site_break(insn, f, want->fresh, &reason);

	return site ? kinst_stage(want, site, insn->addr, listener) : reason;
}

enum kinst_reason kinst_want_fentry(struct kinst_want *want, unsigned long addr, unsigned long ip, struct kinst_listener **listener)
{
	enum kinst_reason reason;
	struct kinst_site *site = kinst_site_fentry(addr, want->fresh, &reason);

	return site ? kinst_stage(want, site, ip, listener) : reason;
}

static void kinst_listener_free(struct kinst_listener *listener)
{
	kfree(listener->way);
	kfree(listener);
}

/* Registers the staged listeners with their sites. */
static void kinst_want_commit(struct kinst_want *want)
{
	struct kinst_listener *listener;

	list_for_each_entry(listener, &want->listeners, mine)
		list_add_tail_rcu(&listener->node, &listener->site->listeners);
	list_splice_tail_init(&want->listeners, &want->points->listeners);
}

/* The mirror of staging; last is the newest site that was there before. */
static void kinst_want_abort(struct kinst_want *want, struct list_head *last)
{
	struct kinst_listener *listener, *next;

	list_for_each_entry_safe(listener, next, &want->listeners, mine) {
		want->points->nusers--;
		kinst_listener_free(listener);
	}
	while (want->fresh->prev != last)
		kinst_site_drop(list_last_entry(want->fresh, struct kinst_site, batch));
}

/* ---- arm ---- */

static bool kinst_is_place(u32 kind)
{
	return kind == KINST_P_INSN || kind == KINST_P_EDGE || kind == KINST_P_FBT_ENTRY || kind == KINST_P_FBT_RETURN;
}

static enum kinst_reason kinst_want_any(struct kinst_want *want, struct kinst_result *res)
{
	switch (want->probe->kind) {
	case KINST_P_INSN:
		return kinst_want_insn(want, res);
	case KINST_P_EDGE:
		return kinst_want_edge(want, res);
	case KINST_P_FBT_ENTRY:
		return kinst_want_entry(want);
	case KINST_P_FBT_RETURN:
		return kinst_want_return(want);
	}
	return KINST_R_UNSUPPORTED;
}

static void kinst_arm_one(struct kinst_points *points, struct kinst_func *f, const struct kinst_probe *probe, u32 index,
			  struct kinst_result *res, struct list_head *fresh)
{
	struct kinst_want want = {
		.points = points,
		.probe = probe,
		.index = index,
		.func = f,
		.fresh = fresh,
	};
	struct list_head *last = fresh->prev;

	INIT_LIST_HEAD(&want.listeners);
	res->reason = f ? kinst_want_any(&want, res) : KINST_R_LIMIT;
	if (res->reason)
		kinst_want_abort(&want, last);
	else
		kinst_want_commit(&want);
}

/*
 * Handles the sites of the list that could not be armed: the probes that need one get the reason, and lose all their
 * places. Without the patch lock.
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
	kinst_sites_remove(&dead);
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

/* Arms the probes that order lists, except those that go to late; order has all probes of a function together. */
static void kinst_arm_batch(struct kinst_points *points, const struct kinst_probe *probes, const u32 *order, u32 n,
			    struct kinst_result *res, struct list_head *late)
{
	struct kinst_func *f = NULL;
	LIST_HEAD(fresh);
	u32 i;

	kinst_patch_lock();
	for (i = 0; i < n; i++) {
		const struct kinst_probe *probe = &probes[order[i]];

		if (!f || f->start != probe->func) {
			kinst_func_put(f);
			f = kinst_func_get(probe->func);
			cond_resched();
		}
		kinst_arm_one(points, f, probe, order[i], &res[order[i]], &fresh);
	}
	kinst_func_put(f);
	kinst_jumps_make_way(points, &fresh);
	kinst_sites_arm(&fresh);
	kinst_patch_unlock();
	kinst_refuse_unarmed(points, &fresh, false, KINST_R_FOREIGN, res);
	kinst_batch_end(&fresh, late);
}

/* Arms the ftrace sites: a change of the text by ftrace is expensive, but little more so for many. */
static void kinst_arm_late(struct kinst_points *points, struct list_head *late, struct kinst_result *res)
{
	struct kinst_site *site, *next;

	if (kinst_sites_arm_fentry(late))
		kinst_refuse_unarmed(points, late, true, KINST_R_FTRACE, res);
	list_for_each_entry_safe(site, next, late, batch)
		list_del_init(&site->batch);
}

struct kinst_order {
	const struct kinst_probe *probes;
	u32 *index; /* of those probes that are places */
	u32 *runs; /* where in index another function begins */
	u32 count, nruns;
};

static int kinst_by_function(const void *a, const void *b, const void *order)
{
	const struct kinst_order *o = order;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	u64 f = o->probes[o->index[x]].func, g = o->probes[o->index[y]].func;

	return f < g ? -1 : f > g ? 1 : x < y ? -1 : 1;
}

/* Sorts the runs by function; there are far fewer runs than probes. */
static void kinst_order_runs(struct kinst_order *o, u32 *sorted)
{
	u32 i, at, n = 0;

	sort_r(o->runs, o->nruns, sizeof(*o->runs), kinst_by_function, NULL, o);
	for (i = 0; i < o->nruns; i++) {
		at = o->runs[i];
		do
			sorted[n++] = o->index[at++];
		while (at < o->count && o->probes[o->index[at]].func == o->probes[o->index[at - 1]].func);
	}
}

/* The indices of those probes that are places, function by function. */
static u32 *kinst_order(const struct kinst_probe *probes, u32 n, struct kinst_result *res, u32 *count)
{
	struct kinst_order o = { .probes = probes };
	u32 *sorted = kvmalloc_array(max(n, 1U), sizeof(*sorted), GFP_KERNEL);
	u32 i;

	o.index = kvmalloc_array(max(n, 1U), sizeof(*o.index), GFP_KERNEL);
	o.runs = kvmalloc_array(max(n, 1U), sizeof(*o.runs), GFP_KERNEL);
	if (!sorted || !o.index || !o.runs) {
		kvfree(sorted);
		sorted = NULL;
		goto out;
	}
	for (i = 0; i < n; i++) {
		memset(&res[i], 0, sizeof(res[i]));
		if (!kinst_is_place(probes[i].kind))
			continue;
		if (!o.count || probes[o.index[o.count - 1]].func != probes[i].func)
			o.runs[o.nruns++] = o.count;
		o.index[o.count++] = i;
	}
	kinst_order_runs(&o, sorted);
	*count = o.count;
out:
	kvfree(o.runs);
	kvfree(o.index);
	return sorted;
}

struct kinst_points *kinst_points_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				      struct kinst_result *res)
{
	struct kinst_points *points = kzalloc(sizeof(*points), GFP_KERNEL);
	u32 *order, count, i;
	bool killed = false;
	LIST_HEAD(late);

	if (!points)
		return ERR_PTR(-ENOMEM);
	points->session = s;
	points->paid = n;
	points->nojump = s->prog.hdr->flags & KINST_IMAGE_NOJUMP;
	INIT_LIST_HEAD(&points->listeners);
	order = kinst_order(probes, n, res, &count);
	if (!order) {
		kfree(points);
		return ERR_PTR(-ENOMEM);
	}

	/* Sites disarmed a moment ago still have their slots. */
	if (count > kinst_slots_left())
		kinst_sites_reap();
	mutex_lock(&kinst_sites_mutex);
	for (i = 0; i < count && !killed; i += KINST_BATCH) {
		kinst_arm_batch(points, probes, order + i, min_t(u32, count - i, KINST_BATCH), res, &late);
		killed = fatal_signal_pending(current);
	}
	kinst_arm_late(points, &late, res);
	mutex_unlock(&kinst_sites_mutex);
	kvfree(order);
	if (!killed)
		return points;
	kinst_points_disarm(points);
	return ERR_PTR(-EINTR);
}

void kinst_points_disarm(struct kinst_points *points)
{
	struct kinst_listener *listener, *next;
	LIST_HEAD(dead);

	mutex_lock(&kinst_sites_mutex);
	list_for_each_entry(listener, &points->listeners, mine) {
		if (!listener->site)
			continue;
		list_del_rcu(&listener->node);
		if (list_empty(&listener->site->listeners))
			list_add_tail(&listener->site->batch, &dead);
	}
	kinst_sites_remove(&dead);
	mutex_unlock(&kinst_sites_mutex);

	/* At a site that other sessions use as well, a CPU may still be about to call us. */
	synchronize_rcu();
	list_for_each_entry_safe(listener, next, &points->listeners, mine)
		kinst_listener_free(listener);
	kfree(points);
}

int kinst_points_insns(u64 func, struct kinst_insn *buf, u32 count, struct kinst_insns *info)
{
	struct kinst_func *f;
	u32 i;

	mutex_lock(&kinst_sites_mutex);
	kinst_patch_lock();
	f = kinst_func_get(func);
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
	if (!f)
		return -ENOMEM;
	info->reason = f->reason;
	info->size = f->size;
	info->count = f->reason ? 0 : f->ninsns;
	for (i = 0; i < info->count && i < count; i++) {
		memset(&buf[i], 0, sizeof(buf[i]));
		buf[i].offset = f->insns[i].offset;
		buf[i].len = f->insns[i].len;
		buf[i].flags = f->insns[i].flags;
		buf[i].reason = kinst_func_is_fentry(f, &f->insns[i]) ? KINST_OK : f->insns[i].reason;
		memcpy(buf[i].bytes, f->text + f->insns[i].offset, f->insns[i].len);
	}
	kinst_func_put(f);
	return 0;
}

/* ---- modules that go ---- */

struct kinst_going {
	struct module *mod;
	struct list_head dead, lost;
};

/* Removes a site of the module. Its listeners stay with their sessions, without a site. */
static void kinst_site_goes(struct kinst_site *site, void *arg)
{
	struct kinst_going *going = arg;
	struct kinst_listener *listener, *next;

	if (!within_module(site->addr, going->mod))
		return;
	list_for_each_entry_safe(listener, next, &site->listeners, node) {
		list_del_rcu(&listener->node);
		listener->site = NULL;
	}
	list_add_tail(&site->batch, site->lost ? &going->lost : &going->dead);
}

static int kinst_module_event(struct notifier_block *nb, unsigned long event, void *mod)
{
	struct kinst_going going = { .mod = mod };

	mutex_lock(&kinst_sites_mutex);
	kinst_hosts_module_changed();
	if (event != MODULE_STATE_GOING) {
		mutex_unlock(&kinst_sites_mutex);
		return NOTIFY_DONE;
	}
	INIT_LIST_HEAD(&going.dead);
	INIT_LIST_HEAD(&going.lost);
	kinst_site_for_each(kinst_site_goes, &going);
	kinst_sites_remove(&going.dead);
	kinst_sites_forget(&going.lost);
	kinst_tramp_forget(mod);
	mutex_unlock(&kinst_sites_mutex);
	return NOTIFY_OK;
}

static struct notifier_block kinst_module_nb = {
	.notifier_call = kinst_module_event,
};

/* ---- load and unload ---- */

int kinst_points_init(void)
{
	int err = kinst_refuse_init();

	if (err)
		return err;
	err = kinst_trap_path_init();
	if (err)
		goto refuse;
	err = kinst_hosts_init();
	if (err)
		goto refuse;
	err = kinst_trap_init();
	if (err)
		goto hosts;
	err = register_module_notifier(&kinst_module_nb);
	if (err)
		goto trap;
	return 0;

trap:
	kinst_trap_exit();
hosts:
	kinst_hosts_exit();
refuse:
	kinst_refuse_exit();
	return err;
}

void kinst_points_exit(void)
{
	unregister_module_notifier(&kinst_module_nb);
	kinst_trap_exit();
	kinst_sites_exit();
	kinst_hosts_exit();
	kinst_refuse_exit();
}
