/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/buffer.h: the ring of one CPU, shared with user space (the layout is in the ABI).
 *
 * One writer: a CPU runs one program at a time, because the guard in
 * kinst_fire() rejects nested hits and programs run with interrupts off. A
 * record is therefore written in place and published by moving pos; after a
 * fault it is dropped by not publishing it, and user space never sees a BUSY one.
 */
#ifndef _KINST_BUFFER_H
#define _KINST_BUFFER_H

#include "program/env.h"

struct kinst_ring {
	u8 *mem; /* consumer page, producer page, data; mapped in this order */
	struct kinst_ring_consumer *cons;
	struct kinst_ring_producer *prod;
	u8 *data;
	u64 size; /* the kernel's own copy: only the mapping keeps user space from writing to prod */
	u64 pos;
	u64 tail; /* of the oldest record, if old ones are overwritten */
	bool overwrite;
	u32 pad; /* bytes of padding before the record that is reserved */
};

/* Process context. */
int kinst_ring_alloc(struct kinst_ring *r, u64 size, bool overwrite);
void kinst_ring_free(struct kinst_ring *r);
bool kinst_ring_has_data(const struct kinst_ring *r);

/*
 * Reserves a record of len bytes, including the header (a multiple of 8); NULL,
 * counted as a drop, if it does not fit. Only kinst_ring_commit() publishes it. Probe context, inside the guard.
 */
struct kinst_rec *kinst_ring_reserve(struct kinst_ring *r, u32 len);

/* Publishes the record that was reserved last; true if the consumer should be woken. */
bool kinst_ring_commit(struct kinst_ring *r, struct kinst_rec *rec, u32 len);
void kinst_ring_error(struct kinst_ring *r); /* counts a fault */
void kinst_ring_drop(struct kinst_ring *r, u64 n); /* counts n drops without trying to write the records */

#endif /* _KINST_BUFFER_H */
