/* SPDX-License-Identifier: GPL-2.0 */
/* providers/sdt.h: probes made of a tracepoint and a test of its arguments. */
#ifndef _KINST_PROV_SDT_H
#define _KINST_PROV_SDT_H

#include "hit.h"

struct kinst_session;
struct kinst_traces;

/*
 * Arms the probes of this provider among probes[0..n), as kinst_points_arm() does; NULL if there are none. The mirror
 * is like kinst_points_disarm().
 */
struct kinst_traces *kinst_sdt_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				   struct kinst_result *res);
void kinst_sdt_disarm(struct kinst_traces *traces);

#define KINST_TRACE_ARGS 6 /* arguments of a tracepoint that we read at most */

#define KINST_EVENT_ENDED 256

/* The state of one probe of one session. */
struct kinst_event_state {
	u64 ended[KINST_EVENT_ENDED]; /* the newest processes whose exit was reported, by hash */
};

struct kinst_event_row {
	const char *tracepoint;
	/*
	 * Whether the tracepoint's hit is this event; if so, sets the hit's arguments. Context: the
	 * probe path, interrupts on or off; raw holds the tracepoint's arguments.
	 */
	bool (*is)(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state);
};

extern const struct kinst_event_row kinst_events[KINST_E_MAX];

#endif /* _KINST_PROV_SDT_H */
