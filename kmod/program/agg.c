// SPDX-License-Identifier: GPL-2.0
/*
 * program/agg.c: the aggregations of one CPU, and the arithmetic of their values.
 */
#include "context.h"
#include "program/agg.h"

/* An entry in a half. The part for user space starts at e. */
struct agg_node {
	u32 next; /* as in heads */
	u32 hash;
	struct kinst_agg_entry e;
};

#define UNIT 8 /* offsets in heads and next count these */

static u32 count_heads(const struct kinst_prog *p)
{
	return clamp_t(u64, roundup_pow_of_two(p->hdr->aggsize / 256 + 1), 16, 65536);
}

u64 kinst_agg_bytes(const struct kinst_prog *p)
{
	return p->max_entry ? 2 * (p->hdr->aggsize + count_heads(p) * sizeof(u32) + p->nsingles * sizeof(u64 *)) : 0;
}

int kinst_agg_alloc(struct kinst_aggbuf *b, const struct kinst_prog *p)
{
	u32 i;

	*b = (struct kinst_aggbuf){};
	if (!p->max_entry)
		return 0; /* no aggregations */
	b->size = round_down(min_t(u64, p->hdr->aggsize, U32_MAX), UNIT); /* a snapshot's size is a u32 */
	b->nheads = count_heads(p);
	b->nsingles = p->nsingles;
	b->seed = kinst_env_seed();
	for (i = 0; i < 2; i++) {
		b->half[i].mem = vzalloc(b->size);
		b->half[i].heads = kvcalloc(b->nheads, sizeof(u32), GFP_KERNEL_ACCOUNT);
		b->half[i].singles = kvcalloc(b->nsingles + 1, sizeof(u64 *), GFP_KERNEL_ACCOUNT);
		if (!b->half[i].mem || !b->half[i].heads || !b->half[i].singles) {
			kinst_agg_free(b);
			return -ENOMEM;
		}
	}
	return 0;
}

void kinst_agg_free(struct kinst_aggbuf *b)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		kvfree(b->half[i].singles);
		kvfree(b->half[i].heads);
		vfree(b->half[i].mem);
	}
	*b = (struct kinst_aggbuf){};
}

struct kinst_agghalf *kinst_agg_switch(struct kinst_aggbuf *b)
{
	struct kinst_agghalf *old = &b->half[b->active];

	WRITE_ONCE(b->active, !b->active);
	return old;
}

const struct kinst_agg_entry *kinst_agg_next(const struct kinst_agghalf *h, u64 *pos)
{
	const struct agg_node *n = (const struct agg_node *)(h->mem + *pos);

	if (*pos >= h->used)
		return NULL;
	*pos += offsetof(struct agg_node, e) + n->e.len;
	return &n->e;
}

void kinst_agg_clear(struct kinst_aggbuf *b, struct kinst_agghalf *h)
{
	if (h->used) {
		memset(h->heads, 0, b->nheads * sizeof(u32));
		memset(h->singles, 0, b->nsingles * sizeof(u64 *));
	}
	h->used = 0;
}

/* ---- probe context ---- */

/* Keys are whole words, mostly a single one. */
static nokprobe_inline bool is_same_key(const void *a, const void *b, u32 len)
{
	const u64 *x = a, *y = b;
	u32 i;

	for (i = 0; i < len / 8; i++)
		if (x[i] != y[i])
			return false;
	return true;
}

static nokprobe_inline struct agg_node *node_at(const struct kinst_agghalf *h, u32 ref)
{
	return (struct agg_node *)(h->mem + (u64)(ref - 1) * UNIT);
}

static nokprobe_inline u64 *value_of(const struct kinst_act *act, struct agg_node *n)
{
	return (u64 *)((u8 *)(n + 1) + roundup(act->keylen, 8));
}

/* The value of a new entry, added to the head of its list, if any; NULL: a drop. */
static __at_hit u64 *new_entry(struct kinst_aggbuf *b, struct kinst_agghalf *h, u32 *head, const struct kinst_act *act,
			      const u8 *key, u32 hash)
{
	u32 keylen = roundup(act->keylen, 8);
	u64 bytes = sizeof(struct agg_node) + keylen + act->vallen;
	struct agg_node *n = (struct agg_node *)(h->mem + h->used);

	if (bytes > b->size - h->used) {
		b->drops++;
		return NULL;
	}
	n->next = head ? *head : 0;
	n->hash = hash;
	n->e.len = bytes - offsetof(struct agg_node, e);
	n->e.action = act->owner;
	memcpy(n + 1, key, keylen);
	memset(value_of(act, n), 0, act->vallen);
	kinst_agg_init(&act->a, value_of(act, n));
	if (head)
		*head = h->used / UNIT + 1;
	h->used += bytes;
	return value_of(act, n);
}
NOKPROBE_SYMBOL(new_entry);

/* The value of a key's entry, which is created if necessary; NULL: a drop, or a fault. */
static __at_hit u64 *find(struct kinst_ctx *c, struct kinst_aggbuf *b, struct kinst_agghalf *h,
			 const struct kinst_act *act, const u8 *key)
{
	u32 keylen = roundup(act->keylen, 8), hash = kinst_hash(b->seed + act->owner, key, keylen), ref;
	u32 *head = &h->heads[hash & (b->nheads - 1)];
	struct agg_node *n;

	for (ref = *head; ref; ref = n->next) {
		n = node_at(h, ref);
		if (n->hash == hash && n->e.action == act->owner && is_same_key(n + 1, key, keylen))
			return value_of(act, n);
		if (!kinst_burn(c, KINST_NODE_STEPS + (n->hash == hash ? keylen / 8 : 0)))
			return NULL;
	}
	return new_entry(b, h, head, act, key, hash);
}
NOKPROBE_SYMBOL(find);

