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
 * For all of sites, slots and listeners; the probe path reads under RCU instead. Taken before the patch lock. It is not
 * held while ftrace works, which may wait for every CPU.
 */
extern struct mutex kinst_sites_mutex;

/*
 * Probes that are armed or disarmed, and slots that are given back, under one hold of the locks, for which the load of
 * every module waits. Between two batches others get the locks.
 */
#define KINST_BATCH 512

/*
 * A session's turn: one at a time arms, from its first site until ftrace has armed the last, or takes away what ftrace
 * serves. The sites of others are armed meanwhile, or breakpoints on their way out. A semaphore, as it may be given back
 * by another task than the one that took it. Taken before the mutex.
 */
extern struct semaphore kinst_turn;

/* For what changes the text, or waits for all tasks: none of it may keep other work of a CPU waiting. */
extern struct workqueue_struct *kinst_queue;

/* A session's probes are being armed or disarmed, from one to the other. */
void kinst_move_begin(void);
void kinst_move_end(void);

/* Whether those of any session are. */
bool kinst_is_any_moving(void);

#endif /* _KINST_LOCKS_H */
