// SPDX-License-Identifier: GPL-2.0
/*
 * providers/sources.c: the arming and disarming of a session's probes, provider by provider.
 *
 * Context: process.
 */
#include <linux/err.h>
#include <linux/sched/signal.h>

#include "points/points.h"
#include "providers/gates.h"
#include "providers/places.h"
#include "providers/profile.h"
#include "providers/sdt.h"
#include "providers/sources.h"
#include "providers/syscall.h"

static bool is_place(u32 kind)
{
	return kind >= KINST_P_INSN && kind <= KINST_P_FBT_RETURN;
}

static enum kinst_reason want(struct kinst_want *want, struct kinst_result *res)
{
	switch (want->probe->kind) {
	case KINST_P_INSN:
		return kinst_want_insn(want, res);
	case KINST_P_EDGE:
		return kinst_want_edge(want, res);
	case KINST_P_FBT_ENTRY:
		return kinst_want_entry(want);
	case KINST_P_FBT_RETURN:
		return kinst_want_return(want);
	}
	return KINST_R_UNSUPPORTED;
}

static struct kinst_points *arm_points(struct kinst_session *s, struct kinst_result *res)
{
	const struct kinst_prog *p = &s->prog;
	u32 i;

	for (i = 0; i < p->hdr->probes.count; i++)
		if (is_place(p->probes[i].kind))
			return kinst_points_arm(s, p->probes, p->hdr->probes.count, res, want);
	return NULL;
}

/* The error of the pointer, which becomes NULL; 0 if it is a valid one. */
#define TAKE(pointer) (IS_ERR(pointer) ? take_error((void **)&(pointer)) : 0)

static int take_error(void **pointer)
{
	int err = PTR_ERR(*pointer);

	*pointer = NULL;
	return err;
}

int kinst_sources_arm(struct kinst_sources *sources, struct kinst_session *s, struct kinst_result *res)
{
	const struct kinst_probe *probes = s->prog.probes;
	u32 n = s->prog.hdr->probes.count;
	int err;

	sources->points = arm_points(s, res);
	err = TAKE(sources->points);
	if (err)
		goto fail;
	if (fatal_signal_pending(current))
		return -EINTR;
	sources->timers = kinst_profile_arm(s, probes, n, res);
	err = TAKE(sources->timers);
	if (err)
		goto fail;
	sources->calls = kinst_syscall_arm(s, probes, n, res);
	err = TAKE(sources->calls);
	if (err)
		goto fail;
	sources->traces = kinst_sdt_arm(s, probes, n, res);
	err = TAKE(sources->traces);
	if (err)
		goto fail;
	/* Last: the code that a gate leads to has its probes by now. */
	sources->gates = kinst_gates_arm(probes, n, res);
	err = TAKE(sources->gates);
	if (err)
		goto fail;
	return 0;

fail:
	kinst_sources_disarm(sources);
	return err;
}

void kinst_sources_ready(struct kinst_sources *sources)
{
	if (sources->points)
		kinst_points_start(sources->points);
}

void kinst_sources_start(struct kinst_sources *sources)
{
	if (sources->points)
		kinst_points_arm_once(sources->points);
	kinst_profile_start(sources->timers);
}

/* All but the points. */
static void disarm_others(struct kinst_sources *sources)
{
	kinst_gates_disarm(sources->gates);
	kinst_sdt_disarm(sources->traces);
	kinst_syscall_disarm(sources->calls);
	kinst_profile_disarm(sources->timers);
	*sources = (struct kinst_sources){ .points = sources->points };
}

void kinst_sources_silence(struct kinst_sources *sources)
{
	disarm_others(sources);
	if (sources->points)
		kinst_points_silence(sources->points);
}

void kinst_sources_disarm(struct kinst_sources *sources)
{
	disarm_others(sources);
	if (sources->points)
		kinst_points_disarm(sources->points);
	sources->points = NULL;
}

int kinst_sources_init(void)
{
	int err = kinst_points_init();

	if (err)
		return err;
	err = kinst_profile_init();
	if (err)
		goto points;
	err = kinst_gates_init();
	if (err)
		goto profile;
	kinst_syscall_init();
	return 0;

profile:
	kinst_profile_exit();
points:
	kinst_points_exit();
	return err;
}

void kinst_sources_exit(void)
{
	kinst_gates_exit();
	kinst_profile_exit();
	kinst_points_exit();
}
