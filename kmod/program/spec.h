/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/spec.h: speculations: records that wait for a commit() or discard().
 *
 * A speculation has one state for the session and a buffer on every CPU. A
 * program touches only the buffers of its CPU. A commit() or discard() leaves
 * the other CPUs to kinst_spec_clean(), which the session's
 * cleaner calls when no program runs on that CPU.
 */
#ifndef _KINST_SPEC_H
#define _KINST_SPEC_H

#include "program/image.h"

struct kinst_session;
struct kinst_vcpu;
struct kinst_ctx;

enum kinst_spec_state {
	SPEC_INACTIVE,
	SPEC_ACTIVE, /* allocated by speculation(), no records yet */
	SPEC_ACTIVE_ONE, /* one CPU has records */
	SPEC_ACTIVE_MANY,
	SPEC_COMMITTING, /* right now, by the only CPU that has records */
	SPEC_COMMITTING_MANY, /* records of other CPUs, or more than one hit could move, wait for the cleaner */
	SPEC_DISCARDING,
};

struct kinst_specbuf {
	u8 *mem; /* struct kinst_rec and payload, one after the other */
	u64 used;
	u64 moved; /* of these, already in the ring */
	u32 n; /* records that are left */
};

/* Process context. */
int kinst_spec_alloc(struct kinst_vcpu *v, const struct kinst_prog *p);
void kinst_spec_free(struct kinst_vcpu *v);
u64 kinst_spec_bytes(const struct kinst_prog *p); /* of one CPU */

/* speculation(): the id of a free one, from 1, or 0. Probe context. */
u64 kinst_spec_new(struct kinst_ctx *c);

/* The three actions. Probe context. speculate() only sets the destination of the ECB's record. */
void kinst_spec_speculate(struct kinst_ctx *c, u64 which);
void kinst_spec_commit(struct kinst_ctx *c, u64 which);
void kinst_spec_discard(struct kinst_ctx *c, u64 which);

/* Adds the staged record of the ECB, of len bytes, to the speculation that it named. Probe context. */
void kinst_spec_add(struct kinst_ctx *c, u32 len);

/* Whether there is work for kinst_spec_clean(). Any context. */
bool kinst_spec_dirty(const struct kinst_session *s);

/*
 * The cleaner: kinst_spec_clean_start() notes the states that need cleaning. kinst_spec_clean()
 * is then called for each CPU, on it and with its guard held (or with the CPU off), until it
 * returns true, as each call does only a little. kinst_spec_clean_end() makes them INACTIVE.
 */
bool kinst_spec_clean_start(struct kinst_session *s, u32 *noted);
bool kinst_spec_clean(struct kinst_session *s, struct kinst_vcpu *v, const u32 *noted);
void kinst_spec_clean_end(struct kinst_session *s, const u32 *noted);

#endif /* _KINST_SPEC_H */
