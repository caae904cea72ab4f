/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session/limits.h: the limits of a session, and of all sessions together.
 */
#ifndef _KINST_LIMITS_H
#define _KINST_LIMITS_H

#include <linux/types.h>

u32 kinst_max_probes(void);
u32 kinst_max_once(void);
u32 kinst_max_insns(void);
u64 kinst_max_memory(void);

/* Context: process. Counts a session that begins (0 or -EUSERS), and one that ends. */
int kinst_limits_enter(void);
void kinst_limits_leave(void);

/* Context: process. Returns 0, -EDQUOT (limit of all sessions) or -ENOMEM (the machine has less left). */
int kinst_limits_charge(u64 bytes);
void kinst_limits_uncharge(u64 bytes);

/* Whether the caller may trace: 0, or -EPERM for lack of the capability or because of lockdown. */
int kinst_may_trace(void);
/* Whether it may also change what is traced (-w): 0, or -EACCES because of lockdown. */
int kinst_may_destroy(void);

#endif /* _KINST_LIMITS_H */
