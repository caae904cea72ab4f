/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/read.h: reads functions from memory. Context: process; may sleep.
 */
#ifndef _KINST_READ_H
#define _KINST_READ_H

#include "places/func.h"

/*
 * Called at load, before anything is read: original() gives the original bytes at addr, below our breakpoint or jump,
 * and their count; 0 if we have changed nothing there. It is called with the sites' mutex held.
 */
void kinst_read_init(size_t (*original)(unsigned long addr, const u8 **bytes));

/* The function at start, or NULL if out of memory. With the patch lock held. */
struct kinst_func *kinst_func_get(unsigned long start);

/*
 * The same for a function whose module has a site, with kinst_sites_mutex held. When a module is unloaded, its sites
 * are removed before its text is freed, and that takes the mutex. So it needs no reference, which would make a
 * concurrent rmmod fail.
 */
struct kinst_func *kinst_func_get_of_site(unsigned long start);

/* The same without the instructions, for entry probes served by ftrace; NULL also if ftrace does not serve them. */
struct kinst_func *kinst_func_get_entry(unsigned long start);

#endif /* _KINST_READ_H */
