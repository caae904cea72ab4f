/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/going.h: modules that come and go.
 */
#ifndef _KINST_GOING_H
#define _KINST_GOING_H

/* Hears of modules from here on. */
int kinst_going_init(void);
void kinst_going_exit(void);

#endif /* _KINST_GOING_H */
