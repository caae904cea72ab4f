// SPDX-License-Identifier: GPL-2.0
/*
 * providers/fbt.c: the fbt provider: a function's entry and each of its exits.
 *
 * entry is an ftrace site, or a breakpoint on the first instruction of a function
 * that has none. return is a breakpoint on every ret and on every jump to another
 * function (a tail call): unlike a kretprobe, it misses
 * nothing under load, and it reports which exit was taken.
 */
#include <linux/kallsyms.h>
#include <linux/string.h>

#include "arch/ksym.h"
#include "places/read.h"
#include "providers/places.h"

enum kinst_reason kinst_want_entry(struct kinst_want *want)
{
	const struct kinst_func *f = want->func;
	const struct kinst_func_insn *at;
	struct kinst_arch_insn insn;
	enum kinst_reason reason;
	struct kinst_listener *listener;

	if (f->reason)
		return f->reason;
	if (kinst_func_has_fentry(f))
		return kinst_want_fentry(want, f->site, f->start, &listener);

	at = kinst_func_at(f, 0, &reason, NULL);
	if (at && at->reason == KINST_R_INSN_LANDING_PAD)
		at = kinst_func_at(f, at->len, &reason, NULL);
	if (!at)
		return reason;
	if (at->reason)
		return at->reason;
	kinst_func_decode(f, at, &insn);
	reason = kinst_want_break(want, f, &insn, &listener);
	if (!reason)
		listener->ip = f->start;
	return reason;
}

/*
 * The part of a function that the compiler moved away has a separate symbol,
 * NAME.cold. Jumps there and back do not leave the function.
 */
static bool kinst_is_cold_part(const struct kinst_func *f, unsigned long target, unsigned long *start)
{
	unsigned long size, offset;
	char name[KSYM_SYMBOL_LEN];
	size_t len = strlen(f->name);

	kinst_symbol_name(target, name);
	if (!len || strncmp(name, f->name, len) || strncmp(name + len, ".cold", 5))
		return false;
	if (!kinst_symbol_range(target, &size, &offset))
		return false;
	*start = target - offset;
	return true;
}

/* A function with its cold part. */
struct kinst_body {
	const struct kinst_func *f;
	struct kinst_func *cold;
};

static bool kinst_body_has(const struct kinst_body *body, unsigned long addr)
{
	return kinst_func_has(body->f, addr) || (body->cold && kinst_func_has(body->cold, addr));
}

/* Whether the instruction leaves the body; *when is set to the hits at which it does. */
static bool kinst_is_exit(const struct kinst_body *body, const struct kinst_arch_insn *insn, u8 *when)
{
	*when = KINST_ALWAYS;
	switch (insn->flow) {
	case KINST_FLOW_RET:
	case KINST_FLOW_JUMP_INDIRECT:
		return true;
	case KINST_FLOW_BRANCH:
		*when = KINST_TAKEN;
		fallthrough;
	case KINST_FLOW_JUMP:
		/* A jump to the very start is a tail call to itself: the entry fires again. */
		return !kinst_body_has(body, insn->target) || insn->target == body->f->start;
	}
	return false;
}

static enum kinst_reason kinst_want_exits(struct kinst_want *want, const struct kinst_body *body,
					  const struct kinst_func *part)
{
	struct kinst_arch_insn insn;
	enum kinst_reason reason;
	struct kinst_listener *listener;
	u8 when;
	u32 i;

	for (i = 0; i < part->ninsns; i++) {
		if (!(part->insns[i].flags & (KINST_INSN_RET | KINST_INSN_TAIL)))
			continue;
		kinst_func_decode(part, &part->insns[i], &insn);
		if (!kinst_is_exit(body, &insn, &when))
			continue;
		if (insn.flow == KINST_FLOW_JUMP_INDIRECT && !kinst_arch_is_tail_call(&insn))
			return KINST_R_MODEL;
		if (part->insns[i].reason)
			return part->insns[i].reason;
		reason = kinst_want_break(want, part, &insn, &listener);
		if (reason)
			return reason;
		listener->when = when;
		listener->exit = insn.addr - body->f->start;
	}
	return KINST_OK;
}

/* Finds the cold part by the first jump into it. */
static enum kinst_reason kinst_find_cold(struct kinst_body *body)
{
	const struct kinst_func *f = body->f;
	struct kinst_arch_insn insn;
	unsigned long start;
	u32 i;

	for (i = 0; i < f->ninsns; i++) {
		if (!(f->insns[i].flags & KINST_INSN_TAIL))
			continue;
		kinst_func_decode(f, &f->insns[i], &insn);
		if (!insn.target || kinst_func_has(f, insn.target) || !kinst_is_cold_part(f, insn.target, &start))
			continue;
		body->cold = kinst_func_get(start);
		if (!body->cold)
			return KINST_R_LIMIT;
		return body->cold->reason || !body->cold->whole ? KINST_R_MODEL : KINST_OK;
	}
	return KINST_OK;
}

enum kinst_reason kinst_want_return(struct kinst_want *want)
{
	struct kinst_body body = { .f = want->func };
	enum kinst_reason reason;

	if (body.f->reason)
		return body.f->reason;
	if (body.f->blanket)
		return body.f->blanket;
	if (!body.f->whole)
		return KINST_R_MODEL;
	reason = kinst_find_cold(&body);
	if (!reason)
		reason = kinst_want_exits(want, &body, body.f);
	if (!reason && body.cold)
		reason = kinst_want_exits(want, &body, body.cold);
	kinst_func_put(body.cold);
	return reason;
}
