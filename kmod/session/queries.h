/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session/queries.h: the query ioctls.
 */
#ifndef _KINST_QUERIES_H
#define _KINST_QUERIES_H

#include "program/session.h"

/* Each copies its structure from and to arg; 0 or an error. loaded: the session has a program and buffers. */
long kinst_query_status(struct kinst_session *s, bool loaded, void __user *arg);
long kinst_query_aggregations(struct kinst_session *s, bool loaded, void __user *arg);
long kinst_query_fired(const struct kinst_session *s, bool loaded, void __user *arg);
long kinst_query_info(void __user *arg);
long kinst_query_insns(void __user *arg);
long kinst_query_syscalls(void __user *arg);
long kinst_query_settle(void __user *arg);

#endif /* _KINST_QUERIES_H */
