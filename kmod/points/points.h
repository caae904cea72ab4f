/* SPDX-License-Identifier: GPL-2.0 */
/*
 * points/points.h: the places that one session has armed; process context, may sleep.
 */
#ifndef _KINST_POINTS_H
#define _KINST_POINTS_H

#include "points/stage.h"

/*
 * Prepares and arms the INSN, EDGE and FBT probes among probes[0..n); the others
 * are skipped (result OK). If a place is refused, res[i] has the reason, and the
 * rest is armed. Returns the session's points, or an ERR_PTR if nothing
 * could be done at all. kinst_fire(s, i, ...) may be called before it returns.
 * A fatal signal ends it early: the points are then those armed
 * so far. want() is called for each of the probes.
 */
struct kinst_points *kinst_points_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				      struct kinst_result *res, kinst_want_fn want);

/* The session is about to run: before this is called, places may or may not fire. */
void kinst_points_start(struct kinst_points *points);

/* The session runs: arms the probes that are removed at their first hit (KINST_IMAGE_ONCE). */
void kinst_points_arm_once(struct kinst_points *points);

/* The session's state now prevents programs from running: waits for the running ones. The places may still be armed. */
void kinst_points_silence(struct kinst_points *points);

/* The mirror. After it returns, no CPU is in kinst_fire() for this session, or will enter it. */
void kinst_points_disarm(struct kinst_points *points);

int kinst_points_init(void); /* module load: symbols, notifiers, pools */
void kinst_points_exit(void);

#endif /* _KINST_POINTS_H */
