/* SPDX-License-Identifier: GPL-2.0 */
/*
 * patch/quiesce.h: waits for tasks to leave the code that they are in.
 */
#ifndef _KINST_QUIESCE_H
#define _KINST_QUIESCE_H

/*
 * Waits until every task has voluntarily left the code that it was in, those that are idle too. Without a lock: tasks
 * that run for ever may keep it waiting, as they do Tasks RCU, but no other work.
 */
void kinst_quiesce(void);

void kinst_quiesce_init(void);
void kinst_quiesce_exit(void);

#endif /* _KINST_QUIESCE_H */
