// SPDX-License-Identifier: GPL-2.0
/*
 * program/image.c: the parser of a program image: it trusts nothing in it, and determines
 * the offset of every record and variable.
 *
 * User space mirrors the checks, including their order: header, tables,
 * strings, options, variables, DIFOs (each as a whole, in order), clauses with their
 * actions, probes, ECBs.
 *
 * Context: process, before anything is armed.
 */
#include "program/action.h"
#include "program/image.h"

struct table_desc {
	const struct kinst_table *t;
	u32 entsize;
	const void **view;
};

static int check_tables(struct kinst_prog *p, size_t len, struct kinst_error *err)
{
	const struct kinst_image *h = p->hdr;
	const struct table_desc tables[] = {
		{ &h->strtab, 1, (const void **)&p->strtab },
		{ &h->insns, sizeof(u32), (const void **)&p->insns },
		{ &h->ints, sizeof(u64), (const void **)&p->ints },
		{ &h->vars, sizeof(struct kinst_var), (const void **)&p->vars },
		{ &h->difos, sizeof(struct kinst_difo), (const void **)&p->difo_table },
		{ &h->actions, sizeof(struct kinst_action), (const void **)&p->action_table },
		{ &h->clauses, sizeof(struct kinst_clause), (const void **)&p->clause_table },
		{ &h->probes, sizeof(struct kinst_probe), (const void **)&p->probes },
		{ &h->ecbs, sizeof(struct kinst_ecb), (const void **)&p->ecbs },
	};
	u32 i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct kinst_table *t = tables[i].t;

		*tables[i].view = p->image;
		if (!t->count)
			continue; /* off has no meaning */
		if (t->off % 8 || t->off < sizeof(*h) || t->off > len)
			return kinst_refuse(err, KINST_V_TABLE, KINST_NONE, i);
		if ((u64)t->count * tables[i].entsize > len - t->off)
			return kinst_refuse(err, KINST_V_TABLE, KINST_NONE, i);
		if (i && t->count > KINST_MAX_TABLE)
			return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, i);
		*tables[i].view = p->image + t->off;
	}
	return 0;
}

static int check_options(struct kinst_prog *p, struct kinst_error *err)
{
	const struct kinst_image *h = p->hdr;

	if (h->strsize < KINST_MIN_STRSIZE || h->strsize > KINST_MAX_STRSIZE)
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 5);
	if (h->bufsize < KINST_MIN_BUFSIZE || h->bufsize > KINST_MAX_SIZE)
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 0);
	if (h->aggsize > KINST_MAX_SIZE || (h->aggsize && h->aggsize < KINST_MIN_AGGSIZE))
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 1);
	if (h->dynvarsize > KINST_MAX_SIZE || (h->dynvarsize && h->dynvarsize < KINST_MIN_DYNVARSIZE))
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 2);
	if (h->specsize > KINST_MAX_SIZE)
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 3);
	if (h->nspec > KINST_MAX_NSPEC)
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 4);
	if (h->clean_us > KINST_MAX_CLEAN_US)
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 6);
	p->strsize = h->strsize;
	p->bufsize = roundup_pow_of_two(h->bufsize);
	return 0;
}

/* ---- variables ---- */

static bool bad_var_type(const struct kinst_dtype *t)
{
	if (t->reserved || t->kind > 1 || t->flags & ~KINST_T_BYREF)
		return true;
	if (t->flags & KINST_T_BYREF)
		return t->kind ? t->size > KINST_MAX_STRSIZE : !t->size || t->size > KINST_MAX_VALUE;
	return t->kind || (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8);
}

