// SPDX-License-Identifier: GPL-2.0
/*
 * places/exclusive.c: the instructions between an exclusive load and the store that ends it, on machines that have them. A
 * trap there makes the store fail, and the loop around both never ends.
 */
#include "places/exclusive.h"
#include "places/func.h"

/* Instructions that an exclusive sequence has at most: the architecture guarantees progress for far fewer. */
#define KINST_SEQUENCE_MOST 64

/*
 * How many instructions from i on, in the order of the text, belong to the sequence: all up to the last from which its
 * store can be reached. 0 if none.
 */
static u32 kinst_sequence(const struct kinst_func *f, u32 i, u32 room)
{
	const struct kinst_func_insn *to;
	struct kinst_arch_insn insn;
	enum kinst_reason reason;
	u32 n, last = 0;

	for (n = 1; n <= room && i + n <= f->ninsns; n++) {
		kinst_func_decode(f, &f->insns[i + n - 1], &insn);
		if (insn.exclusive == KINST_EXCLUSIVE_ENDS)
			return n;
		if (n > 1 && insn.exclusive == KINST_EXCLUSIVE_BEGINS)
			break; /* the beginning of another */
		if ((insn.flow == KINST_FLOW_BRANCH || insn.flow == KINST_FLOW_JUMP) && insn.target > insn.addr &&
		    kinst_func_has(f, insn.target)) {
			to = kinst_func_at(f, insn.target - f->start, &reason, NULL);
			if (to && kinst_sequence(f, to - f->insns, room - n))
				last = n;
		}
		/* No compiler leaves a function in between. */
		if (insn.flow != KINST_FLOW_NEXT && insn.flow != KINST_FLOW_BRANCH)
			break;
	}
	return last;
}

/* Marks the sequence, and those parts of it that its branches lead to. */
static void kinst_mark_sequence(struct kinst_func *f, u32 i, u32 room)
{
	u32 n = kinst_sequence(f, i, room), end = i + n;
	const struct kinst_func_insn *to;
	struct kinst_arch_insn insn;
	enum kinst_reason reason;

	for (; i < end; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (!f->insns[i].reason)
			f->insns[i].reason = KINST_R_INSN_EXCLUSIVE;
		if (insn.flow == KINST_FLOW_BRANCH && insn.target > f->start + f->insns[end - 1].offset &&
		    kinst_func_has(f, insn.target)) {
			to = kinst_func_at(f, insn.target - f->start, &reason, NULL);
			if (to)
				kinst_mark_sequence(f, to - f->insns, room - n);
		}
	}
}

void kinst_mark_exclusive(struct kinst_func *f)
{
	struct kinst_arch_insn insn;
	u32 i;

	if (!f->exclusive)
		return;
	for (i = 0; i < f->ninsns; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.exclusive == KINST_EXCLUSIVE_BEGINS)
			kinst_mark_sequence(f, i, KINST_SEQUENCE_MOST);
	}
}
