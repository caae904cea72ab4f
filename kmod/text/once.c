// SPDX-License-Identifier: GPL-2.0
/*
 * text/once.c: probes that are removed at their first hit.
 *
 *   waiting -> armed -> hit
 *                    -> spent: a branch that has taken its other edge too often
 *           -> gone: the text has changed
 *
 * If the architecture allows it (KINST_HIT_STORES), a hit restores the original byte, in any context, and so without
 * a lock: it is written through a second mapping of the page, which exists as long as the probe may be hit. As the
 * byte is the first of an instruction, and returning from the trap serializes, no CPU runs
 * half of a change. A CPU that has already fetched the breakpoint traps, and sees that it was hit.
 *
 * Elsewhere, the text may be written only while all CPUs wait. So each probe has a slot, where hits continue until a work
 * item restores the text, for all probes that were hit since the last time.
 *
 * Other code that patches writes only to its own places, and these probes are never on one
 * (places/refuse.c). Our batches normally rewrite the bytes between two places, but not while
 * there are such probes. A place has either a site or one of these probes.
 */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "arch/ksym.h"
#include "context.h"
#include "patch/alias.h"
#include "patch/patch.h"
#include "patch/tramp.h"
#include "places/func.h"
#include "places/host.h"
#include "program/kernel/fire.h"
#include "program/session.h"
#include "text/locks.h"
#include "text/once.h"
#include "text/shots.h"

/* After so many hits on the branch's other edge, the probe is spent: otherwise each would cost a trap, without end. */
#define KINST_ONCE_MISSES 1000

/* ---- the probe path ---- */

static __probe_path bool kinst_shot_moves(struct kinst_shot *shot, u8 from, u8 to)
{
	return READ_ONCE(shot->state) == from && cmpxchg(&shot->state, from, to) == from;
}
NOKPROBE_SYMBOL(kinst_shot_moves);

/* Records the outcome of the probe, for KINST_IOC_FIRED. */
static __probe_path void kinst_shot_note(const struct kinst_once *once, const struct kinst_shot *shot, bool ran)
{
	struct kinst_turn *turn = once->session->prog.first[shot->probe];

	if (!turn)
		return;
	if (ran)
		WRITE_ONCE(turn->ran, true);
	else
		WRITE_ONCE(turn->left, true);
}
NOKPROBE_SYMBOL(kinst_shot_note);

static __probe_path void kinst_shot_fire(const struct kinst_once *once, const struct kinst_shot *shot, struct pt_regs *regs)
{
	struct kinst_session *s = once->session;
	struct kinst_guard *guard;

	/* Done even if its programs cannot run now. */
	if (READ_ONCE(s->state) == KINST_STATE_ACTIVE)
		kinst_shot_note(once, shot, true);
	guard = kinst_guard_take();
	if (unlikely(!guard)) {
		kinst_turn_away(s, KINST_P_INSN);
		return;
	}
	guard->hit.regs = regs;
	guard->hit.fuel = KINST_HIT_FUEL;
	guard->hit.kind = s->prog.probes[shot->probe].kind;
	guard->hit.linked = shot->linked;
	guard->hit.nargs = 0;
	kinst_fire_guarded(s, shot->probe, &guard->hit);
	kinst_guard_give(guard);
}
NOKPROBE_SYMBOL(kinst_shot_fire);

/* Handles the hit for one probe. True if it waits for another hit. */
static __probe_path bool kinst_shot_hit(const struct kinst_once *once, struct kinst_shot *shot, struct pt_regs *regs)
{
	bool goes = shot->when == KINST_ALWAYS || (shot->when == KINST_TAKEN) == kinst_arch_taken(shot->cond, regs);

	if (goes) {
		if (kinst_shot_moves(shot, KINST_ARMED, KINST_HIT))
			kinst_shot_fire(once, shot, regs);
		return false;
	}
	if (READ_ONCE(shot->state) != KINST_ARMED)
		return false;
	WRITE_ONCE(shot->misses, READ_ONCE(shot->misses) + 1); /* of two concurrent ones, one may be lost */
	if (READ_ONCE(shot->misses) < KINST_ONCE_MISSES)
		return true;
	if (kinst_shot_moves(shot, KINST_ARMED, KINST_SPENT))
		kinst_shot_note(once, shot, false);
	return false;
}
NOKPROBE_SYMBOL(kinst_shot_hit);

/* Lets the CPU execute the original instruction. */
static __probe_path void kinst_shot_pass(struct kinst_once *once, const struct kinst_shot *shot, struct pt_regs *regs)
{
	if (KINST_HIT_STORES) {
		kinst_arch_store(shot->alias, shot->original);
		return;
	}
	WRITE_ONCE(once->spent, true);
	instruction_pointer_set(regs, shot->slot);
}
NOKPROBE_SYMBOL(kinst_shot_pass);

