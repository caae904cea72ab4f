// SPDX-License-Identifier: GPL-2.0
/*
 * providers/sdt.c: the sdt provider: the tracepoints of the kernel proper, and the
 * events that providers/proc.c derives from some of them.
 *
 * One function listens to all of them, whatever their arguments: it takes as many
 * as fit from where the calling convention puts them; arguments that are not
 * passed have arbitrary values.
 *
 * Context: process, except on_trace().
 */
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "arch/ksym.h"
#include "context.h"
#include "program/kernel/fire.h"
#include "providers/sdt.h"

#define KINST_MAX_TRACES 8192 /* probes of one session; kernels have some 2,500 tracepoints */

struct kinst_trace {
	struct kinst_session *session;
	const struct kinst_event_row *event; /* NULL: the tracepoint itself */
	struct kinst_event_state *state; /* of the event */
	struct tracepoint *tp; /* NULL: refused */
	unsigned long via_size; /* of the tracepoint's function that calls all listeners */
	u32 probe, kind;
};

struct kinst_traces {
	u32 n;
	struct kinst_trace list[];
};

/* Context: the tracepoint's, any, NMI included; newer kernels may preempt it. */
static __probe_path void on_trace(void *data, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5)
{
	const struct kinst_trace *t = data;
	const u64 raw[KINST_TRACE_ARGS] = { a0, a1, a2, a3, a4, a5 };
	struct kinst_hit hit = {
		.kind = t->kind,
		.nargs = KINST_TRACE_ARGS,
		.fuel = KINST_HIT_FUEL,
		.via = (unsigned long)t->tp->iterator,
		.via_size = t->via_size,
	};

	if (!t->event)
		memcpy(hit.args, raw, sizeof(raw));
	else if (!t->event->is(raw, &hit, t->state))
		return;
	kinst_fire(t->session, t->probe, &hit);
}
NOKPROBE_SYMBOL(on_trace);

/* ---- arm and disarm ---- */

static bool is_trace(u32 kind)
{
	return kind == KINST_P_SDT || kind == KINST_P_EVENT;
}

struct search {
	const char *name; /* NULL: search by iterator */
	unsigned long iterator;
	struct tracepoint *found;
};

static void look(struct tracepoint *tp, void *data)
{
	struct search *search = data;

	if (search->name ? !strcmp(tp->name, search->name) : (unsigned long)tp->iterator == search->iterator)
		search->found = tp;
}

static enum kinst_reason take(struct kinst_trace *t, const struct kinst_probe *probe)
{
	struct search search = { .iterator = probe->func };
	unsigned long offset;

	/* With CFI, calling a function with arguments of other types would trap. */
	if (IS_ENABLED(CONFIG_CFI) || IS_ENABLED(CONFIG_CFI_CLANG))
		return KINST_R_TRACEPOINT;
	if (probe->kind == KINST_P_EVENT) {
		t->event = &kinst_events[probe->func];
		t->state = kvzalloc(sizeof(*t->state), GFP_KERNEL);
		if (!t->state)
			return KINST_R_LIMIT;
		search.name = t->event->tracepoint;
	}
	for_each_kernel_tracepoint(look, &search);
	if (!search.found)
		return KINST_R_TRACEPOINT;
	t->tp = search.found;
	kinst_sym_kallsyms_lookup_size_offset((unsigned long)t->tp->iterator, &t->via_size, &offset);
	if (tracepoint_probe_register(t->tp, on_trace, t)) {
		t->tp = NULL;
		return KINST_R_TRACEPOINT;
	}
	return KINST_OK;
}

struct kinst_traces *kinst_sdt_arm(struct kinst_session *s, const struct kinst_probe *probes, u32 n,
				   struct kinst_result *res)
{
	struct kinst_traces *traces;
	u32 i, wanted = 0;

	for (i = 0; i < n; i++)
		wanted += is_trace(probes[i].kind);
	if (!wanted)
		return NULL;
	wanted = min_t(u32, wanted, KINST_MAX_TRACES);
	traces = kvzalloc(struct_size(traces, list, wanted), GFP_KERNEL);
	if (!traces)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < n; i++) {
		struct kinst_trace *t = &traces->list[traces->n];

		if (!is_trace(probes[i].kind))
			continue;
		if (traces->n == wanted) {
			res[i].reason = KINST_R_LIMIT;
			continue;
		}
		t->session = s;
		t->probe = i;
		t->kind = probes[i].kind;
		res[i].reason = take(t, &probes[i]);
		traces->n++;
		cond_resched();
	}
	return traces;
}

void kinst_sdt_disarm(struct kinst_traces *traces)
{
	u32 i;

	if (!traces)
		return;
	for (i = 0; i < traces->n; i++) {
		struct kinst_trace *t = &traces->list[i];

		if (t->tp)
			tracepoint_probe_unregister(t->tp, on_trace, t);
		cond_resched();
	}
	tracepoint_synchronize_unregister(); /* no CPU is in on_trace() for us */
	for (i = 0; i < traces->n; i++)
		kvfree(traces->list[i].state);
	kvfree(traces);
}
