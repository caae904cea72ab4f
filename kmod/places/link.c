// SPDX-License-Identifier: GPL-2.0
/*
 * places/link.c: the instructions at which the caller's address is in the link register: before a function makes its
 * frame, after it has left it, and everywhere in a function without one that calls nothing. A walk over the frames that
 * begins there would miss the caller.
 */
#include "places/func.h"
#include "places/link.h"

/* The target of a branch that lies ahead is reached with the branch's own frame. */
static void kinst_link_ahead(struct kinst_func *f, const struct kinst_arch_insn *branch)
{
	const struct kinst_func_insn *to;
	enum kinst_reason reason;

	if (branch->target <= branch->addr || !kinst_func_has(f, branch->target))
		return;
	to = kinst_func_at(f, branch->target - f->start, &reason, NULL);
	if (to)
		f->insns[to - f->insns].flags |= KINST_INSN_LINKED;
}

/*
 * In the order of the text. Code that nothing before it leads to has a frame: compilers put it behind a loop, or it is a
 * case of a switch.
 */
void kinst_mark_linked(struct kinst_func *f)
{
	bool linked = true, falls = true;
	struct kinst_arch_insn insn;
	u32 i;

	for (i = 0; i < f->ninsns; i++) {
		struct kinst_func_insn *at = &f->insns[i];

		if (!falls)
			linked = at->flags & KINST_INSN_LINKED;
		at->flags &= ~KINST_INSN_LINKED;
		if (linked)
			at->flags |= KINST_INSN_LINKED;
		kinst_func_decode(f, at, &insn);
		if (linked && (insn.flow == KINST_FLOW_BRANCH || insn.flow == KINST_FLOW_JUMP))
			kinst_link_ahead(f, &insn);
		if (insn.frame)
			linked = insn.frame == KINST_FRAME_LEFT;
		if (kinst_arch_calls(&insn))
			linked = false;
		falls = !kinst_arch_ends(&insn);
	}
}
