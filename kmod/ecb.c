// SPDX-License-Identifier: GPL-2.0
/*
 * ecb.c: what happens when a probe fires: predicates, actions, records, faults.
 *
 * Context: probe; the CPU's guard is held, interrupts are off.
 */
#include "session.h"

/* ---- one DIFO and its value ---- */

/* Runs DIFO number i; false if it faulted. */
static notrace bool run(struct kinst_ctx *c, u32 i, u64 *value)
{
	c->fault_off = -1;
	*value = kinst_dif_run(c, &c->prog->difos[i]);
	return !c->faulted;
}
NOKPROBE_SYMBOL(run);

/* Lays a value of type t out in size bytes; at most n of them come from memory. */
static notrace void put_value(struct kinst_ctx *c, u8 *dst, const struct kinst_dtype *t, u32 size, u64 n, u64 value)
{
	bool user = t->flags & KINST_T_BYUREF;

	if (!(t->flags & (KINST_T_BYREF | KINST_T_BYUREF))) {
		memcpy(dst, &value, size); /* little-endian: the low bytes */
		return;
	}
	if (t->kind)
		n = kinst_load_str(c, (char *)dst, value, size, user);
	else
		kinst_load(c, dst, value, n, user);
	if (n < size)
		memset(dst + n, 0, size - n); /* nothing of an older record shows */
}
NOKPROBE_SYMBOL(put_value);

/* ---- exit() ---- */

static notrace void do_exit_action(struct kinst_session *s, u32 cpu, s32 status)
{
	u32 state = READ_ONCE(s->state);

	if (state == KINST_STATE_COOLDOWN) {
		WRITE_ONCE(s->exit_status, status); /* END has the last word */
		return;
	}
	if (cmpxchg(&s->exiting, 0, 1))
		return; /* the first one counts */
	WRITE_ONCE(s->exit_status, status);
	smp_wmb(); /* the status is there before the state says so */
	if (cmpxchg(&s->state, KINST_STATE_WARMUP, KINST_STATE_DRAINING) != KINST_STATE_WARMUP)
		cmpxchg(&s->state, KINST_STATE_ACTIVE, KINST_STATE_DRAINING);
	kinst_session_wake(s, cpu);
}
NOKPROBE_SYMBOL(do_exit_action);

/* ---- recording actions ---- */

/* Fills the record of action act; *dyn is the length TRACEMEM_DYN gave, if any. */
static notrace void record(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_act *act, u8 *dst, u64 *dyn)
{
	const struct kinst_dtype *t = NULL;
	u64 value = act->a.arg, *words = (u64 *)dst, ref[2];
	u32 status;

	if (act->a.difo != KINST_NONE) {
		if (!run(c, act->a.difo, &value))
			return;
		t = &c->prog->difos[act->a.difo].rtype;
	}
	switch (act->a.kind) {
	case KINST_ACT_EXIT:
		status = value;
		memcpy(dst, &status, sizeof(status));
		do_exit_action(s, c->cpu, status);
		break;
	case KINST_ACT_TRACEMEM:
		*dyn = min_t(u64, *dyn, act->size);
		if (kinst_load(c, dst, value, *dyn, t->flags & KINST_T_BYUREF))
			memset(dst + *dyn, 0, act->size - *dyn);
		*dyn = U64_MAX;
		break;
	case KINST_ACT_PRINTM:
		if (!kinst_load(c, ref, value, sizeof(ref), false))
			break;
		words[0] = min_t(u64, ref[1], act->size - 8);
		if (kinst_load(c, words + 1, ref[0], words[0], false))
			memset(dst + 8 + words[0], 0, act->size - 8 - words[0]);
		break;
	case KINST_ACT_SPECULATE:
		kinst_spec_speculate(c, value);
		break;
	case KINST_ACT_COMMIT:
		kinst_spec_commit(c, value);
		break;
	case KINST_ACT_DISCARD:
		kinst_spec_discard(c, value);
		break;
	case KINST_ACT_STOP:
	case KINST_ACT_RAISE:
	case KINST_ACT_BREAKPOINT:
	case KINST_ACT_PANIC:
	case KINST_ACT_CHILL:
		kinst_env_destroy(c, act->a.kind, value);
		break;
	case KINST_ACT_TRACEMEM_DYN:
		*dyn = value;
		fallthrough;
	case KINST_ACT_PRINTA:
	case KINST_ACT_LIBACT:
	case KINST_ACT_SYM:
	case KINST_ACT_MOD:
		words[0] = value;
		break;
	case KINST_ACT_STACK:
		kinst_env_stack(c, words, act->size / 8);
		break;
	case KINST_ACT_USTACK:
		words[0] = kinst_env_tgid();
		kinst_env_ustack(c, words + 1, act->size / 8 - 1);
		break;
	case KINST_ACT_USYM:
	case KINST_ACT_UMOD:
	case KINST_ACT_UADDR:
		words[0] = kinst_env_tgid();
		words[1] = value;
		break;
	default: /* DIFEXPR, PRINTF, SYSTEM, FREOPEN */
		if (act->size)
			put_value(c, dst, t, act->size, act->size, value);
	}
}
NOKPROBE_SYMBOL(record);

