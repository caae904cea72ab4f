// SPDX-License-Identifier: GPL-2.0
/*
 * text/shots.c: writes and removes the breakpoints of probes that are removed at their first hit (text/once.c).
 */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "context.h"
#include "patch/alias.h"
#include "patch/patch.h"
#include "patch/tramp.h"
#include "text/locks.h"
#include "text/shots.h"

LIST_HEAD(kinst_onces);
static LIST_HEAD(kinst_once_limbo); /* under the mutex: disarmed, if a task may be in one of their slots */

/* How long a breakpoint that a hit cannot remove stays after it. */
#define KINST_REMOVE_DELAY (HZ / 10)

static void kinst_once_remove(struct work_struct *work);
static DECLARE_DELAYED_WORK(kinst_remover, kinst_once_remove);

void kinst_once_remove_later(void)
{
	queue_delayed_work(kinst_queue, &kinst_remover, KINST_REMOVE_DELAY);
}

/* The first of the probes at addr, or NULL. Context: any; under RCU, or with the mutex held. */
__probe_path struct kinst_shot *kinst_shot_find(struct kinst_once *once, unsigned long addr)
{
	u32 lo = 0, hi;

	if (!smp_load_acquire(&once->ready))
		return NULL;
	hi = once->n;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (once->shots[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < once->n && once->shots[lo].addr == addr ? &once->shots[lo] : NULL;
}
NOKPROBE_SYMBOL(kinst_shot_find);

/* ---- the second mapping, or slots ---- */

static bool kinst_on_next_page(const struct kinst_once *once, u32 i)
{
	return !i || (once->shots[i].addr ^ once->shots[i - 1].addr) & PAGE_MASK;
}

int kinst_once_map(struct kinst_once *once)
{
	unsigned long *pages;
	u32 i, n = 0;

	if (!once->n || !KINST_HIT_STORES)
		return 0;
	pages = kvmalloc_array(once->n, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < once->n; i++)
		if (kinst_on_next_page(once, i))
			pages[n++] = once->shots[i].addr & PAGE_MASK;
	once->alias = kinst_alias_new(pages, n);
	kvfree(pages);
	if (!once->alias)
		return -ENOMEM;
	for (i = 0; i < once->n; i++)
		once->shots[i].alias = (kinst_opcode_t *)kinst_alias_of(once->alias, once->shots[i].addr);
	return 0;
}

void kinst_shot_unplace(const struct kinst_shot *shot)
{
	if (!KINST_HIT_STORES)
		kinst_slot_put(shot->slot);
}

/* ---- the text ---- */

void kinst_shot_write(const struct kinst_shot *shot, kinst_opcode_t opcode)
{
	if (KINST_HIT_STORES)
		kinst_arch_store(shot->alias, opcode);
	else
		kinst_patch_opcode(shot->addr, opcode);
}

void kinst_shot_restore(const struct kinst_shot *shot)
{
	kinst_opcode_t now = READ_ONCE(*(kinst_opcode_t *)shot->addr);

	if (now == KINST_BREAK || (KINST_HIT_STORES && now == shot->original))
		kinst_shot_write(shot, shot->original);
}

/* ---- the removal of breakpoints that a hit cannot remove ---- */

/* Whether another probe at the place has not been hit. */
static bool kinst_once_waits(struct kinst_once *once, unsigned long addr)
{
	const struct kinst_shot *shot = kinst_shot_find(once, addr);

	for (; shot < once->shots + once->n && shot->addr == addr; shot++)
		if (READ_ONCE(shot->state) == KINST_ARMED)
			return true;
	return false;
}

static void kinst_once_remove(struct work_struct *work)
{
	struct kinst_once *once;
	struct kinst_shot *shot;

	mutex_lock(&kinst_sites_mutex);
	kinst_patch_lock();
	list_for_each_entry(once, &kinst_onces, node) {
		if (!once->ready || !xchg(&once->spent, false))
			continue;
		for (shot = once->shots; shot < once->shots + once->n; shot++) {
			u8 state = READ_ONCE(shot->state);

			if ((state == KINST_HIT || state == KINST_SPENT) && !kinst_once_waits(once, shot->addr))
				kinst_shot_restore(shot);
			cond_resched();
		}
	}
	kinst_patch_sync();
	if (!list_empty(&kinst_onces))
		kinst_once_remove_later();
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
}

bool kinst_once_free(struct kinst_once *once)
{
	if (KINST_HIT_STORES) {
		kinst_alias_free(once->alias);
		kvfree(once);
		return false;
	}
	/* A task may be in one of the slots. */
	mutex_lock(&kinst_sites_mutex);
	list_add(&once->node, &kinst_once_limbo);
	mutex_unlock(&kinst_sites_mutex);
	return true;
}

void kinst_onces_reap(struct list_head *reaped)
{
	list_splice_init(&kinst_once_limbo, reaped);
}

void kinst_onces_free(struct list_head *reaped)
{
	struct kinst_once *once, *next;
	u32 i, end;

	list_for_each_entry_safe(once, next, reaped, node) {
		for (i = 0; i < once->n;) {
			end = min(once->n, i + KINST_BATCH);
			mutex_lock(&kinst_sites_mutex);
			kinst_patch_lock();
			for (; i < end; i++)
				kinst_slot_put(once->shots[i].slot);
			kinst_patch_sync();
			kinst_patch_unlock();
			mutex_unlock(&kinst_sites_mutex);
			cond_resched();
		}
		kvfree(once);
	}
}

void kinst_once_exit(void)
{
	cancel_delayed_work_sync(&kinst_remover);
}
