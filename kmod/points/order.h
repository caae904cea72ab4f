/* SPDX-License-Identifier: GPL-2.0 */
/*
 * points/order.h: the order in which the probes of a session are armed.
 */
#ifndef _KINST_ORDER_H
#define _KINST_ORDER_H

#include <linux/types.h>
#include "include/uapi/kinst.h"

/*
 * The indices of the probes that are places, function by function, and their count; the results of all probes are set
 * to OK. NULL if out of memory. Free with kvfree().
 */
u32 *kinst_order(const struct kinst_probe *probes, u32 n, struct kinst_result *res, u32 *count);

#endif /* _KINST_ORDER_H */
