// SPDX-License-Identifier: GPL-2.0
/*
 * decode.c: writes out the analysis of instructions by arch/arm64/insn.c, for tests that compare it with other sources.
 *
 * Usage: decode ADDRESS. stdin: the code that runs there. stdout: a struct said for each instruction.
 */
#include <stdio.h>

#include "arch/arch.h"

struct said {
	u64 target; /* of a branch, or of an address that it computes or loads from */
	u16 reason;
	u16 cond;
	u8 flow;
	u8 kind;
	u8 exclusive;
	u8 nop;
};

int main(int argc, char **argv)
{
	unsigned long addr = argc > 1 ? strtoul(argv[1], NULL, 16) : 0;
	struct kinst_arch_insn insn;
	u8 text[KINST_INSN_MOST];

	for (; fread(text, sizeof(text), 1, stdin) == 1; addr += sizeof(text)) {
		struct said said;

		if (!kinst_arch_decode(&insn, text, sizeof(text), addr))
			return 1;
		said = (struct said){
			.target = insn.target ?: insn.machine.address,
			.reason = insn.reason,
			.cond = insn.cond,
			.flow = insn.flow,
			.kind = insn.machine.kind,
			.exclusive = insn.exclusive,
			.nop = insn.nop,
		};
		fwrite(&said, sizeof(said), 1, stdout);
	}
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
