/* SPDX-License-Identifier: GPL-2.0 */
/* program/kernel/builtin.h: what built-in variables and subroutines need at load. */
#ifndef _KINST_BUILTIN_H
#define _KINST_BUILTIN_H

/* Context: module load. */
void kinst_builtin_init(void);

#endif /* _KINST_BUILTIN_H */
