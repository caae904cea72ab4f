/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/trappath.h: the functions from which no breakpoint leads to our handler.
 */
#ifndef _KINST_TRAPPATH_H
#define _KINST_TRAPPATH_H

#include <linux/types.h>

struct kinst_func;

/* Whether the function runs between a breakpoint and our handler. */
bool kinst_is_trap_path(const struct kinst_func *f);

/* Whether a breakpoint in the function would find no handler at all. */
bool kinst_has_no_trap(const struct kinst_func *f);

void kinst_trap_path_exit(void);

/* ---- for walk.c ---- */

/* Functions, and what is called by them, and by these in their turn; written only at load. */
struct kinst_walk {
	const char *const *not; /* the beginnings of names to which it does not go */
	const char *const *ends; /* more than in kinst_arch_walk_ends */
	bool untraced; /* it ends at functions that ftrace serves */
	bool done; /* sorted */
	unsigned int n;
	unsigned long *start;
};

extern struct kinst_walk kinst_trap_path, kinst_listeners, kinst_no_trap, kinst_set_up;

#define KINST_WALKS 4
extern struct kinst_walk *const kinst_walks[KINST_WALKS];

bool kinst_has_walked(const struct kinst_walk *w, unsigned long start);

/* Whether the name, without the suffix that a compiler adds, is one of these, or begins as one of these. */
bool kinst_is_listed(const char *const *names, const char *name);
bool kinst_begins_as(const char *const *beginnings, const char *name);

#endif /* _KINST_TRAPPATH_H */
