// SPDX-License-Identifier: GPL-2.0
/*
 * text/jump.c: the optimizer. A jump to a detour costs a fraction of a breakpoint, so
 * a site gets one if that is safe; otherwise it silently stays a breakpoint.
 *
 *   breakpoint -> prepared: hits continue in the detour's copies of the instructions to be covered
 *              -> no task is left in the middle of it -> patched
 *   and back:  patched -> breakpoint -> its tail restored -> hits continue in the site's own slot
 *
 * The head is a breakpoint whenever the other bytes change. The criteria are those
 * of kprobes, and more (places/refs.c), as symbols do not show everything.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/list_sort.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "arch/ksym.h"
#include "context.h"
#include "params.h"
#include "patch/detour.h"
#include "patch/patch.h"
#include "patch/quiesce.h"
#include "patch/tramp.h"
#include "patch/unwind.h"
#include "places/host.h"
#include "places/read.h"
#include "places/refs.h"
#include "text/jump.h"
#include "text/locks.h"
#include "text/once.h"
#include "text/trap.h"

/*
 * The replacement, now or later, of a site's breakpoint: a jump over
 * the instruction and, if it is shorter than a jump, over the following ones.
 */
struct kinst_jump {
	struct list_head node; /* in the list of jumps being undone or waiting to be freed */
	union {
		struct list_head pending; /* prepared, not patched yet */
		struct rcu_head rcu;
	};
	struct kinst_site *site;
	struct kinst_detour detour;
	u8 len; /* of the whole instructions that it replaces */
	bool alone; /* it covers one instruction, so no task can be in the middle of it */
	bool patched;
	u8 original[KINST_JUMP_LEN];
	u8 jump[KINST_JUMP_LEN];
};

/* The jump's bytes that replace the breakpoint, and those after them, which are written first. */
#define KINST_HEAD sizeof(kinst_opcode_t)
#define KINST_TAIL (KINST_JUMP_LEN - KINST_HEAD)

static bool jump = true;
module_param(jump, bool, 0600);
MODULE_PARM_DESC(jump, "replace breakpoints by jumps where that is safe");

/* How long sites are examined while holding the locks; longer only if reading one function takes longer. */
#define KINST_JUMP_SPELL (HZ / 50 ?: 1)

/* From arming to the optimizer's run: a site that is removed by then was not worth a jump. */
#define KINST_JUMP_DELAY (HZ / 50 ?: 1)

/* Under the sites' mutex. */
static LIST_HEAD(kinst_jump_candidates); /* sites */
static LIST_HEAD(kinst_pending); /* prepared jumps */
static LIST_HEAD(kinst_undone); /* jumps that are no longer reached */

static void kinst_optimize(struct work_struct *work);
static DECLARE_DELAYED_WORK(kinst_optimizer, kinst_optimize);

static atomic_t jumps = ATOMIC_INIT(0);

static int jumps_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&jumps));
}

u32 kinst_jumps_settle(void)
{
	/* The optimizer may take minutes on a busy machine, and waits while a session arms or disarms. */
	while ((work_busy(&kinst_optimizer.work) || delayed_work_pending(&kinst_optimizer)) &&
	       !fatal_signal_pending(current))
		schedule_timeout_killable(KINST_JUMP_DELAY);
	return atomic_read(&jumps);
}

static const struct kernel_param_ops jumps_ops = { .set = kinst_refuse_to_set, .get = jumps_get };
module_param_cb(jumps, &jumps_ops, NULL, 0400);
MODULE_PARM_DESC(jumps, "current number of jumps, after the optimizer has finished");

size_t kinst_jump_original(const struct kinst_jump *jump, const u8 **bytes)
{
	*bytes = jump->original;
	return jump->patched ? sizeof(jump->original) : 0;
}

/* ---- the probe path ---- */

