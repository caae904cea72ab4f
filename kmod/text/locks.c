// SPDX-License-Identifier: GPL-2.0
/*
 * text/locks.c: the locks of text/locks.h.
 */
#include <linux/atomic.h>

#include "text/locks.h"

DEFINE_MUTEX(kinst_sites_mutex);
struct semaphore kinst_turn = __SEMAPHORE_INITIALIZER(kinst_turn, 1);
struct workqueue_struct *kinst_queue;

/* Sessions whose probes are being armed or disarmed. */
static atomic_t kinst_moves = ATOMIC_INIT(0);

void kinst_move_begin(void)
{
	atomic_inc(&kinst_moves);
}

void kinst_move_end(void)
{
	atomic_dec(&kinst_moves);
}

bool kinst_is_any_moving(void)
{
	return atomic_read(&kinst_moves);
}
