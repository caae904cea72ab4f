// SPDX-License-Identifier: GPL-2.0
/*
 * points/stage.c: stages a probe before it is armed: finds or makes its sites,
 * and adds a listener to each.
 *
 * Context: process; the sites' mutex and the patch lock are held, except to free a listener.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "places/func.h"
#include "points/stage.h"
#include "program/alloc.h"
#include "text/sites.h"

/* ---- listeners ---- */

/* Whether the session has reached its limit of listeners, in total or at this place. */
static bool kinst_is_crowded(const struct kinst_points *points, const struct kinst_site *site)
{
	struct kinst_listener *listener;
	u32 n = 0;

	list_for_each_entry(listener, &site->listeners, node)
		n += listener->points == points;
	return n >= KINST_MAX_USERS_OF_SITE || points->nusers >= KINST_MAX_USERS;
}

#define KINST_CHARGE 128 /* listeners charged at a time */

/* The session was charged for one listener per probe; the further listeners of a probe are charged here. */
static bool kinst_is_paid(struct kinst_points *points)
{
	if (points->nusers < points->paid)
		return true;
	if (points->session->charge(points->session, KINST_CHARGE * KINST_PROBE_BYTES))
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
	listener->nojump = want->points->nojump;
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

	if (site)
		reason = kinst_stage(want, site, insn->addr, listener);
	if (!reason)
		(*listener)->linked = kinst_func_is_linked(f, insn->addr);
	return reason;
}

enum kinst_reason kinst_want_fentry(struct kinst_want *want, unsigned long addr, unsigned long ip, struct kinst_listener **listener)
{
	enum kinst_reason reason;
	struct kinst_site *site = kinst_site_fentry(addr, want->fresh, &reason);

	want->points->fentry = true;
	return site ? kinst_stage(want, site, ip, listener) : reason;
}

void kinst_listener_free(struct kinst_listener *listener)
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

/* The mirror of staging; last is the newest site that existed before. */
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

/* ---- probes ---- */

void kinst_stage_probe(struct kinst_points *points, struct kinst_func *f, const struct kinst_probe *probe, u32 index,
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
	res->reason = f ? points->want(&want, res) : KINST_R_LIMIT;
	if (res->reason)
		kinst_want_abort(&want, last);
	else
		kinst_want_commit(&want);
}
