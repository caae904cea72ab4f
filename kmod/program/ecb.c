// SPDX-License-Identifier: GPL-2.0
/*
 * program/ecb.c: runs the ECBs of a probe: predicates, actions, records, faults.
 *
 * Context: probe; the CPU's guard is held, interrupts are off.
 */
#include "context.h"
#include "program/action.h"
#include "program/session.h"
#include "program/spec.h"

/* ---- one DIFO and its value ---- */

/* Runs DIFO number i; false if it faulted. */
static __at_hit bool run(struct kinst_ctx *c, u32 i, u64 *value)
{
	c->fault_off = -1;
	*value = kinst_dif_run(c, &c->prog->difos[i]);
	return !c->faulted;
}
NOKPROBE_SYMBOL(run);

/* Lays a value of type t out in size bytes; at most n of them come from memory. */
static __at_hit void put_value(struct kinst_ctx *c, u8 *dst, const struct kinst_dtype *t, u32 size, u64 n, u64 value)
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
		memset(dst + n, 0, size - n); /* leaks nothing of an older record */
}
NOKPROBE_SYMBOL(put_value);

/* ---- exit() ---- */

static __at_hit void do_exit_action(struct kinst_session *s, s32 status)
{
	u32 state = READ_ONCE(s->state);

	if (state == KINST_STATE_COOLDOWN) {
		WRITE_ONCE(s->exit_status, status); /* exit() in END overrides an earlier one */
		return;
	}
	if (cmpxchg(&s->exiting, 0, 1))
		return; /* only the first one counts */
	WRITE_ONCE(s->exit_status, status);
	smp_wmb(); /* the status is visible before the state */
	if (cmpxchg(&s->state, KINST_STATE_WARMUP, KINST_STATE_DRAINING) != KINST_STATE_WARMUP)
		cmpxchg(&s->state, KINST_STATE_ACTIVE, KINST_STATE_DRAINING);
	kinst_env_wake(s);
}
NOKPROBE_SYMBOL(do_exit_action);

/* ---- recording actions ---- */

/* Fills the record of ustack(): the process, the addresses by frame pointers, and data to unwind without these. */
static __at_hit void put_ustack(struct kinst_ctx *c, const struct kinst_action *a, u64 *words)
{
	u32 frames = kinst_ustack_frames(a), copied = kinst_ustack_copied(a);

	words[0] = kinst_env_tgid();
	kinst_env_ustack(c, words + 1, frames);
	if (copied)
		kinst_env_ustack_copy((struct kinst_ustack *)(words + 1 + frames), copied);
}
NOKPROBE_SYMBOL(put_ustack);

