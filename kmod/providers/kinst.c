// SPDX-License-Identifier: GPL-2.0
/*
 * providers/kinst.c: the kinst provider: one instruction of a function, or one edge
 * of its control flow.
 */
#include <linux/kallsyms.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "places/func.h"
#include "providers/places.h"
#include "text/once.h"

/*
 * Whether the instruction differs from the one that user space read in a file although
 * nothing patches it. The kernel rewrites calls, jumps, returns and nops
 * at boot and later: thunks, call padding, alternatives.
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
	struct kinst_listener *listener;

	at = kinst_func_at(f, want->probe->offset, &reason, res);
	if (!at)
		return reason;
	if (f->blanket)
		return f->blanket;
	kinst_func_decode(f, at, &insn);
	if (kinst_mismatch(&insn, want->probe))
		return KINST_R_MISMATCH;
	if (kinst_func_is_fentry(f, at) && !want->points->once)
		return kinst_want_fentry(want, f->site, f->start + at->offset, &listener);
	if (at->reason)
		return at->reason;
	if (want->points->once)
		return kinst_once_stage(want->points->once, f, want->index, &insn, KINST_ALWAYS);
	return kinst_want_break(want, f, &insn, &listener);
}

/* An indirect jump, or a jump to the thunk that replaces one. */
static bool kinst_is_indirect(const struct kinst_arch_insn *insn, struct kinst_arch_operand *op)
{
	if (insn->flow == KINST_FLOW_JUMP_INDIRECT)
		return kinst_arch_operand(insn, op);
	if (insn->flow != KINST_FLOW_JUMP)
		return false;
	memset(op, 0, sizeof(*op));
	op->base = kinst_arch_thunk_register(insn->target);
	return op->base != KINST_NO_REG;
}

/* Determines at which hits the instruction goes to the address. */
static enum kinst_reason kinst_edge_when(const struct kinst_arch_insn *insn, unsigned long to, struct kinst_listener *listener)
{
	bool taken = insn->target == to;
	bool next = insn->addr + insn->len == to;

	listener->when = KINST_ALWAYS;
	switch (insn->flow) {
	case KINST_FLOW_NEXT:
	case KINST_FLOW_CALL:
	case KINST_FLOW_CALL_INDIRECT:
		return next ? KINST_OK : KINST_R_NOT_BRANCH;
	case KINST_FLOW_BRANCH:
		listener->when = taken && next ? KINST_ALWAYS : taken ? KINST_TAKEN : KINST_NOT_TAKEN;
		return taken || next ? KINST_OK : KINST_R_NOT_BRANCH;
	case KINST_FLOW_JUMP:
	case KINST_FLOW_JUMP_INDIRECT:
		if (insn->flow == KINST_FLOW_JUMP && taken)
			return KINST_OK;
		if (!kinst_is_indirect(insn, &listener->way->operand))
			return insn->flow == KINST_FLOW_JUMP ? KINST_R_NOT_BRANCH : KINST_R_UNSUPPORTED;
		listener->when = KINST_TARGET;
		listener->way->target = to;
		return KINST_OK;
	case KINST_FLOW_RET:
		return KINST_R_UNSUPPORTED;
	}
	return KINST_R_NOT_BRANCH;
}

/* Finds the jump labels that the edge leads over. */
static enum kinst_reason kinst_edge_hops(const struct kinst_want *want, struct kinst_way *way)
{
	const struct kinst_func *f = want->func;
	const struct kinst_func_insn *at;
	enum kinst_reason reason;
	u32 over;

	for (way->nhops = 0; way->nhops < KINST_OVER; way->nhops++) {
		struct kinst_hop *hop = &way->hops[way->nhops];

		over = want->probe->over[way->nhops];
		if (!over)
			break;
		at = kinst_func_at(f, over, &reason, NULL);
		if (!at)
			return reason;
		if (at->reason != KINST_R_JUMP_LABEL)
			return KINST_R_NOT_BRANCH;
		hop->at = f->start + over;
		hop->len = at->len;
		hop->to = f->start + (long)(s32)want->probe->to;
		if (way->nhops)
			hop[-1].to = hop->at;
	}
	return KINST_OK;
}

/* An edge whose probe is removed once control has taken it: only the two edges of a branch. */
static enum kinst_reason kinst_want_edge_once(struct kinst_want *want, const struct kinst_arch_insn *insn, unsigned long to)
{
	struct kinst_way way = {};
	struct kinst_listener edge = { .way = &way };
	enum kinst_reason reason = kinst_edge_when(insn, to, &edge);

	if (!reason && (edge.when == KINST_TARGET || want->probe->over[0]))
		reason = KINST_R_UNSUPPORTED;
	return reason ?: kinst_once_stage(want->points->once, want->func, want->index, insn, edge.when);
}

enum kinst_reason kinst_want_edge(struct kinst_want *want, struct kinst_result *res)
{
	const struct kinst_probe *probe = want->probe;
	const struct kinst_func *f = want->func;
	unsigned long to = f->start + (probe->over[0] ?: (long)(s32)probe->to);
	const struct kinst_func_insn *at;
	struct kinst_arch_insn insn;
	enum kinst_reason reason;
	struct kinst_listener *listener;

	at = kinst_func_at(f, probe->offset, &reason, res);
	if (!at)
		return reason;
	if (f->blanket)
		return f->blanket;
	kinst_func_decode(f, at, &insn);
	if (kinst_func_is_fentry(f, at) && !want->points->once) {
		/* From an ftrace site, control always goes on to the next instruction. */
		if (to != insn.addr + insn.len)
			return KINST_R_NOT_BRANCH;
		reason = kinst_want_fentry(want, f->site, insn.addr, &listener);
	} else {
		/* The instruction's reason comes first: being a jump label, say, matters more than its target. */
		if (at->reason)
			return at->reason;
		if (kinst_mismatch(&insn, probe))
			return KINST_R_MISMATCH;
		if (want->points->once)
			return kinst_want_edge_once(want, &insn, to);
		reason = kinst_want_break(want, f, &insn, &listener);
	}
	if (reason)
		return reason;
	listener->way = kzalloc(sizeof(*listener->way), GFP_KERNEL);
	if (!listener->way)
		return KINST_R_LIMIT;
	if (listener->site->slot)
		reason = kinst_edge_when(&insn, to, listener);
	return reason ?: kinst_edge_hops(want, listener->way);
}
