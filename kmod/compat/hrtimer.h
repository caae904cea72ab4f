/* SPDX-License-Identifier: GPL-2.0 */
/* compat/hrtimer.h: a timer and its function: set up in two steps until 6.12, in one since then. */
#ifndef _KINST_COMPAT_HRTIMER_H
#define _KINST_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
#include <linux/version.h>

static inline void kinst_hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
				       clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

#endif /* _KINST_COMPAT_HRTIMER_H */
