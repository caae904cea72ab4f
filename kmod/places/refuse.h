/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/refuse.h: the places that cannot be probed.
 */
#ifndef _KINST_REFUSE_H
#define _KINST_REFUSE_H

#include "include/uapi/kinst.h"

struct kinst_func;
struct module;

/* The reason against this address of this module, or KINST_OK. Context: preemption off. */
enum kinst_reason kinst_refuse_module(struct module *mod, unsigned long addr);

/* Finds the function's ftrace site, and the reasons against the function as a whole and against each instruction. */
void kinst_refuse_function(struct kinst_func *f);

/* The same without the instructions: the ftrace site at the start or after a landing pad, and the whole function. */
void kinst_refuse_entry(struct kinst_func *f);

/* The size of a function without ftrace's data of the function that follows it. */
unsigned long kinst_refuse_data(unsigned long start, unsigned long size);

int kinst_refuse_init(void);
void kinst_refuse_exit(void);

#endif /* _KINST_REFUSE_H */
