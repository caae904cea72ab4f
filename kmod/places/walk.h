/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/walk.h: finds the functions where a breakpoint does not reach our handler.
 */
#ifndef _KINST_WALK_H
#define _KINST_WALK_H

/* At load, before anything is refused, with the sites' mutex held. -EOPNOTSUPP if it cannot record them all. */
int kinst_trap_path_init(void);

#endif /* _KINST_WALK_H */
