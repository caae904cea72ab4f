/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat/config.h: kernel configuration options that were renamed, or that decide what the kernel provides.
 */
#ifndef _KINST_COMPAT_CONFIG_H
#define _KINST_COMPAT_CONFIG_H

#include <linux/kconfig.h>
#include <linux/sched.h>

/* Indirect branches go through thunks. Renamed in 6.9. */
#if IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) || IS_ENABLED(CONFIG_RETPOLINE)
#define KINST_RETPOLINE 1
#else
#define KINST_RETPOLINE 0
#endif

/* Whether the task is on a CPU. */
static inline bool kinst_task_runs(const struct task_struct *task)
{
#ifdef CONFIG_SMP
	return READ_ONCE(task->on_cpu);
#else
	return task == current;
#endif
}

#endif /* _KINST_COMPAT_CONFIG_H */