static __probe_path void kinst_once_hit(struct kinst_once *once, struct kinst_shot *shot, struct pt_regs *regs)
{
	unsigned long addr = shot->addr;
	struct kinst_shot *first = shot;
	bool waits = false;

	instruction_pointer_set(regs, addr);
	for (; shot < once->shots + once->n && shot->addr == addr; shot++)
		waits |= kinst_shot_hit(once, shot, regs);
	if (!waits) {
		kinst_shot_pass(once, first, regs);
		return;
	}
	/* A branch is emulated here. */
	instruction_pointer_set(regs, addr + (kinst_arch_taken(first->cond, regs) ? first->to : first->len));
}
NOKPROBE_SYMBOL(kinst_once_hit);

bool __probe_path kinst_once_trap(struct pt_regs *regs, unsigned long addr)
{
	struct kinst_once *once;
	struct kinst_shot *shot;

	list_for_each_entry_rcu(once, &kinst_onces, node, true) {
		shot = kinst_shot_find(once, addr);
		if (!shot || READ_ONCE(shot->state) == KINST_GONE || READ_ONCE(shot->state) == KINST_WAITING)
			continue;
		kinst_once_hit(once, shot, regs);
		return true;
	}
	return false;
}
NOKPROBE_SYMBOL(kinst_once_trap);

/* ---- staging ---- */

const kinst_opcode_t *kinst_once_original(unsigned long addr)
{
	struct kinst_once *once;
	struct kinst_shot *shot;

	list_for_each_entry(once, &kinst_onces, node) {
		shot = kinst_shot_find(once, addr);
		if (shot && shot->state != KINST_GONE)
			return &shot->original;
	}
	return NULL;
}

/* Whether a site is at the address, or one before it has, or will have, a jump that covers the address. */
static bool kinst_is_of_site(unsigned long addr)
{
	struct kinst_site *site = kinst_site_find(addr);
	int i;

	for (i = 1; !site && i < KINST_JUMP_LEN; i++) {
		site = kinst_site_find(addr - i);
		if (site && !site->jump)
			site = NULL;
	}
	return site;
}

static bool kinst_is_free(unsigned long addr)
{
	return !kinst_is_of_site(addr) && !kinst_once_original(addr);
}

struct kinst_once *kinst_once_new(struct kinst_session *s, u32 n)
{
	struct kinst_once *once = kvzalloc(struct_size(once, shots, n), GFP_KERNEL_ACCOUNT);

	if (!once)
		return NULL;
	once->session = s;
	once->room = n;
	mutex_lock(&kinst_sites_mutex);
	list_add_tail_rcu(&once->node, &kinst_onces);
	mutex_unlock(&kinst_sites_mutex);
	return once;
}

enum kinst_reason kinst_once_stage(struct kinst_once *once, const struct kinst_func *f, u32 probe,
				   const struct kinst_arch_insn *insn, enum kinst_when when)
{
	struct kinst_shot *shot = &once->shots[once->n];
	enum kinst_reason reason;

	/* Other branches also change registers. */
	if (when != KINST_ALWAYS && !kinst_arch_only_branches(insn))
		return KINST_R_UNSUPPORTED;
	if (once->n == once->room)
		return KINST_R_LIMIT;
	if (!kinst_is_free(insn->addr))
		return KINST_R_BUSY;
	reason = KINST_HIT_STORES ? KINST_OK : kinst_slot_get(insn, &shot->slot);
	if (reason)
		return reason;
	shot->host = kinst_host_get(f);
	if (!shot->host) {
		kinst_shot_unplace(shot);
		return KINST_R_LIMIT;
	}
	shot->addr = insn->addr;
	shot->probe = probe;
	shot->when = when;
	shot->len = insn->len;
	shot->linked = kinst_func_is_linked(f, insn->addr);
	memcpy(&shot->original, insn->bytes, sizeof(shot->original));
	if (kinst_arch_only_branches(insn)) {
		shot->cond = insn->cond;
		shot->to = insn->target - insn->addr;
	}
	once->n++;
	return KINST_OK;
}

/* ---- arming, and its mirror ---- */

/* With the patch lock held. */
static void kinst_shot_drop(struct kinst_once *once, struct kinst_shot *shot)
{
	if (READ_ONCE(shot->state) <= KINST_ARMED)
		kinst_shot_note(once, shot, false);
	WRITE_ONCE(shot->state, KINST_GONE);
	kinst_host_put(shot->host);
	shot->host = NULL;
}

static bool kinst_is_as_staged(const struct kinst_shot *shot)
{
	return READ_ONCE(*(kinst_opcode_t *)shot->addr) == shot->original;
}

static int kinst_by_addr(const void *a, const void *b)
{
	const struct kinst_shot *x = a, *y = b;

	return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1) : x->probe < y->probe ? -1 : 1;
}

static void kinst_once_sort(struct kinst_once *once)
{
	u32 i;

	for (i = 1; i < once->n && kinst_by_addr(&once->shots[i - 1], &once->shots[i]) < 0; i++)
		;
	if (i < once->n)
		sort(once->shots, once->n, sizeof(*once->shots), kinst_by_addr, NULL);
}

