/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/read.h: reads functions as they are in memory now. Context: process; may sleep.
 */
#ifndef _KINST_READ_H
#define _KINST_READ_H

#include "places/func.h"

/*
 * At load, before anything is read: original() gives the original bytes at addr, below a breakpoint or jump of ours, and
 * how many; 0: nothing of ours is there. It is called with the sites' mutex held.
 */
void kinst_read_init(size_t (*original)(unsigned long addr, const u8 **bytes));

/* The function at start, or NULL if there is no memory. With the patch lock held. */
struct kinst_func *kinst_func_get(unsigned long start);

/*
 * The same of a function whose module has a site, with kinst_sites_mutex held: as a module goes, its sites go before its text, and that
 * takes the mutex. So no reference is needed, for which an rmmod would fail that comes meanwhile.
 */
struct kinst_func *kinst_func_get_of_site(unsigned long start);

/* The same without the instructions, for probes of its entry that ftrace serves; NULL if it serves none, too. */
struct kinst_func *kinst_func_get_entry(unsigned long start);

#endif /* _KINST_READ_H */
