// SPDX-License-Identifier: GPL-2.0
/*
 * arch.c: writes out the analysis of instructions by arch/x86/insn.c, for tests that compare
 * it with other sources.
 *
 * stdin: runs of code, each a struct run and its bytes. stdout: a struct said for
 * each instruction, and one with length 0 at the end of a run.
 */
#include <stdio.h>

#include "arch/arch.h"

#define MOST (1 << 20)

struct run {
	u64 addr;
	u64 slot; /* of the first instruction; every other slot is at the same distance from its instruction */
	u32 len;
	u32 reserved;
};

struct said {
	u64 addr;
	u64 target;
	u64 disp; /* of the operand of an indirect jump */
	u8 len; /* 0: the next bytes are not an instruction, or at the end */
	u8 flow;
	u8 cond;
	u8 nop;
	u16 reason;
	u16 relocated; /* reason against a slot, or KINST_OK */
	u8 disp_at;
	u8 operand; /* whether its operand could be decoded */
	u8 memory;
	u8 base;
	u8 index;
	u8 shift;
	u8 modrm_at;
	u8 covered; /* instructions in the detour; 0: no detour */
	u8 slot[KINST_SLOT_SIZE];
	u8 detour[KINST_DETOUR_LEN]; /* for the slot's address; calls the first slot's address */
};

/* Decodes the bytes in memory of exactly their size, so that the sanitizer catches a read past them. */
static bool decode(struct kinst_arch_insn *insn, const u8 *code, u32 avail, u64 addr)
{
	u32 len = avail > 16 ? 16 : avail;
	u8 *text = malloc(len);
	bool ok;

	memcpy(text, code, len);
	ok = kinst_arch_decode(insn, text, len, addr);
	free(text);
	return ok;
}

/* Makes the detour of the instructions that a jump at the first would cover. */
static void say_detour(struct said *said, const struct kinst_arch_insn *first, const u8 *code, const struct run *run)
{
	struct kinst_arch_insn insns[KINST_JUMP_LEN] = { *first };
	unsigned long slot = run->slot + (first->addr - run->addr);
	u32 at = first->addr - run->addr + first->len, n = 1;
	u8 copies[KINST_JUMP_LEN];

	while (at - (first->addr - run->addr) < KINST_JUMP_LEN && at < run->len) {
		if (!decode(&insns[n], code + at, run->len - at, run->addr + at))
			return;
		at += insns[n++].len;
	}
	if (!kinst_arch_detour(insns, n, slot, run->slot, said->detour, copies))
		said->covered = n;
}

static void say(const struct kinst_arch_insn *insn, const u8 *code, const struct run *run)
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
		.disp_at = insn->machine.disp_at,
		.modrm_at = insn->machine.modrm_at,
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
	say_detour(&said, insn, code, run);
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
			if (!decode(&insn, code + at, run.len - at, run.addr + at))
				break;
			say(&insn, code, &run);
		}
		end.addr = run.addr + at;
		fwrite(&end, sizeof(end), 1, stdout);
	}
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
