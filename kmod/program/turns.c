// SPDX-License-Identifier: GPL-2.0
/*
 * program/turns.c: the ECBs of an image, sorted by probe for the hits.
 *
 * Context: process, before anything is armed.
 */
#include "program/image.h"

/* Counting sort: at[i + 2] counts the ECBs of i; then at[i + 1] is the index of its next one, and finally i's end. */
static int fill_turns(struct kinst_prog *p, u32 *at, struct kinst_error *err)
{
	u32 i, n = p->hdr->ecbs.count, np = p->hdr->probes.count;

	for (i = 0; i < n; i++) {
		if (p->ecbs[i].probe >= np || p->ecbs[i].clause >= p->hdr->clauses.count ||
		    p->ecbs[i].inlined >= p->hdr->strtab.count)
			return kinst_refuse(err, KINST_V_INDEX, KINST_NONE, i);
		at[p->ecbs[i].probe + 2]++;
		cond_resched();
	}
	for (i = 1; i < np + 2; i++)
		at[i] += at[i - 1];
	for (i = 0; i < n; i++) {
		struct kinst_turn *turn = &p->turns[at[p->ecbs[i].probe + 1]++];

		turn->clause = &p->clauses[p->ecbs[i].clause];
		turn->epid = i + 1;
		cond_resched();
	}
	for (i = 0; i < np; i++) {
		if (at[i] == at[i + 1])
			continue;
		p->first[i] = &p->turns[at[i]];
		p->turns[at[i + 1] - 1].last = true;
	}
	return 0;
}

int kinst_turns_sort(struct kinst_prog *p, struct kinst_error *err)
{
	u32 np = p->hdr->probes.count, *at = kvcalloc((size_t)np + 2, sizeof(u32), GFP_KERNEL);
	int ret = -ENOMEM;

	p->first = kvcalloc((size_t)np + 1, sizeof(*p->first), GFP_KERNEL);
	p->turns = kvcalloc((size_t)p->hdr->ecbs.count + 1, sizeof(*p->turns), GFP_KERNEL);
	if (at && p->first && p->turns)
		ret = fill_turns(p, at, err);
	kvfree(at);
	return ret;
}
