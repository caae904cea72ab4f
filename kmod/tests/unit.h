/* SPDX-License-Identifier: GPL-2.0 */
/* unit.h: the shared parts of the unit tests: counting, and one DIFO run in a separate session. */
#ifndef _KINST_UNIT_H
#define _KINST_UNIT_H

#include <stdio.h>
#include "mock.h"
#include "image_builder.h"

extern int passed, failed;

#define EXPECT(cond) do { \
	if (cond) { \
		passed++; \
	} else { \
		failed++; \
		printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #cond); \
	} \
} while (0)

/* A session in memory, loaded from a builder. */
struct fixture {
	struct kinst_session s;
	struct kinst_error err;
	void *image;
	u32 len;
	struct kinst_hit hit;
	struct kinst_ctx *c;
};

/* Returns the verifier's verdict; with KINST_V_OK the session is ready, and f->c can run DIFOs. */
u32 fixture_open(struct fixture *f, struct ib *b);
void fixture_close(struct fixture *f);

/* Runs DIFO i in a fresh context. */
u64 fixture_run(struct fixture *f, u32 i);

void unit_strings(void); /* unit_str.c */
void unit_fuzz(void); /* unit_fuzz.c */
void unit_data(void); /* unit_data.c */

#endif /* _KINST_UNIT_H */
