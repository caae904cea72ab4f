// SPDX-License-Identifier: GPL-2.0
/* unit_data.c: variables, aggregations and rings, against simple models. */
#include "program/kernel/unaccepted.h"
#include "unit.h"

static u32 seed = 1;

static u32 rnd(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* ---- unaccepted memory ---- */

/* Units of 2 MiB from 1 GiB on; the second, and the 70th, are not accepted. */
static void test_unaccepted(void)
{
	static const unsigned long bits[2] = { 2, 1ul << 5 };
	struct kinst_unaccepted map = { .base = 1 << 30, .unit = 2 << 20, .units = 128, .bits = bits };
	u64 second = map.base + map.unit, last = map.base + 69 * map.unit;

	EXPECT(!kinst_unaccepted_has(&map, 0, 8));
	EXPECT(!kinst_unaccepted_has(&map, map.base, 8));
	EXPECT(!kinst_unaccepted_has(&map, second - 8, 8));
	EXPECT(kinst_unaccepted_has(&map, second - 7, 8));
	EXPECT(kinst_unaccepted_has(&map, second, 1));
	EXPECT(kinst_unaccepted_has(&map, second + map.unit - 1, 1));
	EXPECT(!kinst_unaccepted_has(&map, second + map.unit, 8));
	EXPECT(kinst_unaccepted_has(&map, last, 1));
	EXPECT(kinst_unaccepted_has(&map, second + map.unit, 68 * map.unit));
	EXPECT(!kinst_unaccepted_has(&map, last + map.unit, ~0ull >> 1));
	/* before the first unit and after the last one, which have no bit */
	EXPECT(kinst_unaccepted_has(&map, 0, second + 1));
	EXPECT(!kinst_unaccepted_has(&map, 0, second));
	EXPECT(!kinst_unaccepted_has(&map, map.base + map.units * map.unit, 8));
	/* an address that wraps; no table */
	EXPECT(!kinst_unaccepted_has(&map, ~0ull, 8));
	map.units = 0;
	EXPECT(!kinst_unaccepted_has(&map, second, 8));
}

/* ---- dynamic variables ---- */

#define NKEYS 64
#define VAR_INT 0x500
#define VAR_STR 0x501

static void push_key(struct kinst_ctx *c, u64 key)
{
	static char name[32];

	snprintf(name, sizeof(name), "key%llu", (long long)key);
	c->tuple[0] = (struct kinst_tuple){ .value = key };
	c->tuple[1] = (struct kinst_tuple){ .value = (u64)(uintptr_t)name, .size = strlen(name) + 1 };
	c->ntuple = 2;
}

/* Random stores, loads and frees agree with a plain array as long as nothing is dropped; memory is freed. */
static void test_dynvars(void)
{
	u64 model[NKEYS] = {}, drops, i;
	char strings[NKEYS][16] = {}, text[16];
	struct fixture f;
	struct ib b;
	bool same = true;

	ib_init(&b);
	b.h.strsize = 64;
	b.h.dynvarsize = 128 << 10;
	ib_user_var(&b, VAR_INT, SCOPE_GLOBAL, 0, T_INT(8));
	ib_user_var(&b, VAR_STR, SCOPE_THREAD, 0, T_STRING);
	ib_const(&b, 0, 8);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	for (i = 0; i < 200000; i++) {
		u32 k = rnd(NKEYS);
		u64 v = rnd(4) ? rnd(1000000) : 0, got;

		fixture_run(&f, 0);
		push_key(f.c, k);
		switch (rnd(4)) {
		case 0:
			kinst_dyn_store(f.c, SCOPE_GLOBAL, VAR_INT, true, v);
			model[k] = v;
			break;
		case 1:
			same &= kinst_dyn_load(f.c, SCOPE_GLOBAL, VAR_INT, true) == model[k];
			break;
		case 2:
			snprintf(text, sizeof(text), "v%llu", (long long)v);
			kinst_dyn_store(f.c, SCOPE_THREAD, VAR_STR, true, v ? (u64)(uintptr_t)text : 0);
			strcpy(strings[k], v ? text : "");
			break;
		case 3:
			got = kinst_dyn_load(f.c, SCOPE_THREAD, VAR_STR, true);
			same &= !strcmp(got ? (char *)(uintptr_t)got : "", strings[k]);
			if (got)
				same &= kinst_storable(f.c, got, 64) && !kinst_storable(f.c, got, 65) &&
					!kinst_storable(f.c, got - 1, 2);
			break;
		}
		if (rnd(16) == 0 && kinst_vars_collect(&f.s.vars))
			kinst_vars_release(&f.s.vars);
	}
	drops = f.s.vars.cpus[0].drops + f.s.vars.cpus[0].drops_dirty + f.s.vars.cpus[0].drops_rinsing;
	EXPECT(same && !drops && !f.c->faulted);

	/* If there are too many, drops are counted and existing elements remain. */
	for (i = 0; i < 10000; i++) {
		push_key(f.c, 1000 + i);
		kinst_dyn_store(f.c, SCOPE_GLOBAL, VAR_INT, true, 1);
	}
	drops = f.s.vars.cpus[0].drops + f.s.vars.cpus[0].drops_dirty;
	EXPECT(drops > 8900 && drops < 10000);
	for (i = 0; i < NKEYS; i++) {
		push_key(f.c, i);
		same &= kinst_dyn_load(f.c, SCOPE_GLOBAL, VAR_INT, true) == model[i];
	}
	EXPECT(same);
	/* Another thread has separate variables. */
	push_key(f.c, 1);
	mock.thread[1]++;
	EXPECT(!kinst_dyn_load(f.c, SCOPE_THREAD, VAR_STR, true));
	mock.thread[1]--;
	fixture_close(&f);
}

/* A program sets the lengths of its key's parts; the key stays in its buffer for any lengths. */
static void test_long_keys(void)
{
	struct fixture f;
	struct ib b;
	static char text[4096];
	u64 limit, size, i, kept = 0;

	memset(text, 'x', sizeof(text));
	ib_init(&b);
	b.h.dynvarsize = 1 << 20;
	ib_user_var(&b, VAR_INT, SCOPE_GLOBAL, 0, T_INT(8));
	ib_const(&b, 0, 8);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	limit = kinst_key_size(&f.s.prog);
	for (size = limit - 200; size < limit + 40; size++) {
		fixture_run(&f, 0);
		f.c->tuple[0] = (struct kinst_tuple){ .value = (u64)(uintptr_t)text, .size = size };
		for (i = 1; i < DIF_NTUPLE; i++)
			f.c->tuple[i] = (struct kinst_tuple){ .value = i };
		f.c->ntuple = DIF_NTUPLE;
		kinst_dyn_store(f.c, SCOPE_GLOBAL, VAR_INT, true, size);
		kept += kinst_dyn_load(f.c, SCOPE_GLOBAL, VAR_INT, true) == size;
	}
	EXPECT(kept > 30 && kept < 120 && f.s.vars.cpus[0].drops == 2 * (240 - kept) && !f.c->faulted);
	fixture_close(&f);
}

static void test_statics(void)
{
	struct fixture f;
	struct ib b;
	u64 v;

	ib_init(&b);
	ib_user_var(&b, 0x500, SCOPE_GLOBAL, 1, T_STRING);
	ib_user_var(&b, 0x502, SCOPE_LOCAL, 1, T_REF(10));
	ib_user_var(&b, 0x501, SCOPE_LOCAL, 1, T_INT(4));
	ib_const(&b, 0, 8);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	fixture_run(&f, 0);
	v = kinst_static_load(f.c, SCOPE_GLOBAL, 0x500);
	EXPECT(v && !*(char *)(uintptr_t)v); /* never written: "" */
	kinst_static_store(f.c, SCOPE_GLOBAL, 0x500, (u64)(uintptr_t)"text");
	EXPECT(!strcmp((char *)(uintptr_t)kinst_static_load(f.c, SCOPE_GLOBAL, 0x500), "text"));
	kinst_static_store(f.c, SCOPE_GLOBAL, 0x500, 0);
	EXPECT(!kinst_static_load(f.c, SCOPE_GLOBAL, 0x500));
	kinst_static_store(f.c, SCOPE_LOCAL, 0x501, 77);
	kinst_static_store(f.c, SCOPE_LOCAL, 0x502, (u64)(uintptr_t)"123456789");
	EXPECT(kinst_static_load(f.c, SCOPE_LOCAL, 0x501) == 77);
	v = kinst_static_load(f.c, SCOPE_LOCAL, 0x502);
	EXPECT(!memcmp((char *)(uintptr_t)v, "123456789", 10) && kinst_storable(f.c, v, 10));
	EXPECT(!kinst_storable(f.c, (u64)(uintptr_t)f.image, 1) && !kinst_storable(f.c, -8, 16));
	fixture_close(&f);
}

/* ---- aggregations ---- */

static u32 naive_quantize(s64 v)
{
	u32 i;

	if (!v)
		return 63;
	for (i = 0; i < 62; i++)
		if (v > 0 ? v < 2ll << i : v > -(2ll << i))
			break;
	return v > 0 ? 64 + i : 62 - i;
}

static u64 bucket_of(u16 kind, u64 arg, s64 v, u32 words)
{
	struct kinst_action a = { .kind = kind, .arg = arg };
	static u64 data[70000];
	u32 i, at = 0;

	memset(data, 0, words * 8);
	kinst_agg_init(&a, data);
	kinst_agg_add(&a, data, v, 1);
	for (i = kind == KINST_ACT_QUANTIZE ? 0 : 1; i < words; i++)
		if (data[i] == 1)
			at = i;
	return kind == KINST_ACT_QUANTIZE ? at : at - 1;
}

static void test_buckets(void)
{
	static const s64 v[] = { 0, 1, 2, 3, 4, 1000, 1023, 1024, -1, -2, -3, -4, INT64_MAX, INT64_MIN + 1, INT64_MIN };
	const u64 lq = 10ull << 48 | 5ull << 32 | 100; /* step 10, 5 levels from 100 */
	const u64 neg = 1ull << 48 | 3ull << 32 | (u32)-2; /* -2 .. 1 */
	const u64 ll = 10ull << 48 | 0ull << 32 | 2ull << 16 | 10; /* powers of 10 from 1 to 1000, 10 steps */
	u32 i;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		EXPECT(bucket_of(KINST_ACT_QUANTIZE, 0, v[i], 127) == naive_quantize(v[i]));
	EXPECT(bucket_of(KINST_ACT_LQUANTIZE, lq, 99, 8) == 0 && bucket_of(KINST_ACT_LQUANTIZE, lq, 100, 8) == 1);
	EXPECT(bucket_of(KINST_ACT_LQUANTIZE, lq, 109, 8) == 1 && bucket_of(KINST_ACT_LQUANTIZE, lq, 149, 8) == 5);
	EXPECT(bucket_of(KINST_ACT_LQUANTIZE, lq, 150, 8) == 6 && bucket_of(KINST_ACT_LQUANTIZE, lq, 1 << 30, 8) == 6);
	EXPECT(bucket_of(KINST_ACT_LQUANTIZE, neg, -3, 6) == 0 && bucket_of(KINST_ACT_LQUANTIZE, neg, -2, 6) == 1);
	EXPECT(bucket_of(KINST_ACT_LQUANTIZE, neg, 0, 6) == 3 && bucket_of(KINST_ACT_LQUANTIZE, neg, 1, 6) == 4);
	EXPECT(bucket_of(KINST_ACT_LLQUANTIZE, ll, 0, 40) == 0 && bucket_of(KINST_ACT_LLQUANTIZE, ll, -5, 40) == 0);
	EXPECT(bucket_of(KINST_ACT_LLQUANTIZE, ll, 1, 40) == 1 && bucket_of(KINST_ACT_LLQUANTIZE, ll, 9, 40) == 9);
	EXPECT(bucket_of(KINST_ACT_LLQUANTIZE, ll, 10, 40) == 10 && bucket_of(KINST_ACT_LLQUANTIZE, ll, 25, 40) == 11);
	EXPECT(bucket_of(KINST_ACT_LLQUANTIZE, ll, 999, 40) == 27 && bucket_of(KINST_ACT_LLQUANTIZE, ll, 1000, 40) == 28);
}

static void test_stddev(void)
{
	const struct kinst_action a = { .kind = KINST_ACT_STDDEV };
	static const s64 v[] = { INT64_MIN, INT64_MAX, -1, 3, 1ll << 40, 0xffffffff, INT64_MIN };
	unsigned __int128 squares = 0;
	u64 data[4] = {}, sum = 0;
	u32 i;

	for (i = 0; i < 7; i++) {
		kinst_agg_add(&a, data, v[i], 1);
		squares += (unsigned __int128)((__int128)v[i] * v[i]);
		sum += v[i];
	}
	EXPECT(data[0] == 7 && data[1] == sum && data[2] == (u64)squares && data[3] == (u64)(squares >> 64));
}

/* Keys find their entries; a snapshot has all entries; a full buffer drops. */
static void test_aggs(void)
{
	const struct kinst_agg_entry *e;
	struct kinst_agghalf *h;
	struct fixture f;
	struct ib b;
	u64 key[1], pos = 0, sums[50] = {}, i, n = 0;

	ib_init(&b);
	b.h.aggsize = 4096;
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 0, 8), 0);
	ib_agg(&b, KINST_ACT_SUM, 1, 1, ib_const(&b, 0, 8), 0);
	ib_clause(&b, KINST_NONE, 0);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	for (i = 0; i < 5000; i++) {
		u64 v = rnd(100);

		key[0] = rnd(50);
		sums[key[0]] += v;
		f.c->fuel = KINST_FUEL;
		kinst_agg_update(&f.c->vcpu->agg, f.c, &f.s.prog.acts[1], (u8 *)key, v, 1);
	}
	h = kinst_agg_switch(&f.s.vcpus[0]->agg);
	while ((e = kinst_agg_next(h, &pos))) {
		const u64 *w = (const u64 *)(e + 1);

		EXPECT(e->len == 24 && e->action == 1 && w[0] < 50 && w[1] == sums[w[0]]);
		n++;
	}
	EXPECT(n == 50 && !f.s.vcpus[0]->agg.drops);
	kinst_agg_clear(&f.s.vcpus[0]->agg, h);
	for (i = 0; i < 1000; i++) {
		key[0] = i;
		f.c->fuel = KINST_FUEL;
		kinst_agg_update(&f.c->vcpu->agg, f.c, &f.s.prog.acts[1], (u8 *)key, 1, 1);
	}
	EXPECT(f.s.vcpus[0]->agg.drops == 1000 - 4096 / 32);
	fixture_close(&f);
}