/* Fills the record of action act. */
static __at_hit void record(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_act *act, u8 *dst)
{
	const struct kinst_dtype *t = NULL;
	u64 value = act->a.arg, *words = (u64 *)dst, ref[2], n;
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
		do_exit_action(s, status);
		break;
	case KINST_ACT_TRACEMEM:
		n = min_t(u64, c->tracemem, act->size);
		if (kinst_load(c, dst, value, n, t->flags & KINST_T_BYUREF))
			memset(dst + n, 0, act->size - n);
		c->tracemem = U64_MAX;
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
		c->tracemem = value;
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
		put_ustack(c, &act->a, words);
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

static __at_hit void aggregate(struct kinst_ctx *c, const struct kinst_act *act)
{
	u64 value = 0, incr = 1;

	if (act->a.difo != KINST_NONE && !run(c, act->a.difo, &value))
		return;
	if (act->a.incr != KINST_NONE && !run(c, act->a.incr, &incr))
		return;
	kinst_agg_update(&c->vcpu->agg, c, act, c->vcpu->entry, value, incr);
}
NOKPROBE_SYMBOL(aggregate);

static nokprobe_inline void count(struct kinst_ctx *c, const struct kinst_act *act)
{
	u64 *data = kinst_agg_single(&c->vcpu->agg, act);

	if (likely(data))
		data[0]++;
	else
		kinst_agg_update(&c->vcpu->agg, c, act, c->vcpu->entry, 0, 0);
}

/* Runs any action other than a count() without a key. */
static __at_hit void run_action(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_act *act, u8 *payload)
{
	const struct kinst_act *agg;

	if (act->role == KINST_ROLE_AGG) {
		aggregate(c, act);
	} else if (act->role == KINST_ROLE_KEY) {
		agg = &s->prog.acts[act->owner];
		if (act == &s->prog.acts[agg->first])
			memset(c->vcpu->entry, 0, roundup(agg->keylen, 8));
		record(s, c, act, c->vcpu->entry + act->off);
	} else {
		record(s, c, act, payload + act->off);
	}
}
NOKPROBE_SYMBOL(run_action);

/* Runs the actions of a clause; false if one has faulted. */
static nokprobe_inline bool run_actions(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl,
					u8 *payload)
{
	const struct kinst_act *act;

	for (act = cl->acts; act < cl->end; act++) {
		if (likely(act->role == KINST_ROLE_COUNT)) {
			count(c, act);
			continue;
		}
		run_action(s, c, act, payload);
		if (c->faulted) {
			c->action = act - cl->acts + 1;
			return false;
		}
	}
	return true;
}

/* ---- an ECB ---- */

static __at_hit void publish(struct kinst_session *s, struct kinst_ctx *c, struct kinst_rec *rec, u32 len, u32 epid)
{
	rec->epid = epid;
	rec->timestamp = kinst_ctx_now(c);
	if (kinst_ring_commit(&c->vcpu->ring, rec, len))
		kinst_env_wake(s);
}
NOKPROBE_SYMBOL(publish);

/* Moves the staged record to the speculation that the clause named, or to the ring if it does not speculate. */
static __at_hit void unstage(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl, u32 len)
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

/* Runs the actions of a clause that leaves a record; false if one has faulted. */
static __at_hit bool run_recording(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl)
{
	u32 len = sizeof(struct kinst_rec) + cl->payload;
	struct kinst_rec *rec;

	c->spec = 0;
	c->tracemem = U64_MAX;
	if (cl->staged) {
		rec = (struct kinst_rec *)c->vcpu->staged;
		memset(rec, 0, len);
	} else {
		rec = kinst_ring_reserve(&c->vcpu->ring, len);
		if (!rec)
			return true; /* a drop: no action of the clause runs */
		memset(rec + 1, 0, cl->payload); /* the gaps leak nothing of an older record */
	}
	if (!run_actions(s, c, cl, (u8 *)(rec + 1)))
		return false;
	if (cl->staged)
		unstage(s, c, cl, len);
	else
		publish(s, c, rec, len, c->epid);
	return true;
}
NOKPROBE_SYMBOL(run_recording);

/* Runs a clause in c; false if it faulted. */
static nokprobe_inline bool run_clause(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl)
{
	u64 go;

	if (cl->predicate != KINST_NONE) {
		go = kinst_dif_run(c, &s->prog.difos[cl->predicate]);
		if (!go)
			return !c->faulted;
	}
	if (cl->record || cl->staged)
		return run_recording(s, c, cl);
	return run_actions(s, c, cl, NULL);
}

/* Runs an arbitrary ECB, with its share of the fuel. */
static __at_hit bool run_any(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_cl *cl)
{
	u32 given = min(c->hit->fuel, KINST_FUEL);
	bool done;

	c->fuel = given;
	c->scratch_next = c->scratch;
	done = run_clause(s, c, cl);
	c->hit->fuel -= given - c->fuel;
	return done;
}
NOKPROBE_SYMBOL(run_any);

/* Called before an ECB that can fault, or when an ECB faults. */
static nokprobe_inline void begin(struct kinst_ctx *c, const struct kinst_turn *turn)
{
	c->epid = turn->epid;
	c->action = 0;
	c->faulted = false;
	c->fault_off = -1;
}

static __at_hit bool lacks_fuel(struct kinst_ctx *c, const struct kinst_turn *turn)
{
	begin(c, turn);
	c->hit->fuel = 0;
	kinst_fault(c, KINST_FLT_ILLOP, 0);
	return false;
}
NOKPROBE_SYMBOL(lacks_fuel);

/* Runs an ECB in c, within the hit's fuel; false if it faulted. The common kinds take the short paths. */
static nokprobe_inline bool run_ecb(struct kinst_session *s, struct kinst_ctx *c, const struct kinst_turn *turn)
{
	const struct kinst_cl *cl = turn->clause;
	const struct kinst_act *act;

	if (unlikely(c->hit->fuel < cl->cost))
		return lacks_fuel(c, turn);
	c->hit->fuel -= cl->cost;
	if (cl->test && !kinst_dif_test(c, cl->test))
		return true;
	if (cl->counts) {
		for (act = cl->acts; act < cl->end; act++)
			count(c, act);
		return true;
	}
	begin(c, turn);
	return run_any(s, c, cl);
}

static nokprobe_inline void start(struct kinst_ctx *c, u32 probe, struct kinst_hit *hit)
{
	c->probe = probe;
	c->hit = hit;
	c->strtok = 0; /* valid for one firing */
	c->timestamp = 0;
}

/* ---- faults ---- */

static __at_hit void write_fault(struct kinst_session *s, struct kinst_ctx *c)
{
	u32 len = sizeof(struct kinst_rec) + sizeof(struct kinst_fault);
	struct kinst_rec *rec = kinst_ring_reserve(&c->vcpu->ring, len);

	kinst_ring_error(&c->vcpu->ring);
	if (!rec)
		return;
	*(struct kinst_fault *)(rec + 1) = (struct kinst_fault){
		.epid = c->epid,
		.action = c->action,
		.offset = c->fault_off,
		.fault = c->fault,
		.value = c->fault_value,
	};
	publish(s, c, rec, len, KINST_EPID_FAULT);
}
NOKPROBE_SYMBOL(write_fault);

/*
 * Runs the ECBs of ERROR after c's ECB has faulted. They use its scratch memory, as that ECB has ended. They get the
 * time of c's firing. The reader orders records by it: c's earlier records come before theirs, its later ones after.
 */
static __at_hit void fire_error(struct kinst_session *s, struct kinst_ctx *c)
{
	const struct kinst_prog *p = &s->prog;
	const struct kinst_turn *turn;
	struct kinst_vcpu *v = c->vcpu;
	struct kinst_ctx *e = &v->ctx[1];

	turn = p->error == KINST_NONE ? NULL : p->first[p->error];
	if (!turn)
		return;
	v->error_hit = (struct kinst_hit){
		.regs = c->hit->regs,
		.kind = KINST_P_ERROR,
		.fuel = c->hit->fuel,
		.nargs = 6,
		.args = { 0, c->epid, c->action, (s64)c->fault_off, c->fault, c->fault_value },
	};
	start(e, p->error, &v->error_hit);
	e->timestamp = kinst_ctx_now(c);
	for (; v->error_hit.fuel; turn++) {
		if (!run_ecb(s, e, turn))
			v->dblerrors++;
		if (turn->last || READ_ONCE(s->state) == KINST_STATE_DRAINING)
			break;
	}
	c->hit->fuel = v->error_hit.fuel;
}
NOKPROBE_SYMBOL(fire_error);

/* Reports the fault of an ECB, in a record and to ERROR. */
static __at_hit void tell_fault(struct kinst_session *s, struct kinst_ctx *c)
{
	write_fault(s, c);
	c->hit->fuel -= min(c->hit->fuel, KINST_FAULT_STEPS);
	fire_error(s, c);
}
NOKPROBE_SYMBOL(tell_fault);

/* ---- a probe ---- */

static nokprobe_inline bool may_run(u32 state, u32 kind)
{
	if (likely(state == KINST_STATE_ACTIVE))
		return kind > KINST_P_END;
	return kind <= KINST_P_END && state == (kind == KINST_P_BEGIN ? KINST_STATE_WARMUP : KINST_STATE_COOLDOWN);
}

__at_hit void kinst_run_probe(struct kinst_session *s, struct kinst_vcpu *v, u32 probe, struct kinst_hit *hit)
{
	struct kinst_turn *turn = s->prog.first[probe];
	struct kinst_ctx *c = &v->ctx[0];

	/* After exit(), no further program starts. */
	if (!turn || !may_run(READ_ONCE(s->state), hit->kind))
		return;
	v->hits++;
	if (unlikely(!READ_ONCE(turn->ran)))
		WRITE_ONCE(turn->ran, true);
	start(c, probe, hit);
	for (;; turn++) {
		/* If earlier ECBs or other sessions have used up the fuel, the first ECB without any reports that. */
		if (unlikely(!run_ecb(s, c, turn))) {
			tell_fault(s, c);
			if (!hit->fuel)
				break;
		}
		if (likely(turn->last) || !may_run(READ_ONCE(s->state), hit->kind))
			break;
	}
}
NOKPROBE_SYMBOL(kinst_run_probe);
