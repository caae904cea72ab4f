/* SPDX-License-Identifier: GPL-2.0 */
/* providers/dtrace.h: the probes of the dtrace provider; process context. */
#ifndef _KINST_PROV_DTRACE_H
#define _KINST_PROV_DTRACE_H

#include "program/session.h"

void kinst_dtrace_begin(struct kinst_session *s); /* state WARMUP */
void kinst_dtrace_end(struct kinst_session *s); /* state COOLDOWN */

#endif /* _KINST_PROV_DTRACE_H */