static int check_var(struct kinst_prog *p, u32 i, struct kinst_error *err)
{
	const struct kinst_var *v = &p->vars[i];
	struct kinst_slot *slot;
	u64 end;

	if (v->name >= p->hdr->strtab.count || v->id < VAR_USER || v->id > 0xffff || v->kind > 1 ||
	    v->scope >= KINST_NSCOPES || v->flags & ~3 || (!v->kind && v->scope == SCOPE_LOCAL))
		return kinst_refuse(err, KINST_V_VARIABLE, KINST_NONE, i);
	if (bad_var_type(&v->type))
		return kinst_refuse(err, KINST_V_TYPE, KINST_NONE, i);
	slot = &p->slots[v->scope][v->id - VAR_USER];
	if (slot->there)
		return kinst_refuse(err, KINST_V_VARIABLE, KINST_NONE, i);
	slot->there = true;
	slot->array = !v->kind;
	slot->byref = v->type.flags & KINST_T_BYREF;
	slot->string = v->type.kind;
	slot->size = slot->byref ? kinst_type_size(p, &v->type) : 0;
	if (slot->array || v->scope == SCOPE_THREAD)
		return 0; /* in dynamic memory */
	slot->off = p->block[v->scope];
	end = (u64)slot->off + sizeof(u64) + roundup(slot->size, 8);
	if (end > KINST_MAX_STATIC)
		return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, i);
	p->block[v->scope] = end;
	return 0;
}

static int check_vars(struct kinst_prog *p, struct kinst_error *err)
{
	u32 i, n = p->hdr->vars.count;
	int ret;

	for (i = 0; i < n; i++) {
		const struct kinst_var *v = &p->vars[i];

		if (v->scope < KINST_NSCOPES && v->id >= VAR_USER && v->id <= 0xffff)
			p->nslots[v->scope] = max(p->nslots[v->scope], v->id - VAR_USER + 1);
	}
	for (i = 0; i < KINST_NSCOPES; i++) {
		p->slots[i] = kvcalloc(p->nslots[i] + 1, sizeof(struct kinst_slot), GFP_KERNEL);
		if (!p->slots[i])
			return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		ret = check_var(p, i, err);
		if (ret)
			return ret;
	}
	return 0;
}

/* ---- actions ---- */

static bool by_value(const struct kinst_dtype *t)
{
	return !(t->flags & (KINST_T_BYREF | KINST_T_BYUREF)) && t->size;
}

/* lquantize: step, levels and base in one word, from the top. */
static u64 lquantize_words(u64 arg)
{
	u64 step = arg >> 48, levels = (arg >> 32) & 0xffff;

	return step && levels ? 1 + levels + 2 : 0;
}

/* llquantize: factor, low, high and nsteps; 0 if they are inconsistent. */
static u64 llquantize_words(u64 arg)
{
	u64 factor = arg >> 48, low = (arg >> 32) & 0xffff, high = (arg >> 16) & 0xffff, nsteps = arg & 0xffff;
	u64 power = 1, words = 1 + 2, i;

	if (factor < 2 || low > high || nsteps < factor || high >= 64)
		return 0;
	for (i = 0; i <= high; i++) {
		if (power > U64_MAX / factor)
			return 0;
		power *= factor;
		if (i >= low) {
			u64 n = min(nsteps, power);

			if (power % n || n % factor)
				return 0; /* the buckets of a magnitude would differ in size */
			words += n - n / factor;
		}
	}
	return words;
}

/* Bytes of an aggregating action's value; 0: its argument is invalid. */
static u64 agg_size(const struct kinst_action *a)
{
	switch (a->kind) {
	case KINST_ACT_LQUANTIZE:
		return 8 * lquantize_words(a->arg);
	case KINST_ACT_LLQUANTIZE:
		return 8 * llquantize_words(a->arg);
	case KINST_ACT_QUANTIZE:
		return a->arg ? 0 : 8 * 127;
	case KINST_ACT_STDDEV:
		return a->arg ? 0 : 8 * 4;
	case KINST_ACT_AVG:
		return a->arg ? 0 : 8 * 2;
	case KINST_ACT_COUNT:
	case KINST_ACT_SUM:
	case KINST_ACT_MIN:
	case KINST_ACT_MAX:
		return a->arg ? 0 : 8;
	}
	return 0;
}

