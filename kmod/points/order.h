/* SPDX-License-Identifier: GPL-2.0 */
/*
 * points/order.h: the order in which the probes of a session are armed.
 */
#ifndef _KINST_ORDER_H
#define _KINST_ORDER_H

#include <linux/types.h>
#include "include/uapi/kinst.h"

/*
 * The indices of those probes that are places, function by function, and how many there are; the results of all become
 * OK. NULL without memory. To be freed by kvfree().
 */
u32 *kinst_order(const struct kinst_probe *probes, u32 n, struct kinst_result *res, u32 *count);

#endif /* _KINST_ORDER_H */
