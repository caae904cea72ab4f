/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/link.h: the instructions at which the caller's address is in the link register.
 */
#ifndef _KINST_LINK_H
#define _KINST_LINK_H

struct kinst_func;

/* Sets KINST_INSN_LINKED of each of them. */
void kinst_mark_linked(struct kinst_func *f);

#endif /* _KINST_LINK_H */
