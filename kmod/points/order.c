// SPDX-License-Identifier: GPL-2.0
/*
 * points/order.c: the order in which the probes of a session are armed: function by function.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "points/order.h"

static bool kinst_is_place(u32 kind)
{
	return kind == KINST_P_INSN || kind == KINST_P_EDGE || kind == KINST_P_FBT_ENTRY || kind == KINST_P_FBT_RETURN;
}

struct kinst_order {
	const struct kinst_probe *probes;
	u32 *index; /* of the probes that are places */
	u32 *runs; /* where in index another function begins */
	u32 count, nruns;
};

static int kinst_by_function(const void *a, const void *b, const void *order)
{
	const struct kinst_order *o = order;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	u64 f = o->probes[o->index[x]].func, g = o->probes[o->index[y]].func;

	return f < g ? -1 : f > g ? 1 : x < y ? -1 : 1;
}

/* Sorts the runs by function; there are far fewer runs than probes. */
static void kinst_order_runs(struct kinst_order *o, u32 *sorted)
{
	u32 i, at, n = 0;

	sort_r(o->runs, o->nruns, sizeof(*o->runs), kinst_by_function, NULL, o);
	for (i = 0; i < o->nruns; i++) {
		at = o->runs[i];
		do
			sorted[n++] = o->index[at++];
		while (at < o->count && o->probes[o->index[at]].func == o->probes[o->index[at - 1]].func);
	}
}

u32 *kinst_order(const struct kinst_probe *probes, u32 n, struct kinst_result *res, u32 *count)
{
	struct kinst_order o = { .probes = probes };
	u32 *sorted = kvmalloc_array(max(n, 1U), sizeof(*sorted), GFP_KERNEL);
	u32 i;

	o.index = kvmalloc_array(max(n, 1U), sizeof(*o.index), GFP_KERNEL);
	o.runs = kvmalloc_array(max(n, 1U), sizeof(*o.runs), GFP_KERNEL);
	if (!sorted || !o.index || !o.runs) {
		kvfree(sorted);
		sorted = NULL;
		goto out;
	}
	for (i = 0; i < n; i++) {
		memset(&res[i], 0, sizeof(res[i]));
		if (!kinst_is_place(probes[i].kind))
			continue;
		if (!o.count || probes[o.index[o.count - 1]].func != probes[i].func)
			o.runs[o.nruns++] = o.count;
		o.index[o.count++] = i;
	}
	kinst_order_runs(&o, sorted);
	*count = o.count;
out:
	kvfree(o.runs);
	kvfree(o.index);
	return sorted;
}
