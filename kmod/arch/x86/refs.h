/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/refs.h: the places in a text that something in the kernel may lead to.
 */
#ifndef _KINST_REFS_H
#define _KINST_REFS_H

#include <linux/types.h>

struct kinst_func;

/*
 * Could control come to an address in [from, to) of the function by any other
 * way than from the instruction before? True also when it is not known. With the
 * patch lock held; kinst_refs_build() has been called.
 */
bool kinst_refs_any(struct kinst_func *f, unsigned long from, unsigned long to);

/* Reads the kernel's own text, the first time. May take long. Without locks, one caller at a time. */
void kinst_refs_build(void);

/* What was read of modules is forgotten: another one may come to the place of one that goes. */
void kinst_refs_forget(void);

void kinst_refs_exit(void);

#endif /* _KINST_REFS_H */
