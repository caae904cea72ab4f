/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/trappath.h: the functions from which no breakpoint leads to our handler.
 */
#ifndef _KINST_TRAPPATH_H
#define _KINST_TRAPPATH_H

#include <linux/types.h>

struct kinst_func;

/* Whether the function runs between a breakpoint and our handler. */
bool kinst_is_trap_path(const struct kinst_func *f);

/* At load, before anything is refused: finds the functions that run there. -EOPNOTSUPP if it cannot record them all. */
int kinst_trap_path_init(void);
void kinst_trap_path_exit(void);

/* Whether a breakpoint in the function would find no handler at all. */
bool kinst_has_no_trap(const struct kinst_func *f);

#endif /* _KINST_TRAPPATH_H */
