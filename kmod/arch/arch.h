/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arch.h: what an architecture provides to the rest of the module.
 *
 * Everything outside __KERNEL__ is pure and also builds in user space: it reads no
 * memory except the bytes that it is given, and writes nothing except the result.
 */
#ifndef _KINST_ARCH_H
#define _KINST_ARCH_H

#ifdef __KERNEL__
#include <linux/string.h>
#include <linux/types.h>
#include "include/uapi/kinst.h"
#else
#include "tests/shim.h"
#endif

#include <machine/text.h>

/* The flow of control after an instruction. */
enum kinst_flow {
	KINST_FLOW_NEXT = 0,
	KINST_FLOW_JUMP, /* to target */
	KINST_FLOW_BRANCH, /* to target or to the next instruction, by a condition */
	KINST_FLOW_CALL, /* to target, and back */
	KINST_FLOW_CALL_INDIRECT,
	KINST_FLOW_JUMP_INDIRECT, /* to an address in a register or in memory */
	KINST_FLOW_RET,
	KINST_FLOW_STOP, /* a trap; does not fall through */
};

/* The part of an instruction in a sequence that a trap breaks: an exclusive load to an exclusive store. */
enum kinst_exclusive {
	KINST_EXCLUSIVE_NO = 0,
	KINST_EXCLUSIVE_BEGINS,
	KINST_EXCLUSIVE_ENDS,
};

/* The instruction's part in a function's frame, on machines with a link register (KINST_LINK_REGISTER). */
enum kinst_frame {
	KINST_FRAME_KEPT = 0,
	KINST_FRAME_MADE, /* the frame register points to the frame from here on */
	KINST_FRAME_LEFT, /* it points to the caller's, and the link register is restored */
};

/* One decoded instruction. */
struct kinst_arch_insn {
	unsigned long addr;
	unsigned long target; /* of a direct jump, branch or call */
	u16 reason; /* why it cannot run in a slot, or KINST_OK */
	u8 len;
	u8 flow; /* enum kinst_flow */
	u16 cond; /* of a BRANCH: which condition, for kinst_arch_taken(); never 0 */
	u8 nop; /* does nothing: a place that the kernel may have patched */
	u8 exclusive; /* enum kinst_exclusive */
	u8 frame; /* enum kinst_frame */
	struct kinst_machine_insn machine;
	u8 bytes[16];
};

/*
 * Decodes the instruction at text, of at most avail bytes, that runs at addr.
 * False if the bytes are not an instruction.
 */
bool kinst_arch_decode(struct kinst_arch_insn *insn, const u8 *text, size_t avail, unsigned long addr);

/*
 * Writes into out[KINST_SLOT_SIZE] code that does at the address slot exactly what
 * the instruction does at its original address, and then continues where the original would.
 * Fills the rest of out with breakpoints. Returns KINST_OK or the reason why it cannot be done.
 */
enum kinst_reason kinst_arch_relocate(const struct kinst_arch_insn *insn, unsigned long slot, u8 *out);

/*
 * Writes into out[KINST_DETOUR_LEN] a detour for the address slot: a call to
 * entry with the flags saved around it, then code that does exactly what the n
 * consecutive instructions do, and continues where they would. All but the last
 * must fall through to the next one, or branch out of them. at[0..n) are set to
 * the offsets of the copies.
 */
enum kinst_reason kinst_arch_detour(const struct kinst_arch_insn *insns, unsigned int n, unsigned long slot,
				    unsigned long entry, u8 *out, u8 *at);

/* Whether the copy of the instruction pushes a return address before it transfers control. */
static inline bool kinst_arch_calls(const struct kinst_arch_insn *insn)
{
	return insn->flow == KINST_FLOW_CALL || insn->flow == KINST_FLOW_CALL_INDIRECT;
}

/* Whether control does not go on to the next instruction. */
static inline bool kinst_arch_ends(const struct kinst_arch_insn *insn)
{
	return insn->flow == KINST_FLOW_JUMP || insn->flow == KINST_FLOW_JUMP_INDIRECT || insn->flow == KINST_FLOW_RET ||
	       insn->flow == KINST_FLOW_STOP;
}

/* Whether the instruction is a branch that changes only the instruction pointer, for kinst_arch_taken(). */
bool kinst_arch_only_branches(const struct kinst_arch_insn *insn);

/* Encodes a jump at the address from, KINST_JUMP_LEN bytes. False if it does not reach. */
bool kinst_arch_jump(unsigned long from, unsigned long to, u8 *out);

#define KINST_NO_REG 0xff

/* The operand of an indirect jump: a register, or memory at base + index * 2^shift + disp. */
struct kinst_arch_operand {
	unsigned long disp;
	u8 base; /* register number, or KINST_NO_REG */
	u8 index;
	u8 shift;
	bool memory;
};

/* Decodes the operand of an indirect jump. False if kinst_arch_operand_at() cannot evaluate it. */
bool kinst_arch_operand(const struct kinst_arch_insn *insn, struct kinst_arch_operand *op);

