/* SPDX-License-Identifier: GPL-2.0 */
/*
 * text/locks.h: the order in which sessions arm and disarm. Context: process.
 */
#ifndef _KINST_LOCKS_H
#define _KINST_LOCKS_H

#include <linux/mutex.h>
#include <linux/semaphore.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/*
 * Protects sites, slots and listeners; the probe path reads under RCU instead. Taken before the patch lock. It is not
 * held while ftrace works, which may wait for every CPU.
 */
extern struct mutex kinst_sites_mutex;

/*
 * Probes that are armed or disarmed, and slots that are freed, while holding the locks once. Every module load waits
 * for these locks, so they are released between two batches.
 */
#define KINST_BATCH 512

/*
 * A session's turn: one session at a time arms, from its first site until ftrace has armed the last, or removes its
 * ftrace sites. The sites of other sessions are then either armed, or breakpoints being removed. A semaphore, as
 * another task than the one that took it may release it. Taken before the mutex.
 */
extern struct semaphore kinst_turn;

/* For work that changes the text or waits for all tasks, which must not delay other work of a CPU. */
extern struct workqueue_struct *kinst_queue;

/* Called at the beginning and end of arming or disarming a session's probes. */
void kinst_move_begin(void);
void kinst_move_end(void);

/* Whether the probes of any session are being armed or disarmed. */
bool kinst_is_any_moving(void);

#endif /* _KINST_LOCKS_H */
