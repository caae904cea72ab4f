/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat/tracepoints.h: the arguments of sched_process_exit: the task, and since 6.16 whether it
 * is the last of its process.
 */
#ifndef _KINST_COMPAT_TRACEPOINTS_H
#define _KINST_COMPAT_TRACEPOINTS_H

#include <linux/atomic.h>
#include <linux/sched/signal.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define KINST_TRACE_TELLS_LAST 1
#else
#define KINST_TRACE_TELLS_LAST 0
#endif

/* Whether no other thread of the process is left. In older kernels, several that exit at once may all count as last. */
static __always_inline bool kinst_trace_is_last(const u64 *raw)
{
	const struct task_struct *task = (const struct task_struct *)(unsigned long)raw[0];

	return KINST_TRACE_TELLS_LAST ? raw[1] & 1 : !atomic_read(&task->signal->live);
}

#endif /* _KINST_COMPAT_TRACEPOINTS_H */