static nokprobe_inline void aggregate(struct kinst_ctx *c, u32 i)
{
	const struct kinst_act *act = &c->prog->acts[i];
	u64 value = 0, incr = 1;

	if (act->first == i)
		memset(c->vcpu->entry, 0, 8); /* no key */
	if (act->a.difo != KINST_NONE && !run(c, act->a.difo, &value))
		return;
	if (act->a.incr != KINST_NONE && !run(c, act->a.incr, &incr))
		return;
	kinst_agg_update(&c->vcpu->agg, act, c->vcpu->entry, value, incr);
}

/* Runs the actions of a clause; returns the number of the one that faulted, from 1, or 0. */
static notrace u32 run_actions(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl, u8 *payload)
{
	u64 dyn = U64_MAX;
	u32 i;

	for (i = cl->action; i < cl->action + cl->nactions; i++) {
		const struct kinst_act *act = &c->prog->acts[i];

		if (kinst_is_agg(act->a.kind)) {
			aggregate(c, i);
		} else if (act->tuple) {
			const struct kinst_act *agg = &c->prog->acts[act->owner];

			if (i == agg->first)
				memset(c->vcpu->entry, 0, roundup(agg->keylen, 8));
			record(s, c, act, c->vcpu->entry + act->off, &dyn);
		} else {
			record(s, c, act, payload + act->off, &dyn);
		}
		if (c->faulted)
			return i - cl->action + 1;
	}
	return 0;
}
NOKPROBE_SYMBOL(run_actions);

/* ---- an ECB ---- */

static notrace void publish(struct kinst_session *s, struct kinst_ctx *c, struct kinst_rec *rec, u32 len, u32 epid)
{
	rec->epid = epid;
	rec->timestamp = kinst_ctx_now(c);
	if (kinst_ring_commit(&c->vcpu->ring, rec, len))
		kinst_session_wake(s, c->cpu);
}
NOKPROBE_SYMBOL(publish);

/* The record that was staged goes to the speculation that the clause named, or to the ring if it named none. */
static notrace void unstage(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl, u32 len)
{
	struct kinst_rec *rec;

	if (!cl->record)
		return;
	if (cl->speculates) {
		kinst_spec_add(c, len);
		return;
	}
	rec = kinst_ring_reserve(&c->vcpu->ring, len);
	if (!rec)
		return;
	memcpy(rec, c->vcpu->staged, len);
	publish(s, c, rec, len, c->epid);
}
NOKPROBE_SYMBOL(unstage);

/* Runs a clause in c; returns true if it faulted, with the number of the action in *action. */
static nokprobe_inline bool run_clause(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl,
				       u32 *action)
{
	u32 len = sizeof(struct kinst_rec) + cl->payload;
	struct kinst_rec *rec = NULL;
	u64 go;

	if (cl->predicate != KINST_NONE) {
		if (!run(c, cl->predicate, &go))
			return true;
		if (!go)
			return false;
	}
	c->spec = 0;
	if (cl->staged) {
		rec = (struct kinst_rec *)c->vcpu->staged;
		memset(rec, 0, len);
	} else if (cl->record) {
		rec = kinst_ring_reserve(&c->vcpu->ring, len);
		if (!rec)
			return false; /* a drop: nothing of the clause happens */
		memset(rec + 1, 0, cl->payload); /* nothing of an older record shows in the gaps */
	}
	c->fault_off = -1;
	*action = run_actions(s, c, cl, (u8 *)(rec + 1));
	if (*action)
		return true;
	if (cl->staged)
		unstage(s, c, cl, len);
	else if (rec)
		publish(s, c, rec, len, c->epid);
	return false;
}