static int check_difo_of(const struct kinst_prog *p, const struct kinst_action_kind *kind, const struct kinst_action *a,
			 u32 i, struct kinst_error *err)
{
	u32 n = p->hdr->difos.count;
	bool quantize = a->kind >= KINST_ACT_QUANTIZE && a->kind <= KINST_ACT_LLQUANTIZE;

	if (kinst_is_destructive(a->kind) && !(p->hdr->flags & KINST_IMAGE_DESTRUCTIVE))
		return kinst_refuse(err, KINST_V_DESTRUCTIVE, KINST_NONE, i);
	if (a->difo == KINST_NONE ? kind->takes != TAKES_NONE && kind->takes != TAKES_MAYBE : kind->takes == TAKES_NONE)
		return kinst_refuse(err, KINST_V_ACTION, KINST_NONE, i);
	if (a->difo != KINST_NONE && a->difo >= n)
		return kinst_refuse(err, KINST_V_INDEX, KINST_NONE, i);
	if (a->difo != KINST_NONE && (kind->takes == TAKES_VALUE || kind->takes == TAKES_MAYBE) &&
	    !by_value(&p->difos[a->difo].rtype))
		return kinst_refuse(err, KINST_V_ACTION, a->difo, i);
	if (a->incr != KINST_NONE) {
		if (!quantize)
			return kinst_refuse(err, KINST_V_ACTION, KINST_NONE, i);
		if (a->incr >= n)
			return kinst_refuse(err, KINST_V_INDEX, KINST_NONE, i);
		if (!by_value(&p->difos[a->incr].rtype))
			return kinst_refuse(err, KINST_V_ACTION, a->incr, i);
	}
	return 0;
}

static bool can_be_key(const struct kinst_act *t)
{
	const struct kinst_action_kind *kind = kinst_action_kind(t->a.kind);

	return kind && kind->key;
}

/* Puts a record at the next aligned offset; false if that exceeds the limit. */
static bool place(struct kinst_act *t, u64 *end)
{
	if (!t->size)
		return true;
	*end = roundup(*end, kinst_rec_align(t->size));
	t->off = *end;
	*end += t->size;
	return *end <= KINST_MAX_PAYLOAD;
}

/* Whether two actions on one aggregation have the same kind of entries. */
static bool same_entries(const struct kinst_prog *p, const struct kinst_act *x, u32 xi, const struct kinst_act *y,
			 u32 yi)
{
	u32 k, n = xi - x->first;

	if (x->a.kind != y->a.kind || x->a.arg != y->a.arg || n != yi - y->first || x->keylen != y->keylen)
		return false;
	for (k = 0; k < n; k++) {
		const struct kinst_act *u = &p->acts[x->first + k], *v = &p->acts[y->first + k];

		if (u->a.kind != v->a.kind || u->size != v->size)
			return false;
	}
	return true;
}

/* Checks the aggregating action i of clause c, after all actions before it. */
static int check_agg(struct kinst_prog *p, const struct kinst_clause *c, u32 i, u32 *owners, struct kinst_error *err)
{
	struct kinst_act *act = &p->acts[i];
	const struct kinst_action *a = &act->a;
	u64 end = 0, len;
	u32 k;

	if (!a->agg)
		return kinst_refuse(err, KINST_V_ACTION, KINST_NONE, i);
	if (a->agg > KINST_MAX_AGG)
		return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, i);
	if (a->ntuple > i - c->action)
		return kinst_refuse(err, KINST_V_TUPLE, KINST_NONE, i);
	act->first = i - a->ntuple;
	for (k = act->first; k < i; k++) {
		struct kinst_act *t = &p->acts[k];

		if (!can_be_key(t) || !t->size)
			return kinst_refuse(err, KINST_V_TUPLE, KINST_NONE, i);
		t->role = KINST_ROLE_KEY;
		t->owner = i;
		if (!place(t, &end))
			return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, i);
	}
	len = agg_size(a);
	if (!len)
		return kinst_refuse(err, KINST_V_ACTION, KINST_NONE, i);
	act->role = KINST_ROLE_AGG;
	act->keylen = end;
	act->vallen = len;
	len += sizeof(struct kinst_agg_entry) + roundup(end, 8);
	if (len > KINST_MAX_PAYLOAD)
		return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, i);
	p->max_entry = max_t(u64, p->max_entry, len);

	if (owners[a->agg] == KINST_NONE) {
		owners[a->agg] = i;
		if (!a->ntuple)
			act->single = ++p->nsingles;
	}
	act->owner = owners[a->agg];
	act->single = p->acts[act->owner].single;
	if (act->single && a->kind == KINST_ACT_COUNT)
		act->role = KINST_ROLE_COUNT;
	if (!same_entries(p, act, i, &p->acts[act->owner], act->owner))
		return kinst_refuse(err, KINST_V_TUPLE, KINST_NONE, i);
	return 0;
}

