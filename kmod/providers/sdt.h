/* SPDX-License-Identifier: GPL-2.0 */
/* providers/sdt.h: what probes are made of that are a tracepoint looked at in a way of their own. */
#ifndef _KINST_PROV_SDT_H
#define _KINST_PROV_SDT_H

#include "kinst.h"

#define KINST_TRACE_ARGS 6 /* that the tracepoint passes, as far as we look */

#define KINST_EVENT_ENDED 256

/* Of one probe of one session. */
struct kinst_event_state {
	u64 ended[KINST_EVENT_ENDED]; /* processes that it was told have ended, by a hash: the newest ones */
};

struct kinst_event_row {
	const char *tracepoint;
	/*
	 * Is it such an event? Then sets the hit's arguments. Context: the probe
	 * path, interrupts on or off; raw holds what the tracepoint passes.
	 */
	bool (*is)(const u64 *raw, struct kinst_hit *hit, struct kinst_event_state *state);
};

extern const struct kinst_event_row kinst_events[KINST_E_MAX];

#endif /* _KINST_PROV_SDT_H */
