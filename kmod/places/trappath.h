/* SPDX-License-Identifier: GPL-2.0 */
/*
 * places/trappath.h: the functions where a breakpoint does not reach our handler.
 */
#ifndef _KINST_TRAPPATH_H
#define _KINST_TRAPPATH_H

#include <linux/types.h>

struct kinst_func;

/* Whether the function runs between a breakpoint and our handler. */
bool kinst_is_trap_path(const struct kinst_func *f);

/* Whether no handler is installed while the function runs. */
bool kinst_has_no_trap(const struct kinst_func *f);

void kinst_trap_path_exit(void);

/* ---- for walk.c ---- */

/* Functions and all that they call, directly or indirectly; written only at load. */
struct kinst_walk {
	const char *const *not; /* prefixes of the names that it does not follow */
	const char *const *ends; /* in addition to kinst_arch_walk_ends */
	bool untraced; /* it ends at functions that ftrace serves */
	bool done; /* sorted */
	unsigned int n;
	unsigned long *start;
};

extern struct kinst_walk kinst_trap_path, kinst_listeners, kinst_no_trap, kinst_set_up;

#define KINST_WALKS 4
extern struct kinst_walk *const kinst_walks[KINST_WALKS];

bool kinst_has_walked(const struct kinst_walk *w, unsigned long start);

/* Whether the name, without the suffix that a compiler adds, is one of these names, or begins with one of them. */
bool kinst_is_listed(const char *const *names, const char *name);
bool kinst_begins_as(const char *const *beginnings, const char *name);

#endif /* _KINST_TRAPPATH_H */
