/* SPDX-License-Identifier: GPL-2.0 */
/* providers/profile.h: timers, armed by sessions; process context. */
#ifndef _KINST_PROV_PROFILE_H
#define _KINST_PROV_PROFILE_H

#include <linux/types.h>
#include "include/uapi/kinst.h"

struct kinst_session;
struct kinst_timers;

/*
 * Arms the probes of this provider among probes[0..n), as kinst_points_arm() does; NULL if there are none. The mirror
 * is like kinst_points_disarm().
 */
struct kinst_timers *kinst_profile_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				       struct kinst_result *res);
void kinst_profile_start(struct kinst_timers *timers); /* tracing is on: the intervals begin */
void kinst_profile_disarm(struct kinst_timers *timers);
int kinst_profile_init(void);
void kinst_profile_exit(void);

#endif /* _KINST_PROV_PROFILE_H */
