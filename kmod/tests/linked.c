// SPDX-License-Identifier: GPL-2.0
/*
 * linked.c: writes out at which instructions the caller is in the link register, by places/link.c, for a test that
 * compares it with call frame information.
 *
 * stdin: functions: a struct function each, and the code. stdout: a byte for each instruction, 1 if it is.
 */
#include <stdio.h>

#include "places/func.h"
#include "places/link.h"

struct function {
	u64 address;
	u64 size;
};

/* All instructions have one length. */
const struct kinst_func_insn *kinst_func_at(const struct kinst_func *f, u32 offset, enum kinst_reason *reason,
					    struct kinst_result *res)
{
	*reason = KINST_OK;
	return &f->insns[offset / KINST_INSN_MOST];
}

void kinst_func_decode(const struct kinst_func *f, const struct kinst_func_insn *at, struct kinst_arch_insn *insn)
{
	kinst_arch_decode(insn, f->text + at->offset, f->size - at->offset, f->start + at->offset);
}

static bool answer(const struct function *function)
{
	struct kinst_func f = { .start = function->address, .size = function->size };
	bool good;
	u32 i;

	f.ninsns = f.size / KINST_INSN_MOST;
	f.text = malloc(f.size);
	f.insns = calloc(f.ninsns, sizeof(*f.insns));
	good = f.text && f.insns && fread(f.text, f.size, 1, stdin) == 1;
	if (good) {
		for (i = 0; i < f.ninsns; i++)
			f.insns[i] = (struct kinst_func_insn){ .offset = i * KINST_INSN_MOST, .len = KINST_INSN_MOST };
		kinst_mark_linked(&f);
		for (i = 0; i < f.ninsns; i++)
			putchar(!!(f.insns[i].flags & KINST_INSN_LINKED));
	}
	free(f.insns);
	free(f.text);
	return good;
}

int main(void)
{
	struct function function;

	while (fread(&function, sizeof(function), 1, stdin) == 1)
		if (!answer(&function))
			return 1;
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