/* Runs ECB number e in c, as far as the hit's fuel goes; the same result. */
static notrace bool run_ecb(struct kinst_session *s, struct kinst_ctx *c, u32 e, u32 *action)
{
	const struct kinst_cl *cl = &c->prog->clauses[c->prog->ecbs[e].clause];
	u32 cost = KINST_ECB_STEPS + cl->payload / 8, start;
	bool faulted;

	c->epid = e + 1;
	c->faulted = false;
	c->fault_off = -1;
	c->scratch_next = c->scratch;
	*action = 0;
	if (c->vcpu->fuel < cost) {
		c->vcpu->fuel = 0;
		kinst_fault(c, KINST_FLT_ILLOP, 0);
		return true;
	}
	c->vcpu->fuel -= cost;
	c->fuel = start = min(c->vcpu->fuel, KINST_FUEL);
	faulted = run_clause(s, c, cl, action);
	c->vcpu->fuel -= start - c->fuel;
	return faulted;
}
NOKPROBE_SYMBOL(run_ecb);

static nokprobe_inline void start(struct kinst_ctx *c, u32 probe, struct kinst_hit *hit)
{
	c->probe = probe;
	c->hit = hit;
	c->strtok = 0; /* it lasts as long as the firing */
	c->timestamp = 0;
}

/* ---- faults ---- */

static notrace void write_fault(struct kinst_session *s, struct kinst_ctx *c, u32 action)
{
	u32 len = sizeof(struct kinst_rec) + sizeof(struct kinst_fault);
	struct kinst_rec *rec = kinst_ring_reserve(&c->vcpu->ring, len);

	kinst_ring_error(&c->vcpu->ring);
	if (!rec)
		return;
	*(struct kinst_fault *)(rec + 1) = (struct kinst_fault){
		.epid = c->epid,
		.action = action,
		.offset = c->fault_off,
		.fault = c->fault,
		.value = c->fault_value,
	};
	publish(s, c, rec, len, KINST_EPID_FAULT);
}
NOKPROBE_SYMBOL(write_fault);

/* The ECBs of ERROR, when c's has faulted. They have its scratch memory: its ECB is over. */
static notrace void fire_error(struct kinst_session *s, struct kinst_ctx *c, u32 action)
{
	const struct kinst_prog *p = &s->prog;
	struct kinst_vcpu *v = c->vcpu;
	struct kinst_ctx *e = &v->ctx[1];
	u32 i, ignored;

	if (p->error == KINST_NONE)
		return;
	v->error_hit = (struct kinst_hit){
		.regs = c->hit->regs,
		.kind = KINST_P_ERROR,
		.nargs = 6,
		.args = { 0, c->epid, action, (s64)c->fault_off, c->fault, c->fault_value },
	};
	start(e, p->error, &v->error_hit);
	for (i = p->ecb_first[p->error]; i < p->ecb_first[p->error + 1] && v->fuel; i++)
		if (run_ecb(s, e, p->ecb_order[i], &ignored))
			v->dblerrors++;
}
NOKPROBE_SYMBOL(fire_error);

/* ---- a probe ---- */

static nokprobe_inline bool may_run(u32 state, u32 kind)
{
	return state == (kind == KINST_P_BEGIN ? KINST_STATE_WARMUP :
			 kind == KINST_P_END ? KINST_STATE_COOLDOWN : KINST_STATE_ACTIVE);
}

notrace void kinst_run_probe(struct kinst_session *s, struct kinst_vcpu *v, u32 probe, struct kinst_hit *hit)
{
	const struct kinst_prog *p = &s->prog;
	struct kinst_ctx *c = &v->ctx[0];
	bool ran = false;
	u32 i, action;

	start(c, probe, hit);
	v->fuel = KINST_HIT_FUEL;
	/* Who has used all of it has been told by a fault. */
	for (i = p->ecb_first[probe]; i < p->ecb_first[probe + 1] && v->fuel; i++) {
		if (!may_run(READ_ONCE(s->state), p->probes[probe].kind))
			break; /* exit() ends what has not begun */
		ran = true;
		if (run_ecb(s, c, p->ecb_order[i], &action)) {
			write_fault(s, c, action);
			fire_error(s, c, action);
		}
	}
	v->hits += ran;
}
NOKPROBE_SYMBOL(kinst_run_probe);
