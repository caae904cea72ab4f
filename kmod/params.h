/* SPDX-License-Identifier: GPL-2.0 */
/*
 * params.h: the setter of the module's read-only parameters.
 */
#ifndef _KINST_PARAMS_H
#define _KINST_PARAMS_H

#include <linux/errno.h>

struct kernel_param;

/* Refuses every write. */
static inline int kinst_refuse_to_set(const char *value, const struct kernel_param *kp)
{
	return -EPERM;
}

#endif /* _KINST_PARAMS_H */
