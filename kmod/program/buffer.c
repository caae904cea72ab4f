// SPDX-License-Identifier: GPL-2.0
/*
 * program/buffer.c: the ring of one CPU.
 *
 * The consumer's position is in a page that user space writes: it is read once,
 * and whatever its value, a record is only ever written inside the ring.
 */
#include "context.h"
#include "program/buffer.h"

int kinst_ring_alloc(struct kinst_ring *r, u64 size, bool overwrite)
{
	*r = (struct kinst_ring){ .size = size, .overwrite = overwrite };
	r->mem = vmalloc_user(2 * PAGE_SIZE + size); /* zeroed */
	if (!r->mem)
		return -ENOMEM;
	r->cons = (struct kinst_ring_consumer *)r->mem;
	r->prod = (struct kinst_ring_producer *)(r->mem + PAGE_SIZE);
	r->data = r->mem + 2 * PAGE_SIZE;
	r->prod->size = size;
	return 0;
}

void kinst_ring_free(struct kinst_ring *r)
{
	vfree(r->mem);
	*r = (struct kinst_ring){};
}

bool kinst_ring_has_data(const struct kinst_ring *r)
{
	smp_mb(); /* the consumer's store to its pos, then our load; pairs with the one in kinst_ring_commit() */
	return READ_ONCE(r->prod->pos) != READ_ONCE(r->cons->pos);
}

/* Drops the oldest records until need bytes are free. A record is at most half a ring. */
static __at_hit void overwrite(struct kinst_ring *r, u64 need)
{
	while (need > r->size - (r->pos - r->tail)) {
		const struct kinst_rec *old = (struct kinst_rec *)(r->data + (r->tail & (r->size - 1)));

		r->tail += old->len & KINST_REC_LEN;
	}
	WRITE_ONCE(r->prod->tail, r->tail);
}
NOKPROBE_SYMBOL(overwrite);

__at_hit struct kinst_rec *kinst_ring_reserve(struct kinst_ring *r, u32 len)
{
	u64 used = r->pos - smp_load_acquire(&r->cons->pos), off = r->pos & (r->size - 1), left = r->size - off;
	struct kinst_rec *rec = (struct kinst_rec *)(r->data + off);
	u32 pad = left < len ? left : 0;

	if (r->overwrite) {
		if (pad + (u64)len > r->size)
			return NULL;
		overwrite(r, pad + (u64)len);
		used = r->pos - r->tail;
	}
	if (used > r->size || pad + (u64)len > r->size - used) {
		WRITE_ONCE(r->prod->drops, r->prod->drops + 1);
		return NULL;
	}
	r->pad = pad;
	if (pad) {
		rec->len = pad | KINST_REC_PAD; /* the rest of the header may not fit */
		rec = (struct kinst_rec *)r->data;
	}
	return rec;
}
NOKPROBE_SYMBOL(kinst_ring_reserve);

__at_hit bool kinst_ring_commit(struct kinst_ring *r, struct kinst_rec *rec, u32 len)
{
	u64 old = r->pos, cons;

	rec->len = len;
	r->pos += r->pad + len;
	smp_store_release(&r->prod->pos, r->pos);
	smp_mb(); /* our pos, then the consumer's */
	cons = READ_ONCE(r->cons->pos);
	return cons == old || (old - cons < r->size / 2 && r->pos - cons >= r->size / 2);
}
NOKPROBE_SYMBOL(kinst_ring_commit);

__at_hit void kinst_ring_error(struct kinst_ring *r)
{
	WRITE_ONCE(r->prod->errors, r->prod->errors + 1);
}
NOKPROBE_SYMBOL(kinst_ring_error);

__at_hit void kinst_ring_drop(struct kinst_ring *r, u64 n)
{
	WRITE_ONCE(r->prod->drops, r->prod->drops + n);
}
NOKPROBE_SYMBOL(kinst_ring_drop);
