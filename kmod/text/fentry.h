/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/fentry.h: the sites that ftrace serves: its place at a function's entry.
 */
#ifndef _KINST_FENTRY_H
#define _KINST_FENTRY_H

/* Adds (removes) n addresses of ftrace sites, in a session's turn. May sleep; not with the patch lock held: ftrace takes text_mutex. */
int kinst_fentry_add(unsigned long *ips, unsigned int n);
void kinst_fentry_remove(unsigned long *ips, unsigned int n);

/* A session runs from one to the other: hits are nothing without one. */
void kinst_fentry_use(void);
void kinst_fentry_unuse(void);

void kinst_fentry_exit(void);

#endif /* _KINST_FENTRY_H */