/* All keys collide in one list: a walk pays for each node, and faults when the fuel is used up. */
static void test_lists(void)
{
	struct kinst_aggbuf *agg;
	struct fixture f;
	struct ib b;
	u64 key[1], i;

	ib_init(&b);
	b.h.aggsize = b.h.dynvarsize = 1 << 20;
	ib_user_var(&b, VAR_INT, SCOPE_GLOBAL, 0, T_INT(8));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 0, 8), 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	fixture_run(&f, 0);
	agg = &f.s.vcpus[0]->agg;
	agg->nheads = f.s.vars.nbuckets = 1;
	for (i = 0; i < 2000; i++) {
		f.c->fuel = KINST_FUEL;
		key[0] = i;
		kinst_agg_update(&f.c->vcpu->agg, f.c, &f.s.prog.acts[1], (u8 *)key, 0, 1);
		EXPECT(f.c->fuel == KINST_FUEL - i * KINST_NODE_STEPS);
		push_key(f.c, i);
		f.c->fuel = KINST_FUEL;
		kinst_dyn_store(f.c, SCOPE_GLOBAL, VAR_INT, true, 1 + i);
		EXPECT(f.c->fuel < KINST_FUEL - i * KINST_NODE_STEPS);
	}
	EXPECT(!f.c->faulted);
	/* The oldest is the last of its aggregation's list. */
	f.c->fuel = 1999 * KINST_NODE_STEPS - 1;
	key[0] = 0;
	kinst_agg_update(&f.c->vcpu->agg, f.c, &f.s.prog.acts[1], (u8 *)key, 0, 1);
	EXPECT(f.c->faulted && f.c->fault == KINST_FLT_ILLOP);
	f.c->faulted = false;
	f.c->fuel = 1000 * KINST_NODE_STEPS;
	push_key(f.c, 1999);
	EXPECT(!kinst_dyn_load(f.c, SCOPE_GLOBAL, VAR_INT, true) && f.c->faulted);
	f.c->faulted = false;
	f.c->fuel = 1000 * KINST_NODE_STEPS;
	push_key(f.c, 1999);
	kinst_dyn_store(f.c, SCOPE_GLOBAL, VAR_INT, true, 0);
	EXPECT(f.c->faulted && f.c->fault == KINST_FLT_ILLOP);
	/* The bucket is unlocked, and nothing has changed. */
	f.c->faulted = false;
	f.c->fuel = KINST_FUEL;
	push_key(f.c, 1999);
	EXPECT(kinst_dyn_load(f.c, SCOPE_GLOBAL, VAR_INT, true) == 2000 && !f.c->faulted);
	fixture_close(&f);
}

