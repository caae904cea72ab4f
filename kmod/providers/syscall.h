/* SPDX-License-Identifier: GPL-2.0 */
/* providers/syscall.h: probes of system calls; process context. */
#ifndef _KINST_PROV_SYSCALL_H
#define _KINST_PROV_SYSCALL_H

#include <linux/types.h>
#include "include/uapi/kinst.h"

struct kinst_calls;
struct kinst_session;

/*
 * Arms the probes of this provider among probes[0..n), as kinst_points_arm() does; NULL if there are none. The mirror
 * is like kinst_points_disarm().
 */
struct kinst_calls *kinst_syscall_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				      struct kinst_result *res);
void kinst_syscall_disarm(struct kinst_calls *calls);
void kinst_syscall_init(void);

/* KINST_IOC_SYSCALLS: the function of a system call number, or 0; and the count of numbers. */
u64 kinst_syscall_function(u32 nr);
u32 kinst_syscall_count(void);

#endif /* _KINST_PROV_SYSCALL_H */