/* Context: a detour, through kinst_jump_entry(): any, NMI included, interrupts off. RCU may not watch. */
asmlinkage __probe_path void kinst_jump_hit(struct pt_regs *regs)
{
	unsigned int number = kinst_detour_number(instruction_pointer(regs));
	struct kinst_site *site;
	bool idle;

	if (number == KINST_DETOURS_IN_ALL)
		return;
	/* As long as a task is in a detour, its jump and its site exist. */
	site = container_of(kinst_detour_of[number], struct kinst_jump, detour)->site;
	instruction_pointer_set(regs, site->addr);
	idle = kinst_watch();
	kinst_hit(site, regs);
	kinst_unwatch(idle);
}
NOKPROBE_SYMBOL(kinst_jump_hit);

/* ---- eligibility for a jump ---- */

#define KINST_COVER_MOST (KINST_JUMP_LEN - 1 + KINST_INSN_MOST) /* bytes of the instructions that a jump covers */

/* The instructions that a jump would cover. */
struct kinst_cover {
	struct kinst_arch_insn insns[KINST_JUMP_MOST];
	unsigned int n;
	u8 len;
};

static bool kinst_falls_through(const struct kinst_arch_insn *insn)
{
	return insn->flow != KINST_FLOW_RET && insn->flow != KINST_FLOW_JUMP && insn->flow != KINST_FLOW_JUMP_INDIRECT;
}

/* After a return or a jump there may be padding, which is never reached. */
static bool kinst_cover_padding(const struct kinst_func *f, struct kinst_cover *cover, u32 end)
{
	u32 wanted = end - cover->len + KINST_JUMP_LEN;

	if (wanted > f->room || memchr_inv(f->text + end, KINST_BREAK, wanted - end))
		return false;
	cover->len = KINST_JUMP_LEN;
	return true;
}

/* Collects whole instructions from the site on, enough for a jump, all of which can run in a detour. */
static bool kinst_cover(const struct kinst_func *f, u32 offset, struct kinst_cover *cover)
{
	const struct kinst_func_insn *at, *end = f->insns + f->ninsns;
	enum kinst_reason reason;

	cover->n = cover->len = 0;
	at = kinst_func_at(f, offset, &reason, NULL);
	if (!at)
		return false;
	for (; at < end && cover->n < KINST_JUMP_MOST; at++) {
		struct kinst_arch_insn *insn = &cover->insns[cover->n];

		if (at->reason || kinst_sym_search_exception_tables(f->start + at->offset))
			return false;
		kinst_func_decode(f, at, insn);
		cover->n++;
		cover->len += at->len;
		if (cover->len >= KINST_JUMP_LEN)
			return true;
		if (!kinst_falls_through(insn))
			return kinst_cover_padding(f, cover, at->offset + at->len);
	}
	return false;
}

/*
 * Whether all references into the middle of a range are known: not in a function with
 * jumps whose targets are unknown, or that a fixup may return to.
 */
static bool kinst_is_plain(struct kinst_func *f)
{
	struct kinst_arch_insn insn;
	u32 i;

	if (f->plain)
		return f->plain > 0;
	f->plain = -1;
	for (i = 0; i < f->ninsns; i++) {
		if (kinst_sym_search_exception_tables(f->start + f->insns[i].offset))
			return false;
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.flow == KINST_FLOW_JUMP_INDIRECT)
			return false;
		if (insn.flow == KINST_FLOW_JUMP && !kinst_func_has(f, insn.target) &&
		    kinst_arch_thunk_register(insn.target) != KINST_NO_REG)
			return false;
	}
	f->plain = 1;
	return true;
}

static bool kinst_is_wanted(const struct kinst_site *site)
{
	const struct kinst_listener *listener;

	if (!jump || site->fentry || !site->armed || site->jump || site->lost || list_empty(&site->listeners))
		return false;
	list_for_each_entry(listener, &site->listeners, node)
		if (listener->nojump)
			return false;
	return true;
}