static int check_action(struct kinst_prog *p, const struct kinst_clause *c, u32 i, u32 *owners,
			struct kinst_error *err)
{
	struct kinst_act *act = &p->acts[i];
	const struct kinst_action_kind *kind;
	u32 value;
	s64 size;
	int ret;

	act->a = p->action_table[i];
	kind = kinst_action_kind(act->a.kind);
	if (!kind)
		return kinst_refuse(err, KINST_V_ACTION, KINST_NONE, i);
	ret = check_difo_of(p, kind, &act->a, i, err);
	if (ret)
		return ret;
	if (kinst_is_agg(act->a.kind))
		return check_agg(p, c, i, owners, err);
	if (act->a.ntuple || act->a.agg)
		return kinst_refuse(err, KINST_V_RESERVED, KINST_NONE, i);
	value = act->a.difo == KINST_NONE ? 0 : kinst_type_size(p, &p->difos[act->a.difo].rtype);
	size = kinst_record_size(kind, &act->a, value);
	if (size < 0)
		return kinst_refuse(err, KINST_V_ACTION, KINST_NONE, i);
	if (size > KINST_MAX_PAYLOAD)
		return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, i);
	act->size = size;
	return 0;
}

/* Steps of a copy of the user's stack, page by page; the first and the last page are partial. */
static u64 copy_cost(u32 bytes)
{
	return bytes ? bytes / 8 + (bytes / PAGE_SIZE + 2) * KINST_LOAD_STEPS : 0;
}

/* Steps of an action that do not depend on its values; its DIFOs pay for their work as they run. */
static u64 cost_of(const struct kinst_act *act)
{
	u64 cost = KINST_ACTION_STEPS + act->size / 8; /* cleared, or written */

	if (act->a.kind == KINST_ACT_STACK)
		cost += act->size / 8 * KINST_FRAME_STEPS;
	if (act->a.kind == KINST_ACT_USTACK)
		cost += (1 + (u64)kinst_ustack_frames(&act->a)) * KINST_FRAME_STEPS + copy_cost(kinst_ustack_copied(&act->a));
	/* The key is hashed, compared and copied, the value of a new entry cleared. */
	if (kinst_is_agg(act->a.kind))
		cost += act->keylen / 4 + act->vallen / 64;
	return cost;
}

/*
 * An action belongs to one clause, or its offsets would
 * depend on which clause came last. Clauses therefore take their actions in
 * order, without gaps or overlaps.
 */
