/* SPDX-License-Identifier: GPL-2.0 */
/*
 * points/insns.h: the instructions of a function, for user space; process context, may sleep.
 */
#ifndef _KINST_INSNS_H
#define _KINST_INSNS_H

#include "include/uapi/kinst.h"

/* KINST_IOC_INSNS: fills buf[0..count) and *info. */
int kinst_points_insns(u64 func, struct kinst_insn *buf, u32 count, struct kinst_insns *info);

#endif /* _KINST_INSNS_H */
