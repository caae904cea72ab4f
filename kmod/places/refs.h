/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/refs.h: the addresses in the text that something in the kernel may lead to.
 */
#ifndef _KINST_REFS_H
#define _KINST_REFS_H

#include <linux/types.h>

struct kinst_func;

/*
 * Whether control could reach an address in [from, to) of the function other than
 * from the preceding instruction. True also if that is unknown. With the patch lock
 * held, after kinst_refs_build().
 */
bool kinst_refs_any(struct kinst_func *f, unsigned long from, unsigned long to);

/* Reads the kernel's own text, on the first call. May take long. Without locks, one caller at a time. */
void kinst_refs_build(void);

/* Discards the cached references of modules: another may be loaded where one was unloaded. */
void kinst_refs_forget(void);

void kinst_refs_exit(void);

#endif /* _KINST_REFS_H */