static int check_clause(struct kinst_prog *p, u32 ci, u32 *next, u32 *owners, struct kinst_error *err)
{
	const struct kinst_clause *c = &p->clause_table[ci];
	struct kinst_cl *cl = &p->clauses[ci];
	u64 end = 0, cost = KINST_ECB_STEPS;
	u32 i;
	int ret;

	if (c->flags & ~KINST_CLAUSE_RECORD)
		return kinst_refuse(err, KINST_V_RESERVED, KINST_NONE, ci);
	if (c->predicate != KINST_NONE && c->predicate >= p->hdr->difos.count)
		return kinst_refuse(err, KINST_V_INDEX, KINST_NONE, ci);
	if (c->predicate != KINST_NONE && !by_value(&p->difos[c->predicate].rtype))
		return kinst_refuse(err, KINST_V_TYPE, c->predicate, ci);
	if (c->nactions > KINST_MAX_ACTIONS)
		return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, ci);
	if (c->nactions && (c->action != *next || c->nactions > p->hdr->actions.count - c->action))
		return kinst_refuse(err, KINST_V_INDEX, KINST_NONE, ci);

	*cl = (struct kinst_cl){ .predicate = c->predicate, .counts = c->nactions };
	if (c->predicate != KINST_NONE && kinst_is_test(&p->difos[c->predicate])) {
		cl->test = &p->difos[c->predicate];
		cl->predicate = KINST_NONE;
		cost += cl->test->ninsns;
	}
	if (c->nactions) {
		cl->acts = &p->acts[c->action];
		cl->end = cl->acts + c->nactions;
	}
	for (i = c->action; i < c->action + c->nactions; i++) {
		ret = check_action(p, c, i, owners, err);
		if (ret)
			return ret;
	}
	for (i = c->action; i < c->action + c->nactions; i++) {
		struct kinst_act *act = &p->acts[i];

		if (act->a.kind == KINST_ACT_SPECULATE || act->a.kind == KINST_ACT_COMMIT)
			cl->staged = true;
		cl->speculates |= act->a.kind == KINST_ACT_SPECULATE;
		cl->counts &= act->role == KINST_ROLE_COUNT;
		cost += cost_of(act);
		if (act->role != KINST_ROLE_RECORD)
			continue;
		if (!place(act, &end))
			return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, ci);
	}
	cl->payload = roundup(end, 8);
	cl->cost = min_t(u64, cost, U32_MAX); /* exceeds the fuel of a hit */
	cl->counts &= cl->predicate == KINST_NONE && !(c->flags & KINST_CLAUSE_RECORD);
	cl->record = end || c->flags & KINST_CLAUSE_RECORD;
	p->speculates |= cl->speculates;
	if (cl->staged)
		p->max_staged = max_t(u32, p->max_staged, sizeof(struct kinst_rec) + cl->payload);
	*next += c->nactions;
	/* Padding may take as much again: a larger record might never fit. */
	if (cl->record && sizeof(struct kinst_rec) + cl->payload > p->bufsize / 2)
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 0);
	return 0;
}

static int check_clauses(struct kinst_prog *p, struct kinst_error *err)
{
	u32 *owners, i, next = 0;
	int ret = 0;

	owners = kvmalloc_array(KINST_MAX_AGG + 1, sizeof(u32), GFP_KERNEL);
	if (!owners)
		return -ENOMEM;
	memset(owners, 0xff, (KINST_MAX_AGG + 1) * sizeof(u32));
	for (i = 0; i < p->hdr->clauses.count && !ret; i++) {
		ret = check_clause(p, i, &next, owners, err);
		cond_resched();
	}
	kvfree(owners);
	if (!ret && next != p->hdr->actions.count)
		return kinst_refuse(err, KINST_V_INDEX, KINST_NONE, next); /* an action of no clause */
	if (!ret && p->max_entry > p->hdr->aggsize)
		return kinst_refuse(err, KINST_V_OPTION, KINST_NONE, 1);
	return ret;
}

/* ---- probes and ECBs ---- */

/* Whether the kind is known, and func is valid for it. Places are checked further when they are armed. */
static bool valid_source(const struct kinst_probe *q)
{
	if (kinst_is_timer(q->kind))
		return q->func >= KINST_MIN_INTERVAL && q->func <= KINST_MAX_INTERVAL;
	if (q->kind == KINST_P_SYSCALL_ENTRY || q->kind == KINST_P_SYSCALL_RETURN)
		return q->func < KINST_MAX_SYSCALLS;
	if (q->kind == KINST_P_EVENT)
		return q->func < KINST_E_MAX;
	return q->kind < KINST_P_KINDS;
}

static int check_probes(struct kinst_prog *p, const struct kinst_limits *lim, struct kinst_error *err)
{
	u32 i, k, n = p->hdr->probes.count, nstr = p->hdr->strtab.count;

	if (n > lim->max_probes)
		return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, n);
	p->begin = p->end = p->error = KINST_NONE;
	for (i = 0; i < n; i++) {
		const struct kinst_probe *q = &p->probes[i];
		u32 *only = q->kind == KINST_P_BEGIN ? &p->begin : q->kind == KINST_P_END ? &p->end :
			    q->kind == KINST_P_ERROR ? &p->error : NULL;

		if (!valid_source(q) || q->nbytes > sizeof(q->bytes) || q->prov >= nstr ||
		    q->mod >= nstr || q->name_func >= nstr || q->name >= nstr)
			return kinst_refuse(err, KINST_V_PROBE, KINST_NONE, i);
		for (k = 0; k < sizeof(q->reserved); k++)
			if (q->reserved[k])
				return kinst_refuse(err, KINST_V_RESERVED, KINST_NONE, i);
		if (!only)
			continue;
		if (*only != KINST_NONE)
			return kinst_refuse(err, KINST_V_PROBE, KINST_NONE, i); /* at most one of each */
		*only = i;
	}
	return 0;
}

