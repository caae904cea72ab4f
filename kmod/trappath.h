/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trappath.h: the functions that run between a breakpoint and our handler.
 */
#ifndef _KINST_TRAPPATH_H
#define _KINST_TRAPPATH_H

#include <linux/types.h>

/* name: of the function's symbol. */
bool kinst_is_trap_path(const char *name);

#endif /* _KINST_TRAPPATH_H */
