/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/agg.h: aggregations of one CPU: a hash over entries in preallocated memory.
 *
 * A buffer has two halves. A program updates the active one; AGGSNAP switches
 * them on the CPU itself, after which the other half belongs to the consumer.
 */
#ifndef _KINST_AGG_H
#define _KINST_AGG_H

#include "program/image.h"

struct kinst_agghalf {
	u8 *mem; /* struct agg_node, one after the other */
	u32 *heads; /* by hash: offset + 1 of the first node; 0: none */
	u64 **singles; /* values of the aggregations without a key, by index; NULL: none yet */
	u64 used;
};

struct kinst_aggbuf {
	struct kinst_agghalf half[2];
	u32 active;
	u32 nheads; /* a power of two */
	u32 nsingles;
	u64 seed; /* of the hash, so that collisions cannot be predicted */
	u64 size; /* of mem */
	u64 drops;
};

/* Process context. */
int kinst_agg_alloc(struct kinst_aggbuf *b, const struct kinst_prog *p);
void kinst_agg_free(struct kinst_aggbuf *b);
u64 kinst_agg_bytes(const struct kinst_prog *p);

/*
 * Updates the entry of an aggregating action: key is its key, laid out as in the
 * entry; value and incr are the results of the action's DIFOs. Faults in c if the list of
 * the entry is too long. Probe context.
 */
void kinst_agg_update(struct kinst_aggbuf *b, struct kinst_ctx *c, const struct kinst_act *act, const u8 *key, u64 value,
		      u64 incr);

/* The value of an aggregation without a key, or NULL until kinst_agg_update() creates it. Probe context. */
static nokprobe_inline u64 *kinst_agg_single(struct kinst_aggbuf *b, const struct kinst_act *act)
{
	return b->half[READ_ONCE(b->active)].singles[act->single - 1];
}

/* Switches the halves and returns the one that was active. Runs on its CPU, or while the CPU is offline. */
struct kinst_agghalf *kinst_agg_switch(struct kinst_aggbuf *b);

/* Walks a half that is no longer active: the entry at *pos, or NULL at the end. */
const struct kinst_agg_entry *kinst_agg_next(const struct kinst_agghalf *h, u64 *pos);
void kinst_agg_clear(struct kinst_aggbuf *b, struct kinst_agghalf *h);

/* Adds to one value, whose layout depends on the action's kind. Pure arithmetic. */
void kinst_agg_init(const struct kinst_action *a, u64 *data);
void kinst_agg_add(const struct kinst_action *a, u64 *data, u64 value, u64 incr);

#endif /* _KINST_AGG_H */
