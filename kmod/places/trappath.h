/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/trappath.h: the functions from which no breakpoint leads to our handler.
 */
#ifndef _KINST_TRAPPATH_H
#define _KINST_TRAPPATH_H

#include <linux/types.h>

struct kinst_func;

/* Does it run between a breakpoint and us? */
bool kinst_is_trap_path(const struct kinst_func *f);

/* At load, before anything is refused: finds what runs there. -EOPNOTSUPP: it cannot all be told. */
int kinst_trap_path_init(void);

/* Would a breakpoint in a function of this name be caught by nobody? */
bool kinst_has_no_trap(const char *name);

#endif /* _KINST_TRAPPATH_H */