static int alloc_parts(struct kinst_prog *p)
{
	p->difos = kvcalloc((size_t)p->hdr->difos.count + 1, sizeof(*p->difos), GFP_KERNEL);
	p->acts = kvcalloc((size_t)p->hdr->actions.count + 1, sizeof(*p->acts), GFP_KERNEL);
	p->clauses = kvcalloc((size_t)p->hdr->clauses.count + 1, sizeof(*p->clauses), GFP_KERNEL);
	return p->difos && p->acts && p->clauses ? 0 : -ENOMEM;
}

/* DIFOs may share instructions; they count each time they are verified, or the work would be unbounded. */
static int check_difos(struct kinst_prog *p, const struct kinst_limits *lim, struct kinst_error *err)
{
	u64 total = 0;
	u32 i;
	int ret;

	for (i = 0; i < p->hdr->difos.count; i++) {
		total += p->difo_table[i].ninsns;
		if (total > lim->max_insns)
			return kinst_refuse(err, KINST_V_LIMIT, i, KINST_NONE);
		ret = kinst_dif_verify(p, i, err);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

static int parse(struct kinst_prog *p, size_t len, const struct kinst_limits *lim, struct kinst_error *err)
{
	const struct kinst_image *h = p->hdr;
	int ret;

	if (len < sizeof(*h) || h->magic != KINST_IMAGE_MAGIC || h->version != KINST_ABI_VERSION ||
	    h->hdr_len != sizeof(*h) || h->len != len || len > KINST_MAX_IMAGE)
		return kinst_refuse(err, KINST_V_HEADER, KINST_NONE, KINST_NONE);
	if (h->flags & ~(KINST_IMAGE_DESTRUCTIVE | KINST_IMAGE_RING | KINST_IMAGE_NOJUMP | KINST_IMAGE_ONCE) || h->reserved)
		return kinst_refuse(err, KINST_V_RESERVED, KINST_NONE, KINST_NONE);
	ret = check_tables(p, len, err);
	if (ret)
		return ret;
	if (!h->strtab.count || p->strtab[0] || p->strtab[h->strtab.count - 1])
		return kinst_refuse(err, KINST_V_STRTAB, KINST_NONE, KINST_NONE);
	if (h->insns.count > lim->max_insns)
		return kinst_refuse(err, KINST_V_LIMIT, KINST_NONE, h->insns.count);
	ret = check_options(p, err);
	if (ret)
		return ret;
	ret = check_vars(p, err);
	if (ret)
		return ret;
	ret = alloc_parts(p);
	if (ret)
		return ret;
	ret = check_difos(p, lim, err);
	if (ret)
		return ret;
	ret = check_clauses(p, err);
	if (ret)
		return ret;
	ret = check_probes(p, lim, err);
	if (ret)
		return ret;
	return kinst_turns_sort(p, err);
}

int kinst_image_parse(struct kinst_prog *p, const void *image, size_t len, const struct kinst_limits *lim,
		      struct kinst_error *err)
{
	int ret;

	*p = (struct kinst_prog){ .image = image, .hdr = image };
	*err = (struct kinst_error){ .difo = KINST_NONE, .index = KINST_NONE };
	ret = parse(p, len, lim, err);
	if (ret)
		kinst_image_free(p);
	return ret;
}

void kinst_image_free(struct kinst_prog *p)
{
	u32 i;

	kvfree(p->turns);
	kvfree(p->first);
	kvfree(p->clauses);
	kvfree(p->acts);
	kvfree(p->difos);
	for (i = 0; i < KINST_NSCOPES; i++)
		kvfree(p->slots[i]);
	*p = (struct kinst_prog){};
}