/* Whether nothing leads to the covered bytes after the first, and no probe is on them. */
static bool kinst_is_clear(struct kinst_func *f, const struct kinst_site *site, const struct kinst_cover *cover)
{
	unsigned long addr;

	/* The jump is no longer than the breakpoint. */
	if (KINST_JUMP_LEN == sizeof(kinst_opcode_t))
		return true;
	for (addr = site->addr + 1; addr < site->addr + cover->len; addr++)
		if (kinst_site_find(addr) || kinst_once_original(addr) || kinst_sym_get_kprobe((void *)addr))
			return false;
	/* A driver's static probe. No code enters a nop in its middle; an apparent reference is a coincidence. */
	if (cover->n == 1 && cover->insns[0].nop)
		return true;
	return (cover->n == 1 || kinst_is_plain(f)) &&
	       !kinst_refs_any(f, site->addr + 1, site->addr + cover->len);
}

/* ---- breakpoint to jump ---- */

static void kinst_note_copies(struct kinst_jump *j, const struct kinst_cover *cover)
{
	unsigned int i;

	j->detour.place = j->site->addr;
	j->detour.n = cover->n;
	j->detour.calls = kinst_arch_calls(&cover->insns[cover->n - 1]);
	for (i = 0; i < cover->n; i++)
		j->detour.from[i + 1] = j->detour.from[i] + cover->insns[i].len;
}

/* Makes the detour. With the mutex and the patch lock held. */
static void kinst_prepare(struct kinst_site *site, struct kinst_func *f)
{
	struct kinst_cover cover;
	struct kinst_jump *j;

	if (!f || f->reason || f->blanket || !kinst_cover(f, site->addr - f->start, &cover) ||
	    !kinst_is_clear(f, site, &cover))
		return;
	j = kzalloc(sizeof(*j), GFP_KERNEL);
	if (!j)
		return;
	j->site = site;
	j->len = cover.len;
	j->alone = cover.n == 1;
	memcpy(j->original, f->text + (site->addr - f->start), KINST_JUMP_LEN);
	kinst_note_copies(j, &cover);
	if (kinst_detour_get(cover.insns, cover.n, (unsigned long)kinst_jump_entry, &j->detour.at, j->detour.copies))
		goto free;
	if (!kinst_arch_jump(site->addr, j->detour.at, j->jump))
		goto detour;
	INIT_LIST_HEAD(&j->node);
	list_add_tail(&j->pending, &kinst_pending);
	WRITE_ONCE(kinst_detour_of[kinst_detour_number(j->detour.at)], &j->detour);
	site->jump = j;
	return;

detour:
	kinst_detour_put(j->detour.at);
free:
	kfree(j);
}

/*
 * Prepares the next few candidates. The first includes the time to read its function and the references to its
 * module. The others get as much time again, or a large function would be read once for each of its sites.
 */
static void kinst_prepare_some(void)
{
	struct kinst_func *f = NULL;
	struct kinst_site *site;
	struct kinst_jump *j;
	unsigned long begin = jiffies, end = begin + KINST_JUMP_SPELL;
	bool first = true;

	lockdep_assert_held(&kinst_sites_mutex);
	while (!list_empty(&kinst_jump_candidates) && time_before_eq(jiffies, end)) {
		site = list_first_entry(&kinst_jump_candidates, struct kinst_site, hopeful);
		list_del_init(&site->hopeful);
		if (!kinst_is_wanted(site))
			continue;
		if (!f || f->start != site->host->start) {
			kinst_func_put(f);
			f = kinst_func_get_of_site(site->host->start);
			cond_resched();
		}
		kinst_prepare(site, f);
		if (first)
			end = jiffies + max_t(unsigned long, jiffies - begin, KINST_JUMP_SPELL);
		first = false;
	}
	kinst_func_put(f);
	/* Every CPU sees the detours before the first hit continues in one. */
	kinst_patch_sync();
	list_for_each_entry(j, &kinst_pending, pending)
		WRITE_ONCE(j->site->onward, j->detour.at + KINST_DETOUR_COPIES);
}

/*
 * Whether the text that the jump overwrites is unchanged, begins with our breakpoint, and has no kprobe in it. A
 * kprobe that is registered but not enabled has not changed the text yet. With the patch lock held.
 */