__at_hit void kinst_agg_update(struct kinst_aggbuf *b, struct kinst_ctx *c, const struct kinst_act *act, const u8 *key,
			       u64 value, u64 incr)
{
	struct kinst_agghalf *h = &b->half[READ_ONCE(b->active)];
	u64 *data;

	if (act->single) {
		data = kinst_agg_single(b, act);
		if (!data)
			data = h->singles[act->single - 1] = new_entry(b, h, NULL, act, key, 0);
	} else {
		data = find(c, b, h, act, key);
	}
	if (data)
		kinst_agg_add(&act->a, data, value, incr);
}
NOKPROBE_SYMBOL(kinst_agg_update);

/* ---- values ---- */

#define QUANTIZE_ZERO 63

/* Bucket of v: 63 holds 0, 63 + n the values from 2^(n-1), 63 - n those down to -2^(n-1). */
static __at_hit u32 quantize_bucket(s64 v)
{
	u64 m = v < 0 ? -(u64)v : v;
	u32 n = m ? ilog2(m) + 1 : 0;

	if (n > QUANTIZE_ZERO)
		n = QUANTIZE_ZERO; /* only INT64_MIN has no separate bucket */
	return v < 0 ? QUANTIZE_ZERO - n : QUANTIZE_ZERO + n;
}
NOKPROBE_SYMBOL(quantize_bucket);

static __at_hit u32 lquantize_bucket(u64 arg, u64 value)
{
	s64 base = (s32)(arg & 0xffffffff), v = (s32)value;
	u32 step = arg >> 48, levels = (arg >> 32) & 0xffff;
	u64 i;

	if (v < base)
		return 0;
	i = div_u64(v - base, step);
	return i < levels ? 1 + i : 1 + levels;
}
NOKPROBE_SYMBOL(lquantize_bucket);

static __at_hit u32 llquantize_bucket(u64 arg, s64 v)
{
	u64 factor = arg >> 48, nsteps = arg & 0xffff, last = 1, this;
	u32 low = (arg >> 32) & 0xffff, high = (arg >> 16) & 0xffff, order, base = 1;

	for (order = 0; order < low; order++)
		last *= factor;
	if (v < (s64)last) /* factor^low; below the smallest bucket, negative ones too */
		return 0;
	for (this = last * factor; order <= high; order++) {
		u64 n = min(nsteps, this);

		if ((u64)v < this)
			return base + div64_u64((u64)v - last, div64_u64(this, n));
		base += n - div64_u64(n, factor);
		last = this;
		this *= factor; /* the verifier ensures that factor^(high + 1) fits */
	}
	return base;
}
NOKPROBE_SYMBOL(llquantize_bucket);

/* data[0..1] += v * v, as 128 bits. */
static __at_hit void add_square(u64 *data, s64 v)
{
	u64 m = v < 0 ? -(u64)v : v, hi = m >> 32, lo = m & 0xffffffff;
	u64 cross = hi * lo, low = lo * lo, high = hi * hi + (cross >> 31), old;

	old = low;
	low += cross << 33;
	high += low < old;
	old = data[0];
	data[0] += low;
	data[1] += high + (data[0] < old);
}
NOKPROBE_SYMBOL(add_square);

__at_hit void kinst_agg_init(const struct kinst_action *a, u64 *data)
{
	switch (a->kind) {
	case KINST_ACT_MIN:
		data[0] = S64_MAX;
		break;
	case KINST_ACT_MAX:
		data[0] = (u64)S64_MIN;
		break;
	case KINST_ACT_LQUANTIZE:
	case KINST_ACT_LLQUANTIZE:
		data[0] = a->arg;
		break;
	}
}
NOKPROBE_SYMBOL(kinst_agg_init);

__at_hit void kinst_agg_add(const struct kinst_action *a, u64 *data, u64 value, u64 incr)
{
	switch (a->kind) {
	case KINST_ACT_COUNT:
		data[0]++;
		break;
	case KINST_ACT_SUM:
		data[0] += value;
		break;
	case KINST_ACT_MIN:
		if ((s64)value < (s64)data[0])
			data[0] = value;
		break;
	case KINST_ACT_MAX:
		if ((s64)value > (s64)data[0])
			data[0] = value;
		break;
	case KINST_ACT_STDDEV:
		add_square(data + 2, value);
		fallthrough;
	case KINST_ACT_AVG:
		data[0]++;
		data[1] += value;
		break;
	case KINST_ACT_QUANTIZE:
		data[quantize_bucket(value)] += incr;
		break;
	case KINST_ACT_LQUANTIZE:
		data[1 + lquantize_bucket(a->arg, value)] += incr;
		break;
	case KINST_ACT_LLQUANTIZE:
		data[1 + llquantize_bucket(a->arg, value)] += incr;
		break;
	}
}
NOKPROBE_SYMBOL(kinst_agg_add);
