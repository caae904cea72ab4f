/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/quiesce.h: waits for tasks to leave the code that they are in.
 */
#ifndef _KINST_QUIESCE_H
#define _KINST_QUIESCE_H

/*
 * Waits until every task, including the idle ones, has voluntarily left the code that it was in. Without a lock: a
 * task that never sleeps may delay it forever, as it does Tasks RCU, but nothing else.
 */
void kinst_quiesce(void);

void kinst_quiesce_init(void);
void kinst_quiesce_exit(void);

#endif /* _KINST_QUIESCE_H */
