/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arch.h: what an architecture provides to the rest of the module.
 *
 * Pure, so that it also builds in user space: no memory is read but the bytes
 * that are given, and nothing is written but the result.
 */
#ifndef _KINST_ARCH_H
#define _KINST_ARCH_H

#ifdef __KERNEL__
#include <linux/types.h>
#include "include/uapi/kinst.h"
#else
#include "tests/shim.h"
#endif

/* Bytes of one trampoline slot, room for the longest relocated instruction. */
#define KINST_SLOT_SIZE 32

#define KINST_BREAK 0xcc /* the breakpoint, one byte */

/* The jump that can stand in its place: its first byte, its length, and what it leads to. */
#define KINST_JUMP 0xe9
#define KINST_JUMP_LEN 5
#define KINST_DETOUR_LEN 64
#define KINST_DETOUR_COPIES 7 /* offset of the displaced instructions in a detour */

/* Where control goes after an instruction. */
enum kinst_flow {
	KINST_FLOW_NEXT = 0,
	KINST_FLOW_JUMP, /* to target */
	KINST_FLOW_BRANCH, /* to target or to the next, by a condition */
	KINST_FLOW_CALL, /* to target, and back */
	KINST_FLOW_CALL_INDIRECT,
	KINST_FLOW_JUMP_INDIRECT, /* to an address in a register or in memory */
	KINST_FLOW_RET,
	KINST_FLOW_STOP, /* a trap; what follows is not reached through it */
};

/* One decoded instruction. */
struct kinst_arch_insn {
	unsigned long addr;
	unsigned long target; /* of a direct jump, branch or call */
	u16 reason; /* why it cannot run in a slot, or KINST_OK */
	u8 len;
	u8 flow; /* enum kinst_flow */
	u8 cond; /* of a BRANCH: its opcode, for kinst_arch_taken() */
	u8 prefixes; /* bytes before the opcode */
	u8 modrm_at; /* offset of ModRM in bytes, 0: none */
	u8 nop; /* it does nothing: a place that the kernel may have patched */
	u8 disp_at; /* offset of a displacement relative to the instruction pointer, 0: none */
	u8 bytes[16];
};

/*
 * Decodes the instruction at text, at most avail bytes, that runs at addr.
 * False when the bytes are no instruction.
 */
bool kinst_arch_decode(struct kinst_arch_insn *insn, const u8 *text, size_t avail, unsigned long addr);

/*
 * Writes into out[KINST_SLOT_SIZE] what does at the address slot just what the
 * instruction does at its own, and then goes on where it would. The rest of out
 * are breakpoints. Returns KINST_OK or the reason why it cannot be done.
 */
enum kinst_reason kinst_arch_relocate(const struct kinst_arch_insn *insn, unsigned long slot, u8 *out);

/*
 * Writes into out[KINST_DETOUR_LEN] a detour for the address slot: a call of
 * entry with the flags saved around it, then what does just what the n
 * instructions do, which stand one after the other, and goes on where they would.
 * Of all but the last, control must come to the next one, or be led out of them by
 * a branch. at[0..n) are the offsets at which the copies begin.
 */
enum kinst_reason kinst_arch_detour(const struct kinst_arch_insn *insns, unsigned int n, unsigned long slot,
				    unsigned long entry, u8 *out, u8 *at);

/* Does the copy of the instruction push a return address before it goes anywhere? */
static inline bool kinst_arch_calls(const struct kinst_arch_insn *insn)
{
	return insn->flow == KINST_FLOW_CALL || insn->flow == KINST_FLOW_CALL_INDIRECT;
}

/* Writes the jump at the address from, KINST_JUMP_LEN bytes. False: it does not reach. */
bool kinst_arch_jump(unsigned long from, unsigned long to, u8 *out);

#define KINST_NO_REG 0xff

/* What an indirect jump reads: a register, or memory at base + index * 2^shift + disp. */
struct kinst_arch_operand {
	unsigned long disp;
	u8 base; /* number of a register, or KINST_NO_REG */
	u8 index;
	u8 shift;
	bool memory;
};

/* The operand of an indirect jump. False: none that kinst_arch_operand_at() could tell. */
bool kinst_arch_operand(const struct kinst_arch_insn *insn, struct kinst_arch_operand *op);

/* The register that a thunk of this name jumps through, or KINST_NO_REG: it is no such thunk. */
u8 kinst_arch_thunk(const char *name);

/*
 * Where the jump label of len bytes at addr leads, as it is in memory now. While
 * the kernel is writing it, a breakpoint stands there, and what follows tells.
 */
unsigned long kinst_arch_label(const u8 *text, u8 len, unsigned long addr);

#ifdef __KERNEL__
/* Is one of the n bytes from addr on a register of a device, or may it be? Context: any, NMI included. */
bool kinst_arch_is_device(unsigned long addr, size_t n);

#include <machine/cpu.h>
#include <machine/regs.h>
#endif

#endif /* _KINST_ARCH_H */