static bool kinst_is_unchanged(const struct kinst_jump *j)
{
	const u8 *text = (const u8 *)j->site->addr;
	int i;

	for (i = (int)KINST_HEAD; i < KINST_JUMP_LEN; i++)
		if (kinst_sym_get_kprobe((void *)(text + i)))
			return false;
	return kinst_arch_is_break(text) && !memcmp(text + KINST_HEAD, j->original + KINST_HEAD, KINST_TAIL);
}

static void kinst_write_tail(const struct kinst_jump *j, const u8 *bytes)
{
	if (KINST_TAIL)
		kinst_patch_write(j->site->addr + KINST_HEAD, bytes + KINST_HEAD, KINST_TAIL);
}

/* Writes the jumps that are ready: all, or those that cover one instruction. With the mutex and the patch lock held. */
static void kinst_patch_jumps(bool all)
{
	struct kinst_jump *j, *next;
	kinst_opcode_t head;
	LIST_HEAD(ready);
	LIST_HEAD(changed);

	list_for_each_entry_safe(j, next, &kinst_pending, pending) {
		if (!kinst_is_unchanged(j))
			list_move_tail(&j->pending, &changed);
		else if (all || j->alone)
			list_move_tail(&j->pending, &ready);
	}
	list_for_each_entry(j, &ready, pending)
		kinst_write_tail(j, j->jump);
	kinst_patch_sync();
	list_for_each_entry(j, &ready, pending) {
		memcpy(&head, j->jump, sizeof(head));
		kinst_patch_opcode(j->site->addr, head);
	}
	kinst_patch_sync();
	list_for_each_entry_safe(j, next, &ready, pending) {
		j->patched = true;
		atomic_inc(&jumps);
		list_del_init(&j->pending);
	}
	/* Other code has changed the text: the site stays a breakpoint, and keeps its prepared jump and detour. */
	list_for_each_entry_safe(j, next, &changed, pending)
		list_del_init(&j->pending);
}

static void kinst_optimize_in(unsigned long delay)
{
	queue_delayed_work(kinst_queue, &kinst_optimizer, delay);
}

static void kinst_optimize(struct work_struct *work)
{
	unsigned long begin;
	bool more, pending;

	/* The session and the optimizer would wait for each other's locks. */
	if (kinst_is_any_moving()) {
		kinst_optimize_in(KINST_JUMP_DELAY);
		return;
	}
	if (KINST_TAIL)
		kinst_refs_build();
	do {
		begin = jiffies;
		mutex_lock(&kinst_sites_mutex);
		kinst_patch_lock();
		kinst_prepare_some();
		kinst_patch_jumps(false);
		more = !list_empty(&kinst_jump_candidates);
		pending = !list_empty(&kinst_pending);
		kinst_patch_unlock();
		kinst_refs_forget();
		mutex_unlock(&kinst_sites_mutex);
		/* Take at most half of a CPU's time: this takes long if all functions that it calls have probes. */
		schedule_timeout_idle(jiffies - begin);
	} while (more && !kinst_is_any_moving());
	if (more)
		kinst_optimize_in(KINST_JUMP_DELAY);
	if (!pending)
		return;

	/* No task enters the middle of a range that a jump covers any more; wait until the tasks there have left. */
	kinst_quiesce();

	mutex_lock(&kinst_sites_mutex);
	kinst_patch_lock();
	kinst_patch_jumps(true);
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
}

void kinst_jump_enqueue(struct kinst_site *site)
{
	if (!jump || !kinst_arch_can_jump())
		return;
	list_move_tail(&site->hopeful, &kinst_jump_candidates);
}

void kinst_jump_schedule(void)
{
	if (!list_empty(&kinst_jump_candidates))
		kinst_optimize_in(KINST_JUMP_DELAY);
}

/* ---- jump to breakpoint ---- */

