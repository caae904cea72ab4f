/* SPDX-License-Identifier: GPL-2.0 */
/* providers/sources.h: everything that a session has armed, of every provider; process context. */
#ifndef _KINST_SOURCES_H
#define _KINST_SOURCES_H

#include "program/session.h"

struct kinst_sources {
	struct kinst_points *points;
	struct kinst_timers *timers;
	struct kinst_calls *calls;
	struct kinst_traces *traces;
	struct kinst_gates *gates;
};

/*
 * Arms the probes of the session's image; res[i] is the result for probe i. On failure nothing is armed,
 * unless the error is EINTR: then the process ends, and the probes armed so far are disarmed with the session.
 */
int kinst_sources_arm(struct kinst_sources *sources, struct kinst_session *s, struct kinst_result *res);

/* Called just before tracing is on. */
void kinst_sources_ready(struct kinst_sources *sources);

/*
 * Called when tracing is off: when it returns, no program of the session runs, and none will. The mirror of
 * kinst_sources_arm() is still to be called.
 */
void kinst_sources_silence(struct kinst_sources *sources);

/* Called once tracing is on: starts the timers, and arms the probes that can be hit only once. */
void kinst_sources_start(struct kinst_sources *sources);

/* The mirror of both; may be called again. When it returns, no program of the session runs, and none will. */
void kinst_sources_disarm(struct kinst_sources *sources);

int kinst_sources_init(void);
void kinst_sources_exit(void);

#endif /* _KINST_SOURCES_H */
