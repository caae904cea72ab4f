// SPDX-License-Identifier: GPL-2.0
/*
 * program/spec.c: speculations (program/spec.h describes how they work).
 */
#include "context.h"
#include "program/session.h"
#include "program/spec.h"

/* ---- memory; context: process ---- */

u64 kinst_spec_bytes(const struct kinst_prog *p)
{
	return p->speculates ? p->hdr->nspec * (p->hdr->specsize + sizeof(struct kinst_specbuf)) : 0;
}

int kinst_spec_alloc(struct kinst_vcpu *v, const struct kinst_prog *p)
{
	u32 i;

	v->nspecs = 0;
	if (!p->speculates)
		return 0;
	v->specs = kvcalloc(p->hdr->nspec + 1, sizeof(*v->specs), GFP_KERNEL_ACCOUNT);
	if (!v->specs)
		return -ENOMEM;
	for (i = 0; i < p->hdr->nspec; i++) {
		v->specs[i].mem = vzalloc(p->hdr->specsize + 8);
		if (!v->specs[i].mem)
			return -ENOMEM; /* the caller frees the rest */
		v->nspecs++;
	}
	return 0;
}

void kinst_spec_free(struct kinst_vcpu *v)
{
	while (v->nspecs)
		vfree(v->specs[--v->nspecs].mem);
	kvfree(v->specs);
	v->specs = NULL;
}

/* ---- for programs; context: probe, in the guard, interrupts off ---- */

__at_hit u64 kinst_spec_new(struct kinst_ctx *c)
{
	struct kinst_vcpu *v = c->vcpu;
	u32 *states = c->session->specs, i, state, n = c->prog->hdr->nspec;
	bool busy = false;

	for (i = 0; i < n && kinst_burn(c, 1); i++) {
		state = cmpxchg(&states[i], SPEC_INACTIVE, SPEC_ACTIVE);
		if (state == SPEC_INACTIVE)
			return i + 1;
		busy |= state >= SPEC_COMMITTING;
	}
	if (busy)
		WRITE_ONCE(v->spec_busy, v->spec_busy + 1);
	else
		WRITE_ONCE(v->spec_unavail, v->spec_unavail + 1);
	return 0;
}
NOKPROBE_SYMBOL(kinst_spec_new);

/* speculation() returns 0 when none is free: using that does nothing, and is not a fault. */
static __at_hit bool valid(struct kinst_ctx *c, u64 which)
{
	if (which > c->prog->hdr->nspec)
		kinst_fault(c, KINST_FLT_ILLOP, 0);
	return which && !c->faulted;
}
NOKPROBE_SYMBOL(valid);

__at_hit void kinst_spec_speculate(struct kinst_ctx *c, u64 which)
{
	c->spec = valid(c, which) ? which : 0;
}
NOKPROBE_SYMBOL(kinst_spec_speculate);

/* Whether a record that fits in b may be added. If so, the state then shows that this CPU has records. */
static __at_hit bool enter(u32 *state, const struct kinst_specbuf *b)
{
	u32 old = READ_ONCE(*state), was;

	for (;; old = was) {
		if (old == SPEC_ACTIVE_MANY || (old == SPEC_ACTIVE_ONE && b->used))
			return true;
		if (old != SPEC_ACTIVE && old != SPEC_ACTIVE_ONE)
			return false;
		was = cmpxchg(state, old, old + 1); /* ACTIVE, ACTIVE_ONE, ACTIVE_MANY */
		if (was == old)
			return true;
	}
}
NOKPROBE_SYMBOL(enter);

__at_hit void kinst_spec_add(struct kinst_ctx *c, u32 len)
{
	struct kinst_vcpu *v = c->vcpu;
	struct kinst_rec *rec = (struct kinst_rec *)v->staged;
	struct kinst_specbuf *b;

	if (!c->spec || c->spec > v->nspecs)
		return;
	b = &v->specs[c->spec - 1];
	if (len > c->prog->hdr->specsize - b->used) {
		WRITE_ONCE(v->spec_drops, v->spec_drops + 1);
		return;
	}
	if (!enter(&c->session->specs[c->spec - 1], b))
		return;
	rec->len = len;
	rec->epid = c->epid;
	memcpy(b->mem + b->used, rec, len);
	b->used += len;
	b->n++;
}
NOKPROBE_SYMBOL(kinst_spec_add);

static nokprobe_inline void empty(struct kinst_specbuf *b)
{
	b->used = b->moved = 0;
	b->n = 0;
}

/*
 * Moves records to the ring, within the given steps. They get the time of the commit, by which
 * they are ordered. The first that does not fit, and all after it, count as drops.
 * Returns false if some are left.
 */
