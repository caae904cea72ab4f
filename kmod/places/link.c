// SPDX-License-Identifier: GPL-2.0
/*
 * places/link.c: the instructions at which the caller's address is in the link register: before a function makes its
 * frame, after it has left it, and everywhere in a function without one that calls nothing. A walk over the frames that
 * begins there would miss the caller.
 *
 * Control arrives at an instruction either always with a frame or never. So a jump and its target have the same state,
 * and so have neighbours: before a return or the beginning of a frame there is none, before a call or the end of a frame
 * there is one. Code to which no visible branch leads is common: a static key or a switch leads there.
 */
#include "places/func.h"
#include "places/link.h"

/* While the function is walked: whether LINKED has been set. */
#define KNOWN 0x80

enum state { UNKNOWN, FRAMED, LINKED };

static enum state kinst_link_state(const struct kinst_func_insn *at)
{
	return !(at->flags & KNOWN) ? UNKNOWN : at->flags & KINST_INSN_LINKED ? LINKED : FRAMED;
}

/* Sets the state of the instructions from begin to end. */
static void kinst_link_set(struct kinst_func *f, u32 begin, u32 end, enum state state)
{
	for (; begin < end; begin++)
		f->insns[begin].flags |= KNOWN | (state == LINKED ? KINST_INSN_LINKED : 0);
}

/* The target of a jump or branch inside the function, or NULL. */
static const struct kinst_func_insn *kinst_link_target(const struct kinst_func *f, const struct kinst_arch_insn *insn)
{
	enum kinst_reason reason;

	if ((insn->flow != KINST_FLOW_BRANCH && insn->flow != KINST_FLOW_JUMP) || !kinst_func_has(f, insn->target))
		return NULL;
	return kinst_func_at(f, insn->target - f->start, &reason, NULL);
}

/* The state before the instruction, as far as the instruction shows it. */
static enum state kinst_link_before(const struct kinst_arch_insn *insn, const struct kinst_func_insn *target)
{
	if (insn->flow == KINST_FLOW_RET || insn->frame == KINST_FRAME_MADE)
		return LINKED;
	if (insn->frame == KINST_FRAME_LEFT || kinst_arch_calls(insn))
		return FRAMED;
	return target ? kinst_link_state(target) : UNKNOWN;
}

/* Walks the function once, in the order of its text. True if the state of an instruction has become known. */
static bool kinst_link_pass(struct kinst_func *f)
{
	enum state state = LINKED;
	u32 i, begin = 0; /* the first of the instructions before i that have the same state as i */
	bool news = false;

	for (i = 0; i < f->ninsns; i++) {
		const struct kinst_func_insn *at = &f->insns[i], *target;
		struct kinst_arch_insn insn;

		kinst_func_decode(f, at, &insn);
		target = kinst_link_target(f, &insn);
		if (state == UNKNOWN)
			state = kinst_link_state(at) ?: kinst_link_before(&insn, target);
		if (state != UNKNOWN) {
			news |= kinst_link_state(&f->insns[begin]) == UNKNOWN;
			kinst_link_set(f, begin, i + 1, kinst_link_state(at) ?: state);
			begin = i + 1;
			state = kinst_link_state(at);
			if (target && kinst_link_state(target) == UNKNOWN) {
				kinst_link_set(f, target - f->insns, target - f->insns + 1, state);
				news |= target < at;
			}
		}
		if (insn.frame)
			state = insn.frame == KINST_FRAME_LEFT ? LINKED : FRAMED;
		else if (kinst_arch_calls(&insn))
			state = FRAMED;
		if (kinst_arch_ends(&insn)) {
			state = UNKNOWN;
			begin = i + 1;
		}
	}
	return news;
}

void kinst_mark_linked(struct kinst_func *f)
{
	u32 i;

	while (kinst_link_pass(f))
		;
	for (i = 0; i < f->ninsns; i++)
		f->insns[i].flags &= ~KNOWN;
}
