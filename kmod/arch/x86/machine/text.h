/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/text.h: opcodes and lengths in x86-64 text. Pure; assembler uses the
 * numbers, too.
 */
#ifndef _KINST_X86_TEXT_H
#define _KINST_X86_TEXT_H

#define KINST_BREAK 0xcc /* int3, one byte; also the padding between functions */

/* Bytes of the longest instruction. */
#define KINST_INSN_MOST 15

/* Bytes of one trampoline slot: enough for the longest relocated instruction. */
#define KINST_SLOT_SIZE 32

/* The jump that can replace a breakpoint: its first byte, its length, and the sizes of a detour. */
#define KINST_JUMP 0xe9
#define KINST_JUMP_LEN 5
#define KINST_DETOUR_LEN 64
#define KINST_DETOUR_COPIES 7 /* offset of the displaced instructions in a detour */

/* The module's text is within a jump's reach of the kernel's. */
#define KINST_NEAR_POOLS 0

/* Bytes that other code overwrites: an optimised kprobe, ftrace, a static call. */
#define KINST_OPT_LEN 5
#define KINST_FTRACE_LEN 5
#define KINST_STATIC_CALL_LEN 5

/* ftrace has no data before a function. */
#define KINST_FTRACE_BEFORE 0

/* A call leaves its return address on the stack, and the unwinder finds it at each instruction. */
#define KINST_LINK_REGISTER 0

/* A hit may write to the text: an instruction's first byte changes at once. */
#define KINST_HIT_STORES 1

/* ftrace saves all registers, and serves probes of a function's entry. */
#define KINST_FTRACE_SERVES 1

/* The reach of a short jump. */
#define KINST_SHORT 130

/* Bytes that may be a reference to an address in the text, and how many addresses they may refer to. */
#define KINST_REFERENCE_LEN 4
#define KINST_REFERENCES 2

#ifndef __ASSEMBLER__

/* The piece of text that a breakpoint replaces; written in one go. */
typedef u8 kinst_opcode_t;

/* The details of an instruction that relocation needs. */
struct kinst_machine_insn {
	u8 prefixes; /* bytes before the opcode */
	u8 modrm_at; /* offset of ModRM in bytes, 0: none */
	u8 disp_at; /* offset of a displacement relative to the instruction pointer, 0: none */
};

/* Whether an instruction is a breakpoint. */
static inline bool kinst_arch_is_break(const void *text)
{
	return *(const volatile u8 *)text == KINST_BREAK;
}

/* Whether the text begins like one of our breakpoints or jumps. */
static inline bool kinst_arch_may_be_ours(const void *text)
{
	return kinst_arch_is_break(text) || *(const u8 *)text == KINST_JUMP;
}

/* Fills text that is never executed; if it is reached nevertheless, it traps. */
static inline void kinst_arch_fill(void *text, size_t len)
{
	memset(text, KINST_BREAK, len);
}

/* The addresses that the bytes at addr may refer to, as a distance from their end or as an address. */
static inline void kinst_arch_references(const u8 *text, unsigned long addr, unsigned long to[KINST_REFERENCES])
{
	s32 value = (s32)(text[0] | text[1] << 8 | text[2] << 16 | (u32)text[3] << 24);

	to[0] = addr + KINST_REFERENCE_LEN + (long)value;
	to[1] = (unsigned long)(long)value;
}

#endif /* __ASSEMBLER__ */

#endif /* _KINST_X86_TEXT_H */
