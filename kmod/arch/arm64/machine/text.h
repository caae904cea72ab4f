/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/text.h: opcodes and lengths in arm64 text. Pure; assembler uses the numbers, too.
 */
#ifndef _KINST_ARM64_TEXT_H
#define _KINST_ARM64_TEXT_H

/*
 * brk, with numbers that nothing else in the kernel uses (asm/brk-imm.h): a probe's, and the two that end a slot from
 * which a branch does not reach, and continue at one of its addresses.
 */
#define KINST_BRK(number) (0xd4200000 | (number) << 5)
#define KINST_BREAK KINST_BRK(0x6b69)
#define KINST_TO_NEXT KINST_BRK(0x6b6a)
#define KINST_TO_TARGET KINST_BRK(0x6b6b)

/* Bytes of every instruction. */
#define KINST_INSN_MOST 4

/*
 * Bytes of one trampoline slot: the code, then two addresses: of the next instruction and of the branch's target, or
 * of what the instruction loads.
 */
#define KINST_SLOT_SIZE 64
#define KINST_SLOT_NEXT 48
#define KINST_SLOT_TARGET 56

/*
 * The jump that can replace a breakpoint, and the sizes of a detour: a slot with the call of the entry before its code,
 * and the entry's address before the others. The call needs so many bytes of stack, for the registers (struct pt_regs).
 */
#define KINST_JUMP_LEN 4
#define KINST_DETOUR_LEN KINST_SLOT_SIZE
#define KINST_DETOUR_COPIES 28 /* offset of the displaced instruction in a detour */
#define KINST_DETOUR_CALLEE 40
#define KINST_DETOUR_FRAME 352

/* The module's text may be out of a branch's reach from the kernel's, so there are pools near the kernel: at most so many. */
#define KINST_NEAR_POOLS 16

/* Bytes that other code overwrites: a kprobe, ftrace, a static call. */
#define KINST_OPT_LEN 4
#define KINST_FTRACE_LEN 4
#define KINST_STATIC_CALL_LEN 4

/* Data before a function with a site: where ftrace finds its callers. */
#if defined(__KERNEL__) && defined(CONFIG_DYNAMIC_FTRACE_WITH_CALL_OPS)
#define KINST_FTRACE_BEFORE 8
#else
#define KINST_FTRACE_BEFORE 0
#endif

/* A call leaves its return address in a register. */
#define KINST_LINK_REGISTER 1

/* A hit cannot write to the text: the other processors would have to wait. */
#define KINST_HIT_STORES 0

/* Whether the processor may check that indirect calls and jumps lead to landing pads (BTI). */
#if defined(__KERNEL__) && defined(CONFIG_ARM64_BTI_KERNEL)
#define KINST_LANDING_PADS 1
#else
#define KINST_LANDING_PADS 0
#endif

/* ftrace does not save all registers, so entries are breakpoints. */
#define KINST_FTRACE_SERVES 0

/* A jump covers one instruction, so no reference to the middle of it exists. */
#define KINST_SHORT 0
#define KINST_REFERENCE_LEN 4
#define KINST_REFERENCES 1

#ifndef __ASSEMBLER__

/* The piece of text that a breakpoint replaces; written in one go. */
typedef u32 kinst_opcode_t;

/* The details of an instruction that relocation needs. */
struct kinst_machine_insn {
	unsigned long address; /* that it computes or loads from, relative to its own */
	u8 kind; /* enum kinst_arm64_kind, in insn.c */
};

/*
 * The condition of a branch: one of the flags' conditions; or whether a register (bits 0 to 4), or (with 0x1000) all 64
 * bits of it, or one bit of it (bits 5 to 10), is zero, or (with 0x2000) is not.
 */
#define KINST_COND_FLAGS 0x4000
#define KINST_COND_ZERO 0x8000
#define KINST_COND_BIT 0xc000
#define KINST_COND_NOT 0x2000
#define KINST_COND_WIDE 0x1000

static inline u32 kinst_arch_word(const void *text)
{
	return *(const volatile u32 *)text;
}

/* Whether an instruction is a breakpoint. */
static inline bool kinst_arch_is_break(const void *text)
{
	return kinst_arch_word(text) == KINST_BREAK;
}

/* Whether the text begins like one of our breakpoints or jumps. */
static inline bool kinst_arch_may_be_ours(const void *text)
{
	return kinst_arch_is_break(text) || (kinst_arch_word(text) & 0xfc000000) == 0x14000000;
}

/* Fills text that is never executed; if it is reached nevertheless, it traps. */
static inline void kinst_arch_fill(void *text, size_t len)
{
	u32 fill = KINST_BREAK;
	size_t at;

	for (at = 0; at + sizeof(fill) <= len; at += sizeof(fill))
		memcpy((u8 *)text + at, &fill, sizeof(fill));
}

/* No place inside an instruction can be referred to. */
static inline void kinst_arch_references(const u8 *text, unsigned long addr, unsigned long to[KINST_REFERENCES])
{
	to[0] = 0;
}

#endif /* __ASSEMBLER__ */

#endif /* _KINST_ARM64_TEXT_H */
