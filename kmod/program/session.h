/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/session.h: the state that a session's programs run on. session/chardev.c embeds it
 * in the state of an open file.
 */
#ifndef _KINST_SESSION_H
#define _KINST_SESSION_H

#include "program/agg.h"
#include "program/buffer.h"
#include "program/dif/dif.h"
#include "program/image.h"
#include "program/spec.h"
#include "program/vars.h"

#define KINST_SCRATCH (64u << 10) /* bytes for one ECB, plus a few strings */
#define KINST_SCRATCH_STRINGS 8
#define KINST_PIECE 64 /* bytes of a string that are fetched at a time; a power of two */

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

struct kinst_session {
	struct kinst_prog prog;
	struct kinst_vars vars;
	struct kinst_vcpu **vcpus; /* by CPU number; NULL where there is no such CPU */
	u32 *specs; /* enum kinst_spec_state, by speculation */
	u32 ncpus;
	u32 state; /* enum kinst_state */
	u32 exiting; /* exit() has been called; exit_status is, or will be, from that call */
	s32 exit_status;
	struct irq_work *wake; /* wakes the consumer */
	/* Charges memory whose size is known only while probes are armed: 0, or an error if it is more than there may be. */
	int (*charge)(struct kinst_session *s, u64 bytes);
};

/* Bytes of the key of a dynamic variable: a full tuple stack of strings, and the thread. */
static inline u64 kinst_key_size(const struct kinst_prog *p)
{
	return DIF_NTUPLE * (8 + (u64)roundup(p->strsize, 8)) + 16;
}

static inline u64 kinst_scratch_size(const struct kinst_prog *p)
{
	return KINST_SCRATCH + KINST_SCRATCH_STRINGS * (u64)roundup(p->strsize, 8);
}

/* Process context (session.c). The image has been parsed into s->prog. */
int kinst_session_alloc(struct kinst_session *s, u32 ncpus);
void kinst_session_free(struct kinst_session *s);
/* The most bytes that an image and what is worked out from it take: each table at most triples in length. */
static inline u64 kinst_image_bytes(u32 len)
{
	return 4 * (u64)len;
}

/* The name of the inlined function whose copy the running ECB is at, in strtab; 0: it is at none. */
static inline u32 kinst_inlined(const struct kinst_ctx *c)
{
	return c->epid ? c->prog->ecbs[c->epid - 1].inlined : 0;
}

#define KINST_PROBE_BYTES 512 /* an armed probe: its site and jump, its listener; as much for each further listener */

#define KINST_ONCE_BYTES 64 /* the same of a probe that is taken away at its first hit */

/* Bytes that a session takes, with memory for ncpus CPUs, and tables for CPU numbers up to nnumbers. */
u64 kinst_session_bytes(const struct kinst_prog *p, u32 ncpus, u32 nnumbers);

/*
 * Runs the ECBs of a probe on this CPU, with the guard held (program/ecb.c). Called by
 * kinst_fire() after its checks, and by the tests.
 */
void kinst_run_probe(struct kinst_session *s, struct kinst_vcpu *vcpu, u32 probe, struct kinst_hit *hit);

#endif /* _KINST_SESSION_H */
