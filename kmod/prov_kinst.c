// SPDX-License-Identifier: GPL-2.0
/*
 * prov_kinst.c: the kinst provider: one instruction of a function, or one edge
 * of its control flow.
 */
#include <linux/string.h>

#include "func.h"
#include "probe.h"

/*
 * Does the instruction differ from what user space read in a file, although
 * nothing patches it? Calls, jumps, returns and nops are what the kernel
 * rewrites at boot and later: thunks, call padding, alternatives.
 */
static bool kinst_mismatch(const struct kinst_arch_insn *insn, const struct kinst_probe *probe)
{
	struct kinst_arch_insn file;

	if (!probe->nbytes)
		return false;
	if (probe->nbytes == insn->len && !memcmp(probe->bytes, insn->bytes, insn->len))
		return false;
	if (insn->nop || insn->flow != KINST_FLOW_NEXT)
		return false;
	if (probe->nbytes > sizeof(probe->bytes) || !kinst_arch_decode(&file, probe->bytes, probe->nbytes, insn->addr))
		return true;
	return !file.nop && file.flow == KINST_FLOW_NEXT;
}

enum kinst_reason kinst_want_insn(struct kinst_want *want, struct kinst_result *res)
{
	const struct kinst_func *f = want->func;
	const struct kinst_func_insn *at;
	struct kinst_arch_insn insn;
	enum kinst_reason reason;
	struct kinst_user *user;

	at = kinst_func_at(f, want->probe->offset, &reason, res);
	if (!at)
		return reason;
	if (f->blanket)
		return f->blanket;
	kinst_func_decode(f, at, &insn);
	if (kinst_mismatch(&insn, want->probe))
		return KINST_R_MISMATCH;
	if (kinst_func_is_fentry(f, at))
		return kinst_want_fentry(want, f->site, f->start + at->offset);
	if (at->reason)
		return at->reason;
	return kinst_want_break(want, &insn, &user);
}

/* When does the instruction go to the address? */
static enum kinst_reason kinst_edge_when(const struct kinst_arch_insn *insn, unsigned long to, u8 *when)
{
	bool taken = insn->target == to;
	bool next = insn->addr + insn->len == to;

	*when = KINST_ALWAYS;
	switch (insn->flow) {
	case KINST_FLOW_NEXT:
	case KINST_FLOW_CALL:
	case KINST_FLOW_CALL_INDIRECT:
		return next ? KINST_OK : KINST_R_NOT_BRANCH;
	case KINST_FLOW_JUMP:
		return taken ? KINST_OK : KINST_R_NOT_BRANCH;
	case KINST_FLOW_BRANCH:
		*when = taken && next ? KINST_ALWAYS : taken ? KINST_TAKEN : KINST_NOT_TAKEN;
		return taken || next ? KINST_OK : KINST_R_NOT_BRANCH;
	case KINST_FLOW_JUMP_INDIRECT:
	case KINST_FLOW_RET:
		return KINST_R_UNSUPPORTED;
	}
	return KINST_R_NOT_BRANCH;
}

enum kinst_reason kinst_want_edge(struct kinst_want *want, struct kinst_result *res)
{
	const struct kinst_func *f = want->func;
	const struct kinst_func_insn *at;
	struct kinst_arch_insn insn;
	enum kinst_reason reason;
	struct kinst_user *user;
	u8 when;

	at = kinst_func_at(f, want->probe->offset, &reason, res);
	if (!at)
		return reason;
	if (f->blanket)
		return f->blanket;
	kinst_func_decode(f, at, &insn);
	/* What ftrace serves goes on behind its site in any case. */
	if (kinst_func_is_fentry(f, at))
		return want->probe->to == at->offset + at->len ? kinst_want_fentry(want, f->site, f->start + at->offset) :
								 KINST_R_NOT_BRANCH;
	/* Of a jump label, say, it matters more that it is one than where it goes now. */
	if (at->reason)
		return at->reason;
	if (kinst_mismatch(&insn, want->probe))
		return KINST_R_MISMATCH;
	reason = kinst_edge_when(&insn, f->start + (long)(s32)want->probe->to, &when);
	if (reason)
		return reason;
	reason = kinst_want_break(want, &insn, &user);
	if (!reason)
		user->when = when;
	return reason;
}