/* An aggregation without a key has one entry in each half, once it has been updated. */
static void test_singles(void)
{
	const struct kinst_agg_entry *e;
	struct kinst_agghalf *h;
	struct kinst_hit hit;
	struct fixture f;
	struct ib b;
	u64 pos, i, n;
	u32 probe;

	ib_init(&b);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_agg(&b, KINST_ACT_SUM, 2, 0, ib_const(&b, 3, 8), 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	ib_agg(&b, KINST_ACT_COUNT, 3, 0, KINST_NONE, 0);
	ib_clause(&b, ib_const(&b, 0, 4), 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	probe = ib_probe(&b, KINST_P_INSN, "1");
	for (i = 0; i < 3; i++)
		ib_ecb(&b, probe, i);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	EXPECT(f.s.prog.clauses[2].counts && !f.s.prog.clauses[0].counts && f.s.prog.nsingles == 3);
	for (n = 1; n < 4; n++) {
		for (i = 0; i < n; i++) {
			hit = (struct kinst_hit){ .kind = KINST_P_INSN, .fuel = KINST_HIT_FUEL };
			kinst_run_probe(&f.s, f.s.vcpus[0], probe, &hit);
		}
		h = kinst_agg_switch(&f.s.vcpus[0]->agg);
		pos = 0;
		e = kinst_agg_next(h, &pos);
		EXPECT(e && e->action == 0 && e->len == 16 && *(u64 *)(e + 1) == 3 * n);
		e = kinst_agg_next(h, &pos);
		EXPECT(e && e->action == 1 && e->len == 16 && *(u64 *)(e + 1) == 3 * n);
		EXPECT(!kinst_agg_next(h, &pos));
		kinst_agg_clear(&f.s.vcpus[0]->agg, h);
	}
	fixture_close(&f);
}

/* A listener called after the fuel of a hit is used up gets a fault: hits, errors and fault records agree. */
static void test_no_fuel(void)
{
	struct kinst_hit hit = { .kind = KINST_P_INSN, .fuel = 20 };
	struct kinst_vcpu *v;
	struct fixture f;
	struct ib b;
	u32 probe, i;

	ib_init(&b);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_clause(&b, KINST_NONE, 0);
	probe = ib_probe(&b, KINST_P_INSN, "1");
	for (i = 0; i < 5; i++)
		ib_ecb(&b, probe, 0);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	v = f.s.vcpus[0];
	EXPECT(f.s.prog.clauses[0].cost == KINST_ECB_STEPS + KINST_ACTION_STEPS);
	kinst_run_probe(&f.s, v, probe, &hit);
	EXPECT(v->hits == 1 && v->ring.prod->errors == 1 && !hit.fuel);
	kinst_run_probe(&f.s, v, probe, &hit); /* another listener of the same hit */
	EXPECT(v->hits == 2 && v->ring.prod->errors == 2);
	hit.fuel = 3 * (KINST_ECB_STEPS + KINST_ACTION_STEPS);
	kinst_run_probe(&f.s, v, probe, &hit);
	EXPECT(v->hits == 3 && v->ring.prod->errors == 3 && *kinst_agg_single(&v->agg, &f.s.prog.acts[0]) == 3);
	fixture_close(&f);
}

/* ---- rings ---- */

/* Random records and a lagging consumer: the output is the input, in order, except for counted drops. */
static void test_ring(void)
{
	struct kinst_ring r;
	u64 put = 0, got = 0, drops = 0, i, reads = 0;
	bool same = true;

	EXPECT(!kinst_ring_alloc(&r, 4096, false));
	for (i = 0; i < 100000; i++) {
		u32 len = 16 + 8 * rnd(60);
		struct kinst_rec *rec = kinst_ring_reserve(&r, len), *first;
		u64 pos;

		if (rec && rnd(10)) {
			rec->timestamp = put++;
			rec->epid = len;
			same &= (u8 *)rec >= r.data && (u8 *)rec + len <= r.data + 4096;
			kinst_ring_commit(&r, rec, len);
		} else if (!rec) {
			drops++;
		}
		while (rnd(2) && kinst_ring_has_data(&r)) {
			pos = r.cons->pos;
			first = (struct kinst_rec *)(r.data + (pos & 4095));
			if (!(first->len & KINST_REC_PAD)) {
				same &= first->timestamp == got++ && first->epid == first->len;
				reads++;
			}
			r.cons->pos = pos + (first->len & KINST_REC_LEN);
		}
	}
	EXPECT(same && drops == r.prod->drops && drops && reads > 1000);
	/* A wrong consumer position does not make the kernel write beyond the ring. */
	for (i = 0; i < 1000; i++) {
		struct kinst_rec *rec;

		r.cons->pos = (u64)rnd(1 << 20) << rnd(40);
		rec = kinst_ring_reserve(&r, 496);
		same &= !rec || ((u8 *)rec >= r.data && (u8 *)rec + 496 <= r.data + 4096);
		if (rec)
			kinst_ring_commit(&r, rec, 496);
	}
	EXPECT(same);
	kinst_ring_free(&r);
}

void unit_data(void)
{
	test_unaccepted();
	test_dynvars();
	test_long_keys();
	test_statics();
	test_buckets();
	test_stddev();
	test_aggs();
	test_lists();
	test_singles();
	test_no_fuel();
	test_ring();
}