/* If the second mapping cannot be allocated, none of the probes is armed. */
static void kinst_once_refuse(struct kinst_once *once, struct kinst_result *res)
{
	struct kinst_shot *shot;

	for (shot = once->shots; shot < once->shots + once->n; shot++) {
		res[shot->probe].reason = KINST_R_LIMIT;
		kinst_shot_unplace(shot);
		kinst_host_put(shot->host);
	}
	once->n = 0;
}

void kinst_once_ready(struct kinst_once *once, struct kinst_result *res)
{
	struct kinst_shot *shot;
	u32 n = 0;

	kinst_patch_lock();
	for (shot = once->shots; shot < once->shots + once->n; shot++) {
		if (shot->state != KINST_GONE && kinst_is_free(shot->addr) && kinst_is_as_staged(shot)) {
			once->shots[n++] = *shot;
			continue;
		}
		res[shot->probe].reason = shot->state == KINST_GONE ? KINST_R_GONE : KINST_R_BUSY;
		kinst_shot_unplace(shot);
		kinst_host_put(shot->host);
	}
	once->n = n;
	kinst_once_sort(once);
	if (kinst_once_map(once))
		kinst_once_refuse(once, res);
	/* Every CPU sees the slots before the first breakpoint leads there. */
	if (!KINST_HIT_STORES)
		kinst_patch_sync();
	smp_store_release(&once->ready, true);
	if (KINST_HIT_STORES)
		kinst_patch_singly(true);
	else
		kinst_once_remove_later();
	kinst_patch_unlock();
}

/* Writes the breakpoints of armed probes, or restores the original bytes; under the patch lock. */
static void kinst_once_write(struct kinst_once *once, bool breakpoints)
{
	struct kinst_shot *shot;

	for (shot = once->shots; shot < once->shots + once->n; shot++) {
		u8 state = READ_ONCE(shot->state);

		if (breakpoints && state == KINST_ARMED)
			kinst_shot_write(shot, KINST_BREAK);
		if (!breakpoints && state != KINST_GONE && state != KINST_WAITING)
			kinst_shot_restore(shot);
		cond_resched();
	}
	kinst_patch_sync();
}

void kinst_once_arm(struct kinst_once *once)
{
	struct kinst_shot *shot;

	if (!once->ready)
		return;
	kinst_patch_lock();
	for (shot = once->shots; shot < once->shots + once->n; shot++) {
		if (shot->state == KINST_GONE)
			continue;
		if (kinst_is_as_staged(shot))
			WRITE_ONCE(shot->state, KINST_ARMED);
		else
			kinst_shot_drop(once, shot);
	}
	kinst_once_write(once, true);
	if (KINST_HIT_STORES && kinst_arch_stores_again())
		kinst_once_write(once, true);
	kinst_patch_unlock();
}

void kinst_once_disarm(struct kinst_once *once)
{
	struct kinst_shot *shot;
	bool armed = false;

	kinst_patch_lock();
	for (shot = once->shots; shot < once->shots + once->n; shot++) {
		armed |= shot->state == KINST_ARMED || shot->state == KINST_HIT || shot->state == KINST_SPENT;
		if (kinst_shot_moves(shot, KINST_ARMED, KINST_SPENT) &&
		    READ_ONCE(*(kinst_opcode_t *)shot->addr) != KINST_BREAK && !kinst_is_as_staged(shot)) {
			pr_warn("kinst: the breakpoint at %pS was overwritten: not restoring the original\n",
				(void *)shot->addr);
			kinst_shot_drop(once, shot);
		}
	}
	if (armed) {
		kinst_once_write(once, false);
		if (KINST_HIT_STORES && kinst_arch_stores_again())
			kinst_once_write(once, false);
	}
	for (shot = once->shots; shot < once->shots + once->n; shot++)
		if (shot->state != KINST_GONE)
			kinst_host_put(shot->host);
	if (once->ready && KINST_HIT_STORES)
		kinst_patch_singly(false);
	list_del_rcu(&once->node);
	kinst_patch_unlock();
}

/* Staged probes too, which are not sorted. */
static void kinst_once_leave(struct kinst_once *once, const struct module *mod)
{
	struct kinst_shot *shot;

	for (shot = once->shots; shot < once->shots + once->n; shot++) {
		u8 state = READ_ONCE(shot->state);

		if (state == KINST_GONE || !within_module(shot->addr, mod))
			continue;
		if (state != KINST_WAITING)
			kinst_shot_restore(shot);
		if (state == KINST_ARMED && kinst_shot_moves(shot, KINST_ARMED, KINST_SPENT))
			kinst_shot_note(once, shot, false);
	}
	/* No hit is under way after this. */
	kinst_patch_sync();
	for (shot = once->shots; shot < once->shots + once->n; shot++)
		if (shot->state != KINST_GONE && within_module(shot->addr, mod))
			kinst_shot_drop(once, shot);
	kinst_alias_leave(once->alias, mod);
}

void kinst_once_module_goes(const struct module *mod)
{
	struct kinst_once *once;

	if (list_empty(&kinst_onces))
		return;
	kinst_patch_lock();
	list_for_each_entry(once, &kinst_onces, node)
		kinst_once_leave(once, mod);
	kinst_patch_unlock();
}