/*
 * Turns the list's jumps back into breakpoints, whose hits continue in the sites' slots. A jump that other code has
 * overwritten must keep working, as it may be written back at any time: its site and detour stay permanently.
 */
static void kinst_jumps_undo(struct list_head *list)
{
	struct kinst_jump *j, *next;

	if (list_empty(list))
		return;
	list_for_each_entry_safe(j, next, list, node) {
		list_del_init(&j->pending);
		if (!j->patched)
			continue;
		if (memcmp((void *)j->site->addr, j->jump, KINST_JUMP_LEN)) {
			kinst_site_lose(j->site);
			list_del_init(&j->node);
			continue;
		}
		kinst_patch_opcode(j->site->addr, KINST_BREAK);
	}
	kinst_patch_sync();
	list_for_each_entry(j, list, node)
		if (j->patched)
			kinst_write_tail(j, j->original);
	kinst_patch_sync();
	list_for_each_entry(j, list, node) {
		WRITE_ONCE(j->site->onward, j->site->slot);
		j->site->jump = NULL;
		if (j->patched)
			atomic_dec(&jumps);
		j->patched = false;
	}
	list_splice_tail_init(list, &kinst_undone);
}

/* Moves the jumps that cover the instruction at addr to the list, except a jump that begins there. */
static void kinst_jumps_over(unsigned long addr, struct list_head *list)
{
	struct kinst_site *site;
	unsigned int back;

	for (back = 1; back < KINST_COVER_MOST; back++) {
		site = kinst_site_find(addr - back);
		if (site && site->jump && !site->lost && back < site->jump->len)
			list_move_tail(&site->jump->node, list);
	}
}

bool kinst_jumps_make_way(struct list_head *listeners, struct list_head *fresh)
{
	struct kinst_site *site;
	struct kinst_listener *listener;
	struct kinst_jump *j;
	bool any;
	LIST_HEAD(list);

	if (atomic_read(&jumps) || !list_empty(&kinst_pending)) {
		list_for_each_entry(site, fresh, batch)
			if (!site->fentry)
				kinst_jumps_over(site->addr, &list);
	}
	if (listeners) {
		list_for_each_entry(listener, listeners, mine)
			if (listener->site && listener->site->jump && !listener->site->lost)
				list_move_tail(&listener->site->jump->node, &list);
	}
	/* Sites that can still have a jump get one again soon. */
	list_for_each_entry(j, &list, node)
		kinst_jump_enqueue(j->site);
	kinst_jump_schedule();
	any = !list_empty(&list);
	kinst_jumps_undo(&list);
	return any;
}

void kinst_jumps_leave(struct list_head *dead)
{
	struct kinst_site *site;
	LIST_HEAD(list);

	list_for_each_entry(site, dead, batch) {
		list_del_init(&site->hopeful);
		if (site->jump && !site->lost)
			list_move_tail(&site->jump->node, &list);
	}
	kinst_jumps_undo(&list);
}

/* ---- freeing ---- */

void kinst_jumps_reap(struct list_head *reaped)
{
	list_splice_init(&kinst_undone, reaped);
}

static int kinst_by_detour(void *unused, const struct list_head *a, const struct list_head *b)
{
	return list_entry(a, struct kinst_jump, node)->detour.at > list_entry(b, struct kinst_jump, node)->detour.at;
}

void kinst_jumps_free(struct list_head *reaped)
{
	struct kinst_jump *j, *next;

	/* Adjacent detours are written together. */
	list_sort(NULL, reaped, kinst_by_detour);
	list_for_each_entry_safe(j, next, reaped, node) {
		WRITE_ONCE(kinst_detour_of[kinst_detour_number(j->detour.at)], NULL);
		kinst_detour_put(j->detour.at);
		kfree_rcu(j, rcu);
	}
}

void kinst_jump_init(void)
{
	kinst_unwind_init((unsigned long)kinst_jump_entry, kinst_jump_quiet);
}

void kinst_jump_exit(void)
{
	cancel_delayed_work_sync(&kinst_optimizer);
	kinst_refs_exit();
}
