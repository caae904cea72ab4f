/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/alloc.h: the working memory of a session's programs.
 */
#ifndef _KINST_ALLOC_H
#define _KINST_ALLOC_H

#include "program/session.h"

/* Process context. The image has been parsed into s->prog. */
int kinst_session_alloc(struct kinst_session *s, u32 ncpus);
void kinst_session_free(struct kinst_session *s);
/* The most bytes that an image and the data derived from it take: each table at most triples in length. */
static inline u64 kinst_image_bytes(u32 len)
{
	return 4 * (u64)len;
}

#define KINST_PROBE_BYTES 512 /* an armed probe: its site, jump and listener; the same for each further listener */

#define KINST_ONCE_BYTES 64 /* the same for a probe that is removed at its first hit */

/* Bytes that a session takes, with memory for ncpus CPUs, and tables for CPU numbers up to nnumbers. */
u64 kinst_session_bytes(const struct kinst_prog *p, u32 ncpus, u32 nnumbers);

#endif /* _KINST_ALLOC_H */
