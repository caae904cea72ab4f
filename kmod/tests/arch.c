// SPDX-License-Identifier: GPL-2.0
/*
 * arch.c: what arch/x86/insn.c says of instructions, for tests that know it from
 * elsewhere.
 *
 * stdin: runs of code, each a struct run and its bytes. stdout: a struct said for
 * each instruction, the last of a run with length 0.
 */
#include <stdio.h>

#include "../arch/arch.h"

#define MOST (1 << 20)

struct run {
	u64 addr;
	u64 slot; /* of the first instruction; the others have the same distance */
	u32 len;
	u32 reserved;
};

struct said {
	u64 addr;
	u64 target;
	u64 disp; /* of the operand of an indirect jump */
	u8 len; /* 0: what follows is no instruction, or nothing */
	u8 flow;
	u8 cond;
	u8 nop;
	u16 reason;
	u16 relocated; /* reason against the slot */
	u8 disp_at;
	u8 operand; /* it can be told */
	u8 memory;
	u8 base;
	u8 index;
	u8 shift;
	u8 modrm_at;
	u8 reserved;
	u8 slot[KINST_SLOT_SIZE];
};

static void say(const struct kinst_arch_insn *insn, const struct run *run)
{
	struct kinst_arch_operand op;
	struct said said = {
		.addr = insn->addr,
		.target = insn->target,
		.len = insn->len,
		.flow = insn->flow,
		.cond = insn->cond,
		.nop = insn->nop,
		.reason = insn->reason,
		.disp_at = insn->disp_at,
		.modrm_at = insn->modrm_at,
	};

	said.relocated = kinst_arch_relocate(insn, run->slot + (insn->addr - run->addr), said.slot);
	if (insn->flow == KINST_FLOW_JUMP_INDIRECT && kinst_arch_operand(insn, &op)) {
		said.operand = 1;
		said.memory = op.memory;
		said.base = op.base;
		said.index = op.index;
		said.shift = op.shift;
		said.disp = op.disp;
	}
	fwrite(&said, sizeof(said), 1, stdout);
}

int main(void)
{
	static u8 code[MOST + 16];
	struct said end = {};
	struct run run;

	while (fread(&run, sizeof(run), 1, stdin) == 1) {
		struct kinst_arch_insn insn;
		u32 at;

		if (run.len > MOST || fread(code, 1, run.len, stdin) != run.len)
			return 1;
		for (at = 0; at < run.len; at += insn.len) {
			/* Just the bytes that there are, where the sanitizer sees whoever reads on. */
			u8 *text = malloc(run.len - at > 16 ? 16 : run.len - at);
			bool ok;

			memcpy(text, code + at, run.len - at > 16 ? 16 : run.len - at);
			ok = kinst_arch_decode(&insn, text, run.len - at > 16 ? 16 : run.len - at, run.addr + at);
			free(text);
			if (!ok)
				break;
			say(&insn, &run);
		}
		end.addr = run.addr + at;
		fwrite(&end, sizeof(end), 1, stdout);
	}
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
