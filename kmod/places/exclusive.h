/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/exclusive.h: the instructions between an exclusive load and its store.
 */
#ifndef _KINST_EXCLUSIVE_H
#define _KINST_EXCLUSIVE_H

struct kinst_func;

/* Gives a reason to each of them. */
void kinst_mark_exclusive(struct kinst_func *f);

#endif /* _KINST_EXCLUSIVE_H */
