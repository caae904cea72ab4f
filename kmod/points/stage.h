/* SPDX-License-Identifier: GPL-2.0 */
/*
 * points/stage.h: stages a probe before it is armed: its sites, new or shared, and a listener at each.
 */
#ifndef _KINST_STAGE_H
#define _KINST_STAGE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "text/site.h"

struct kinst_func;
struct kinst_once;
struct kinst_want;

/* The answer of a provider: KINST_OK when every place of the probe is staged. */
typedef enum kinst_reason (*kinst_want_fn)(struct kinst_want *want, struct kinst_result *res);

/* Limits on a session's listeners: in total, and at one place, where a hit calls them one by one. */
#define KINST_MAX_USERS (1 << 19)
#define KINST_MAX_USERS_OF_SITE 64

/* The places that one session has armed. */
struct kinst_points {
	struct kinst_session *session;
	struct list_head listeners;
	kinst_want_fn want;
	struct kinst_once *once; /* NULL: none of its probes is removed at its first hit */
	u32 nusers; /* including staged ones */
	u32 paid; /* listeners that the session has been charged for */
	bool nojump; /* breakpoints only */
	bool killed; /* a signal has ended the arming */
	bool undone; /* the mirror: a worker removes the places armed so far */
	bool started;
	bool fentry; /* ftrace serves some of its places */
	struct list_head late; /* ftrace sites that are being armed */
	struct list_head leaving; /* the mirror: sites to be disarmed */
	struct work_struct armer, undoer;
	struct completion armed;
	int err; /* of the armer */
};

/* A probe that is being armed: either all of its listeners are registered or none. */
struct kinst_want {
	struct kinst_points *points;
	const struct kinst_probe *probe;
	u32 index;
	struct kinst_func *func;
	struct list_head listeners; /* staged */
	struct list_head *fresh; /* sites that were made for this batch */
};

/*
 * Stages a listener of the instruction of f (of the ftrace site at addr). The caller has
 * checked that no reason forbids it. With the patch lock held.
 */
enum kinst_reason kinst_want_break(struct kinst_want *want, const struct kinst_func *f,
				   const struct kinst_arch_insn *insn, struct kinst_listener **listener);
enum kinst_reason kinst_want_fentry(struct kinst_want *want, unsigned long addr, unsigned long ip, struct kinst_listener **listener);

/*
 * Stages a probe of the function: its new sites are added to fresh. Either all of its listeners are registered, or
 * *res has the reason. f is NULL if out of memory. With the mutex and the patch lock held.
 */
void kinst_stage_probe(struct kinst_points *points, struct kinst_func *f, const struct kinst_probe *probe, u32 index,
		       struct kinst_result *res, struct list_head *fresh);
void kinst_listener_free(struct kinst_listener *listener);

#endif /* _KINST_STAGE_H */
