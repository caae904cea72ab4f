/* SPDX-License-Identifier: GPL-2.0 */
/* program/kernel/destroy.h: the destructive actions, for main.c; programs reach them through program/env.h. */
#ifndef _KINST_DESTROY_H
#define _KINST_DESTROY_H

void kinst_destroy_init(void);
void kinst_destroy_exit(void);

#endif /* _KINST_DESTROY_H */
