// SPDX-License-Identifier: GPL-2.0
/*
 * providers/dtrace.c: the dtrace provider: BEGIN and END. (ERROR fires in program/ecb.c, at the fault.)
 *
 * Context: process.
 */
#include <linux/preempt.h>
#include "program/kernel/fire.h"
#include "providers/dtrace.h"

static void fire(struct kinst_session *s, u32 probe)
{
	struct kinst_hit hit = { .fuel = KINST_HIT_FUEL };

	if (probe == KINST_NONE)
		return;
	hit.kind = s->prog.probes[probe].kind;
	preempt_disable(); /* all clauses run on one CPU, with one set of clause-locals */
	kinst_fire(s, probe, &hit);
	preempt_enable();
}

void kinst_dtrace_begin(struct kinst_session *s)
{
	fire(s, s->prog.begin);
}

void kinst_dtrace_end(struct kinst_session *s)
{
	fire(s, s->prog.end);
}