/* The register that the thunk of this name jumps through, or KINST_NO_REG if it is not such a thunk. */
u8 kinst_arch_thunk(const char *name);

/*
 * The address to which the jump label of len bytes at addr leads, according to its current
 * bytes. While the kernel rewrites it, it begins with a breakpoint, and the rest decides.
 */
unsigned long kinst_arch_label(const u8 *text, u8 len, unsigned long addr);

#ifdef __KERNEL__
struct exception_table_entry;

#include <machine/cpu.h>
#include <machine/regs.h>

/* ---- traps ---- */

/* Handles a hit of the breakpoint at addr. False if another tool set it. Context: interrupts off, NMI-like, any stack. */
typedef bool (*kinst_arch_trap_fn)(struct pt_regs *regs, unsigned long addr);

/* Makes the kernel's breakpoints call trap(), and its mirror. */
int kinst_arch_hook_traps(kinst_arch_trap_fn trap);
void kinst_arch_unhook_traps(void);

/* ---- the text ---- */

/* Writes to the running kernel's text; all CPUs see it after kinst_arch_poke_sync(). With the patch lock held. */
void kinst_arch_poke(unsigned long addr, const void *bytes, size_t len);
void kinst_arch_poke_sync(void);

/*
 * Replaces the first opcode of an instruction by a breakpoint, or the reverse. If that is allowed only while the other CPUs
 * wait, it is collected, and in memory after kinst_arch_replace_now(). False if kinst_arch_poke() may do it.
 */
bool kinst_arch_replace(unsigned long addr, kinst_opcode_t opcode);
void kinst_arch_replace_now(void);

/*
 * Copies the original instruction at addr to buf if a kprobe has replaced it, and returns where it is: buf, or addr
 * itself; 0 if it is unknown.
 */
unsigned long kinst_arch_under_kprobe(u8 *buf, unsigned long addr);

/* Whether the kernel may rewrite an instruction in [first, last] at any time, as an alternative. */
bool kinst_arch_is_rewritten(unsigned long first, unsigned long last);

/* Whether the function is called at a breakpoint before our handler, according to a list that changes. */
bool kinst_arch_is_before_us(unsigned long start);

/* Only if KINST_HIT_STORES: writes to the text through a second mapping, from any context; followed by kinst_arch_poke_sync(). */
void kinst_arch_store(kinst_opcode_t *alias, kinst_opcode_t value);

/* The same: whether writes through a second mapping must be repeated after the synchronization, and synchronized again. */
bool kinst_arch_stores_again(void);

/*
 * Computes the words that give the entry, which is in the module's own table, this fixup and the type and data of
 * like. Returns the address to write them to.
 */
unsigned long kinst_arch_extable(const struct exception_table_entry *entry, const struct exception_table_entry *like,
				 unsigned long fixup, int words[2]);

/* Whether a jump to target returns: the kernel's return thunks replace return instructions. Needs the patch lock. */
bool kinst_arch_is_return_thunk(unsigned long target);

/* The register that the thunk at target jumps through, or KINST_NO_REG if target is not such a thunk. */
u8 kinst_arch_thunk_register(unsigned long target);

/* Whether an indirect jump is known to be a tail call, not one through a jump table. */
bool kinst_arch_is_tail_call(const struct kinst_arch_insn *insn);

/* ---- the trap path ---- */

/*
 * Lists of function names, each ended by NULL. Names: the functions between a trap and our handler; the functions
 * that run while no trap is handled; the roots of the walk over the calls on the trap path. Prefixes of names: more
 * functions that run while no trap is handled; where all walks end, and where the walk over code without handlers ends.
 */
extern const char *const kinst_arch_trap_path[];
extern const char *const kinst_arch_no_trap[];
extern const char *const kinst_arch_no_trap_names[];
extern const char *const kinst_arch_walk_roots[];
extern const char *const kinst_arch_walk_ends[];
extern const char *const kinst_arch_no_trap_ends[];
extern const char *const kinst_arch_until_handlers[];
extern const char *const kinst_arch_sets_handlers[];

/*
 * Functions that set up this processor's handlers, if the walk over them must include the functions that log a line;
 * else NULL. If the walk reaches _printk(), it also begins at the log's roots.
 */
const char *const *kinst_arch_set_up_roots(void);
extern const char *const kinst_arch_log_roots[];

/* Whether the instruction loads the table of trap handlers. */
bool kinst_arch_loads_handlers(const struct kinst_arch_insn *insn);

/* Whether this names a thunk that compilers or alternatives substitute for returns and indirect calls. */
bool kinst_arch_is_thunk_name(const char *name);

/* ---- memory ---- */

/* Whether the address space in use is the current task's. Context: any, interrupts off. */
bool kinst_arch_uaccess_okay(void);

/* Whether one of the n bytes from addr on is, or may be, a device register. Context: any, NMI included. */
bool kinst_arch_is_device(unsigned long addr, size_t n);
#endif

#endif /* _KINST_ARCH_H */
