/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session/limits.h: what a session may take, and all of them together.
 */
#ifndef _KINST_LIMITS_H
#define _KINST_LIMITS_H

#include <linux/types.h>

u32 kinst_max_probes(void);
u32 kinst_max_insns(void);
u64 kinst_max_memory(void);

/* Context: process. A session begins (0 or -EUSERS), and ends. */
int kinst_limits_enter(void);
void kinst_limits_leave(void);

/* Context: process. 0, -EDQUOT (all sessions together) or -ENOMEM (the machine has not that much left). */
int kinst_limits_charge(u64 bytes);
void kinst_limits_uncharge(u64 bytes);

/* May the caller trace? 0, or -EPERM: of the capability and of lockdown. */
int kinst_may_trace(void);
/* And change what is traced (-w)? -EACCES: lockdown. */
int kinst_may_destroy(void);

#endif /* _KINST_LIMITS_H */
