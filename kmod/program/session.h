/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/session.h: the state of a session that its programs use. session/chardev.c embeds it
 * in the state of an open file.
 */
#ifndef _KINST_SESSION_H
#define _KINST_SESSION_H

#include "program/image.h"
#include "program/vars.h"
#include "program/vcpu.h"

struct kinst_session {
	struct kinst_prog prog;
	struct kinst_vars vars;
	struct kinst_vcpu **vcpus; /* by CPU number; NULL if the CPU does not exist */
	u32 *specs; /* enum kinst_spec_state, by speculation */
	u32 ncpus;
	u32 state; /* enum kinst_state */
	u32 exiting; /* exit() has been called; exit_status is, or will be, from that call */
	s32 exit_status;
	struct irq_work *wake; /* wakes the consumer */
	/* Charges memory whose size is known only while probes are armed: 0, or an error if it exceeds the limits. */
	int (*charge)(struct kinst_session *s, u64 bytes);
};

/* The name of the inlined function whose copy the running ECB is at, in strtab; 0: not at a copy. */
static inline u32 kinst_inlined(const struct kinst_ctx *c)
{
	return c->epid ? c->prog->ecbs[c->epid - 1].inlined : 0;
}

/*
 * Runs the ECBs of a probe on this CPU, with the guard held (program/ecb.c). Called by
 * kinst_fire() after its checks, and by the tests.
 */
void kinst_run_probe(struct kinst_session *s, struct kinst_vcpu *vcpu, u32 probe, struct kinst_hit *hit);

#endif /* _KINST_SESSION_H */
