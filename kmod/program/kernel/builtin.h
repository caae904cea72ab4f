/* SPDX-License-Identifier: GPL-2.0 */
/* program/kernel/builtin.h: set-up of built-in variables and subroutines at load. */
#ifndef _KINST_BUILTIN_H
#define _KINST_BUILTIN_H

/* Context: module load. */
void kinst_builtin_init(void);

#endif /* _KINST_BUILTIN_H */
