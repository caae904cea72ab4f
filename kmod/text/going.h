/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/going.h: loading and unloading of modules.
 */
#ifndef _KINST_GOING_H
#define _KINST_GOING_H

/* Registers the notifier of module loads and unloads. */
int kinst_going_init(void);
void kinst_going_exit(void);

#endif /* _KINST_GOING_H */
