/* SPDX-License-Identifier: GPL-2.0 */
/* providers/places.h: the probes that are places in functions; process context. */
#ifndef _KINST_PROV_PLACES_H
#define _KINST_PROV_PLACES_H

#include "points/stage.h"

/* Each function stages the probe: KINST_OK when all of its places are staged. */
enum kinst_reason kinst_want_insn(struct kinst_want *want, struct kinst_result *res);
enum kinst_reason kinst_want_edge(struct kinst_want *want, struct kinst_result *res);
enum kinst_reason kinst_want_entry(struct kinst_want *want);
enum kinst_reason kinst_want_return(struct kinst_want *want);

#endif /* _KINST_PROV_PLACES_H */
