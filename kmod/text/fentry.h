/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/fentry.h: the sites that ftrace serves, at a function's entry.
 */
#ifndef _KINST_FENTRY_H
#define _KINST_FENTRY_H

/* Adds (removes) n ftrace sites, in a session's turn. May sleep; without the patch lock: ftrace takes text_mutex. */
int kinst_fentry_add(unsigned long *ips, unsigned int n);
void kinst_fentry_remove(unsigned long *ips, unsigned int n);

/* Called at the beginning and end of a running session. Without a session, hits are ignored. */
void kinst_fentry_use(void);
void kinst_fentry_unuse(void);

int kinst_fentry_init(void);
void kinst_fentry_exit(void);

#endif /* _KINST_FENTRY_H */
