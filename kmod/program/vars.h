/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/vars.h: the variables of a session's programs.
 *
 * Global and clause-local scalars have fixed places. Thread-locals and elements
 * of associative arrays live in dynamic memory of dynvarsize bytes.
 */
#ifndef _KINST_VARS_H
#define _KINST_VARS_H

#include "program/image.h"

/*
 * Dynamic memory is cut into slabs; a run of one or more slabs holds chunks of
 * one size, permanently, so that an address determines the chunk
 * that it belongs to.
 */
#define KINST_SLAB_SHIFT 12
#define KINST_SLAB (1u << KINST_SLAB_SHIFT)
#define KINST_MIN_CLASS 6 /* chunks of 64 bytes */
#define KINST_MAX_CLASS 20 /* ... of 1 MiB */
#define KINST_NCLASSES (KINST_MAX_CLASS - KINST_MIN_CLASS + 1)

struct kinst_dynvar {
	struct kinst_dynvar *next; /* in its bucket, or in a list of free chunks */
	u64 hash;
	u32 var; /* scope << 16 | id */
	u32 keylen;
	u32 valoff; /* of the value, from this structure; >= sizeof(*this) */
	u32 vallen;
	u32 class;
	u32 reserved;
	/* the key, then the value at valoff */
};

struct kinst_bucket {
	u32 lock;
	u32 reserved;
	struct kinst_dynvar *head;
};

struct kinst_slab {
	u32 start; /* first slab of its run */
	u32 class; /* 0: not cut yet */
};

/* Chunks that a CPU can take, or has freed. */
struct kinst_dyncpu {
	struct kinst_dynvar *clean[KINST_NCLASSES]; /* the CPU's own */
	struct kinst_dynvar *back[KINST_NCLASSES]; /* cleaned chunks; any CPU may take a whole list with xchg */
	struct kinst_dynvar *dirty; /* freed by this CPU; others may still read them */
	u64 drops, drops_dirty, drops_rinsing;
};

struct kinst_vars {
	u8 *globals;
	u32 globals_size, locals_size;
	u8 *arena;
	u32 nslabs, next_slab;
	struct kinst_slab *slabs;
	struct kinst_bucket *buckets;
	u32 nbuckets; /* a power of two */
	u64 seed; /* of the hash */
	struct kinst_dyncpu *cpus; /* by CPU number */
	u32 ncpus;
	struct kinst_dynvar *rinsing; /* the cleaner's, between two grace periods */
};

/* Bytes of the key of a dynamic variable: a full tuple stack of strings, and the thread. */
static inline u64 kinst_key_size(const struct kinst_prog *p)
{
	return DIF_NTUPLE * (8 + (u64)roundup(p->strsize, 8)) + 16;
}

/* Process context. */
int kinst_vars_alloc(struct kinst_vars *v, const struct kinst_prog *p, u32 ncpus);
void kinst_vars_free(struct kinst_vars *v);
u64 kinst_vars_bytes(const struct kinst_prog *p, u32 ncpus);

/*
 * The cleaner: collect() takes the dirty chunks of all CPUs; once every program
 * that was running then has ended (synchronize_rcu: they run with interrupts off),
 * release() makes them available. collect() returns false if there were none.
 */
bool kinst_vars_collect(struct kinst_vars *v);
void kinst_vars_release(struct kinst_vars *v);

/* For a running program; the variable must be in the image's table, and of that kind. */
u64 kinst_static_load(struct kinst_ctx *c, u32 scope, u32 id);
void kinst_static_store(struct kinst_ctx *c, u32 scope, u32 id, u64 value);
/* key: whether the tuple stack is part of the key (for an associative array). */
u64 kinst_dyn_load(struct kinst_ctx *c, u32 scope, u32 id, bool key);
void kinst_dyn_store(struct kinst_ctx *c, u32 scope, u32 id, bool key, u64 value);

/* Whether a program may write [addr, addr + n), as a variable's value. */
bool kinst_vars_storable(struct kinst_ctx *c, u64 addr, u64 n);

#endif /* _KINST_VARS_H */