static __at_hit bool move(struct kinst_session *s, struct kinst_vcpu *v, struct kinst_specbuf *b, u64 now, u32 *steps)
{
	const struct kinst_rec *from;
	struct kinst_rec *to;
	bool wake = false;
	u32 cost;

	for (; b->n; b->n--) {
		from = (struct kinst_rec *)(b->mem + b->moved);
		cost = KINST_NODE_STEPS + from->len / 8;
		if (cost > *steps) {
			*steps = 0;
			break;
		}
		*steps -= cost;
		to = kinst_ring_reserve(&v->ring, from->len);
		if (!to) {
			kinst_ring_drop(&v->ring, b->n - 1);
			b->n = 0;
			break;
		}
		memcpy(to, from, from->len);
		to->timestamp = now;
		wake |= kinst_ring_commit(&v->ring, to, from->len);
		b->moved += from->len;
	}
	if (wake)
		kinst_env_wake(s);
	if (b->n)
		return false;
	empty(b);
	return true;
}
NOKPROBE_SYMBOL(move);

/* Sets the state that ends the speculation: for this CPU if no other has records, else for all; false if not active. */
static __at_hit bool decide(u32 *state, const struct kinst_specbuf *b, u32 here, u32 everywhere, u32 *new)
{
	u32 old, was;

	for (old = READ_ONCE(*state);; old = was) {
		if (old == SPEC_ACTIVE || (old == SPEC_ACTIVE_ONE && b->used))
			*new = here;
		else if (old == SPEC_ACTIVE_ONE || old == SPEC_ACTIVE_MANY)
			*new = everywhere;
		else
			return false; /* already committed or discarded, or not allocated */
		was = cmpxchg(state, old, *new);
		if (was == old)
			return true;
	}
}
NOKPROBE_SYMBOL(decide);

__at_hit void kinst_spec_commit(struct kinst_ctx *c, u64 which)
{
	struct kinst_specbuf none = {}, *b = &none;
	u32 *state, new;

	if (!valid(c, which))
		return;
	if (which <= c->vcpu->nspecs)
		b = &c->vcpu->specs[which - 1];
	state = &c->session->specs[which - 1];
	if (!decide(state, b, SPEC_COMMITTING, SPEC_COMMITTING_MANY, &new))
		return;
	/* Records that the ECB's fuel does not cover are left to the cleaner. */
	if (!move(c->session, c->vcpu, b, kinst_ctx_now(c), &c->fuel))
		new = SPEC_COMMITTING_MANY;
	else if (new == SPEC_COMMITTING)
		new = SPEC_INACTIVE;
	smp_store_release(state, new);
}
NOKPROBE_SYMBOL(kinst_spec_commit);

__at_hit void kinst_spec_discard(struct kinst_ctx *c, u64 which)
{
	struct kinst_specbuf none = {}, *b = &none;
	u32 new;

	if (!valid(c, which))
		return;
	if (which <= c->vcpu->nspecs)
		b = &c->vcpu->specs[which - 1];
	if (decide(&c->session->specs[which - 1], b, SPEC_INACTIVE, SPEC_DISCARDING, &new))
		empty(b);
}
NOKPROBE_SYMBOL(kinst_spec_discard);

/* ---- the cleaner ---- */

bool kinst_spec_dirty(const struct kinst_session *s)
{
	u32 i;

	for (i = 0; i < s->prog.hdr->nspec; i++)
		if (READ_ONCE(s->specs[i]) >= SPEC_COMMITTING_MANY)
			return true;
	return false;
}

/* Context: process. Only the cleaner leaves these two states. */
bool kinst_spec_clean_start(struct kinst_session *s, u32 *noted)
{
	bool any = false;
	u32 i;

	for (i = 0; i < s->prog.hdr->nspec; i++) {
		noted[i] = READ_ONCE(s->specs[i]);
		any |= noted[i] >= SPEC_COMMITTING_MANY;
	}
	return any;
}

#define CLEAN_STEPS 16384u /* per interrupt: 128 KiB, but at least one record */

/* Context: an interrupt on v's CPU, in the guard; or process, and v's CPU is off. */
__at_hit bool kinst_spec_clean(struct kinst_session *s, struct kinst_vcpu *v, const u32 *noted)
{
	u32 i, steps = max(CLEAN_STEPS, s->prog.max_staged);
	u64 now = kinst_env_now();

	for (i = 0; i < v->nspecs; i++) {
		if (noted[i] == SPEC_COMMITTING_MANY && !move(s, v, &v->specs[i], now, &steps))
			return false;
		if (noted[i] == SPEC_DISCARDING)
			empty(&v->specs[i]);
	}
	return true;
}
NOKPROBE_SYMBOL(kinst_spec_clean);

void kinst_spec_clean_end(struct kinst_session *s, const u32 *noted)
{
	u32 i;

	for (i = 0; i < s->prog.hdr->nspec; i++)
		if (noted[i] >= SPEC_COMMITTING_MANY)
			smp_store_release(&s->specs[i], SPEC_INACTIVE);
}
