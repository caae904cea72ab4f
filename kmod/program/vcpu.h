/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/vcpu.h: the per-CPU state of a session's programs.
 */
#ifndef _KINST_VCPU_H
#define _KINST_VCPU_H

#include "program/agg.h"
#include "program/buffer.h"
#include "program/dif/dif.h"
#include "program/image.h"

struct kinst_specbuf;

#define KINST_SCRATCH (64u << 10) /* bytes for one ECB, plus a few strings */
#define KINST_SCRATCH_STRINGS 8
#define KINST_PIECE 64 /* bytes of a string fetched at a time; a power of two */

/* A session's memory for one CPU. Only a program that runs on it touches this, with the guard held. */
struct kinst_vcpu {
	u32 cpu;
	bool elsewhere; /* only another CPU is traced (-x cpu) */
	struct kinst_ring ring;
	struct kinst_aggbuf agg;
	u8 *scratch;
	u8 *locals; /* clause-local variables */
	u8 *key; /* of the current dynamic variable */
	u8 *entry; /* the key of the current aggregation entry */
	u8 *staged; /* the current record, if it does not go straight to the ring */
	struct kinst_specbuf *specs; /* by speculation */
	u32 nspecs;
	char *str[2]; /* operands of a string subroutine, strsize each */
	u8 piece[2][KINST_PIECE]; /* of strings that are examined, not copied */
	u64 rand;
	struct kinst_ctx ctx[2]; /* [1]: the ERROR probe's, when [0] has faulted */
	struct kinst_hit error_hit;
	u64 hits, dblerrors;
	u64 spec_drops, spec_busy, spec_unavail;
	local_t nested; /* counted by hits outside the guard */
};

static inline u64 kinst_scratch_size(const struct kinst_prog *p)
{
	return KINST_SCRATCH + KINST_SCRATCH_STRINGS * (u64)roundup(p->strsize, 8);
}

#endif /* _KINST_VCPU_H */
