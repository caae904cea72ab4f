// SPDX-License-Identifier: GPL-2.0
/*
 * kprobes.c: writes out which instructions kprobes refuses on arm64, by the kernel's own decoder of a source tree.
 *
 * stdin: a u32 with the number of instructions, then these; and in the same form the indices of the instructions at
 * which functions begin, in order. stdout: a byte for each instruction: 1 if its kind is refused, 2 if it may be
 * between an exclusive load and its store.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The kernel's interfaces that the decoder uses; their headers are empty here. */
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef u32 probe_opcode_t, kprobe_opcode_t;
typedef u32 __le32;
struct pt_regs;
typedef void probes_handler_t(u32 opcode, long addr, struct pt_regs *regs);
struct arch_probe_insn {
	probes_handler_t *handler;
};
struct arch_specific_insn {
	struct arch_probe_insn api;
};
#define CONFIG_KPROBES 1
#define __kprobes
#define le32_to_cpu(word) (word)
#define cpu_to_le32(word) (word)
#define BIT(n) (1ul << (n))
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "in the kernel")
#define WARN_ON(condition) (condition)

static bool kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size, unsigned long *offset);

#include "decode-insn.c"

/* The number of a system register. */
u32 aarch64_insn_extract_system_reg(u32 insn)
{
	return insn >> 5 & 0xffff;
}

/* The functions that simulate instructions; only their addresses matter. */
#define SIMULATE(name) void name(u32 opcode, long addr, struct pt_regs *regs) {}
SIMULATE(simulate_adr_adrp)
SIMULATE(simulate_b_bl)
SIMULATE(simulate_b_cond)
SIMULATE(simulate_br_blr)
SIMULATE(simulate_br_blr_ret)
SIMULATE(simulate_ret)
SIMULATE(simulate_cbz_cbnz)
SIMULATE(simulate_tbz_tbnz)
SIMULATE(simulate_ldr_literal)
SIMULATE(simulate_ldrsw_literal)
SIMULATE(simulate_nop)

static u32 *text, *starts, ntext, nstarts;
static bool in_functions;

static bool kallsyms_lookup_size_offset(unsigned long addr, unsigned long *size, unsigned long *offset)
{
	u32 at = (u32 *)addr - text, low = 0, high = nstarts;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (starts[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !in_functions)
		return false;
	*offset = (at - starts[low - 1]) * sizeof(*text);
	return true;
}

static bool refuses(u32 *at)
{
	struct arch_specific_insn insn;

	return arm_kprobe_decode_insn(at, &insn) == INSN_REJECTED;
}

/* Exits if the input ends too early. */
static u32 *numbers(u32 *count)
{
	u32 *all = NULL;

	if (fread(count, sizeof(*count), 1, stdin) == 1)
		all = calloc(*count + 1, sizeof(*all));
	if (!all || fread(all, sizeof(*all), *count, stdin) != *count)
		exit(1);
	return all;
}

int main(void)
{
	u32 i;

	text = numbers(&ntext);
	starts = numbers(&nstarts);
	for (i = 0; i < ntext; i++) {
		bool kind, place;

		in_functions = false;
		kind = refuses(&text[i]);
		in_functions = true;
		place = !kind && refuses(&text[i]);
		putchar(kind | place << 1);
	}
	return fflush(stdout) ? 1 : 0;
}
