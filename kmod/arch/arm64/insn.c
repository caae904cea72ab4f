// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/insn.c: the decoding of arm64 instructions and their relocation to another address.
 * Pure: (bytes, address, slot) to (bytes or a reason).
 *
 * A slot holds the instruction, changed where its meaning depends on its address, and continues where it would have
 * continued. All but the instructions of this file mean the same at any address.
 */
#include "context.h"
#include "arch/arch.h"

#ifdef __KERNEL__
#include <linux/kprobes.h>
#endif

enum kinst_arm64_kind {
	KIND_PLAIN = 0, /* means the same anywhere */
	KIND_BRANCH, /* with a condition: b.cond, cbz, cbnz, tbz, tbnz */
	KIND_ADR, /* adr and adrp: the address is machine.address */
	KIND_LOAD, /* of a general register, from machine.address */
	KIND_LOAD_SIGNED, /* ldrsw */
	KIND_PREFETCH,
	KIND_PAD, /* bti, paciasp, pacibsp: where an indirect branch may lead, if the processor checks it; plain otherwise */
};

#define NOP 0xd503201f
#define B 0x14000000

static u32 bits(u32 word, unsigned int from, unsigned int n)
{
	return word >> from & ((1u << n) - 1);
}

/* The number in n bits from the given bit on, as a signed distance of that many units. */
static long distance(u32 word, unsigned int from, unsigned int n, unsigned int unit)
{
	long value = bits(word, from, n);

	if (value >> (n - 1))
		value -= 1L << n;
	return value * (long)unit;
}

/*
 * Exceptions, system registers and hints. What reads or changes the processor's state runs in a slot as it is: the return
 * from the trap restores the state of the probed code.
 */
static void decode_system(struct kinst_arch_insn *out, u32 word)
{
	/* svc, hvc, smc, brk, hlt, dcps */
	if ((word & 0xff000000) == 0xd4000000) {
		switch (word & 0xffe0001f) {
		case 0xd4000002: /* hvc */
		case 0xd4000003: /* smc */
			return;
		}
		out->reason = KINST_R_INSN_TRAP;
		out->flow = KINST_FLOW_STOP;
		return;
	}
	if (word == NOP)
		out->nop = 1;
	/* paciasp, pacibsp, bti */
	if (word == 0xd503233f || word == 0xd503237f || (word & 0xffffff3f) == 0xd503241f)
		out->machine.kind = KIND_PAD;
	/* clrex */
	if ((word & 0xfffff0ff) == 0xd503305f)
		out->exclusive = KINST_EXCLUSIVE_ENDS;
}

static void decode_register_branch(struct kinst_arch_insn *out, u32 word)
{
	u32 op = bits(word, 21, 4);

	/* bit 24: with an address that is signed by a second register */
	switch (op & 7) {
	case 0: /* br */
		out->flow = KINST_FLOW_JUMP_INDIRECT;
		break;
	case 1: /* blr */
		out->flow = KINST_FLOW_CALL_INDIRECT;
		/* The slot changes x30 first. A target may accept a call, but not the slot's jump. */
		if (bits(word, 5, 5) == 30)
			out->reason = KINST_R_INSN_RSP;
		else if (KINST_LANDING_PADS)
			out->reason = KINST_R_INSN_LANDING_PAD;
		break;
	case 2: /* ret */
		out->flow = KINST_FLOW_RET;
		break;
	default: /* eret, drps */
		out->reason = KINST_R_INSN_IRET;
		out->flow = KINST_FLOW_STOP;
	}
	/* blraa and its kin check the address with x30 as it is. */
	if ((op & 7) == 1 && bits(word, 10, 6) && bits(word, 24, 1) && bits(word, 0, 5) == 30)
		out->reason = KINST_R_INSN_RSP;
}

static void decode_branch(struct kinst_arch_insn *out, u32 word)
{
	if ((word & 0x7c000000) == B) { /* b, bl */
		out->flow = word >> 31 ? KINST_FLOW_CALL : KINST_FLOW_JUMP;
		out->target = out->addr + distance(word, 0, 26, 4);
	} else if ((word & 0xff000000) == 0x54000000) { /* b.cond, bc.cond */
		out->flow = KINST_FLOW_BRANCH;
		out->cond = KINST_COND_FLAGS | bits(word, 0, 4);
		out->target = out->addr + distance(word, 5, 19, 4);
		out->machine.kind = KIND_BRANCH;
	} else if ((word & 0x7e000000) == 0x34000000) { /* cbz, cbnz */
		out->flow = KINST_FLOW_BRANCH;
		out->cond = KINST_COND_ZERO | bits(word, 24, 1) << 13 | bits(word, 31, 1) << 12 | bits(word, 0, 5);
		out->target = out->addr + distance(word, 5, 19, 4);
		out->machine.kind = KIND_BRANCH;
	} else if ((word & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		out->flow = KINST_FLOW_BRANCH;
		out->cond = KINST_COND_BIT | bits(word, 24, 1) << 13 | bits(word, 31, 1) << 10 | bits(word, 19, 5) << 5 |
			    bits(word, 0, 5);
		out->target = out->addr + distance(word, 5, 14, 4);
		out->machine.kind = KIND_BRANCH;
	} else if ((word & 0xfe000000) == 0xd6000000) {
		decode_register_branch(out, word);
	} else if ((word & 0xfe000000) == 0xd4000000) {
		decode_system(out, word);
	} else {
		out->reason = KINST_R_UNDECODABLE;
	}
}

/* Loads and stores: literals, and exclusive ones, between which no exception may be taken. */
static void decode_memory(struct kinst_arch_insn *out, u32 word)
{
	if ((word & 0x3b000000) == 0x18000000) { /* load (literal) */
		out->machine.address = out->addr + distance(word, 5, 19, 4);
		if (bits(word, 26, 1))
			out->reason = KINST_R_REACH; /* of a vector register: no register is free for the address */
		else if (bits(word, 30, 2) == 3)
			out->machine.kind = KIND_PREFETCH;
		else
			out->machine.kind = bits(word, 30, 2) == 2 ? KIND_LOAD_SIGNED : KIND_LOAD;
		return;
	}
	/* ldxr, ldaxr, ldxp, ldaxp; stxr and its kin. Of the same group are ldar (bit 23) and casp (bit 21, not 31). */
	if ((word & 0x3f000000) == 0x08000000 && !bits(word, 23, 1) && (!bits(word, 21, 1) || bits(word, 31, 1))) {
		out->reason = KINST_R_INSN_EXCLUSIVE;
		out->exclusive = bits(word, 22, 1) ? KINST_EXCLUSIVE_BEGINS : KINST_EXCLUSIVE_ENDS;
		return;
	}
	/* ldp x29, x30, [sp], with any offset, before or after */
	if ((word & 0xfe407fff) == 0xa8407bfd)
		out->frame = KINST_FRAME_LEFT;
	/* cpyfp, cpyfm, cpyfe, setp ...: three instructions that must follow each other */
	if ((word & 0x3b200c00) == 0x19000400)
		out->reason = KINST_R_INSN_EXCLUSIVE;
}

bool kinst_arch_decode(struct kinst_arch_insn *out, const u8 *text, size_t avail, unsigned long addr)
{
	u32 word;

	memset(out, 0, sizeof(*out));
	if (avail < sizeof(word) || addr % sizeof(word))
		return false;
	memcpy(&word, text, sizeof(word));
	out->addr = addr;
	out->len = sizeof(word);
	memcpy(out->bytes, text, sizeof(word));

	if (!(word >> 16)) { /* udf */
		out->reason = KINST_R_INSN_UD;
		out->flow = KINST_FLOW_STOP;
	} else if ((word & 0x1c000000) == 0x14000000) {
		decode_branch(out, word);
	} else if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
		long to = distance(word, 5, 19, 4) | bits(word, 29, 2);

		out->machine.address = word >> 31 ? (addr & ~0xfffUL) + to * 4096 : addr + to;
		out->machine.kind = KIND_ADR;
	} else if ((word & 0xffc003ff) == 0x910003fd) { /* add x29, sp */
		out->frame = KINST_FRAME_MADE;
	} else if ((word & 0x0a000000) == 0x08000000) {
		decode_memory(out, word);
	}
	return true;
}

/* ---- control flow ---- */

/* All branches change only the instruction pointer. */
bool kinst_arch_only_branches(const struct kinst_arch_insn *insn)
{
	return insn->flow == KINST_FLOW_BRANCH;
}

bool kinst_arch_operand(const struct kinst_arch_insn *insn, struct kinst_arch_operand *op)
{
	u32 word;

	memcpy(&word, insn->bytes, sizeof(word));
	/* The register of braa holds a signed address, not the target. */
	if (insn->flow != KINST_FLOW_JUMP_INDIRECT || insn->reason || (word & 0xfffffc1f) != 0xd61f0000)
		return false;
	memset(op, 0, sizeof(*op));
	op->base = bits(word, 5, 5);
	op->index = KINST_NO_REG;
	return true;
}

u8 kinst_arch_thunk(const char *name)
{
	return KINST_NO_REG;
}

/* Context: the breakpoint handler of a hop, which may be in any context; calls nothing. */
__probe_path unsigned long kinst_arch_label(const u8 *text, u8 len, unsigned long addr)
{
	u32 word = kinst_arch_word(text);

	return (word & 0xfc000000) == B ? addr + distance(word, 0, 26, 4) : addr + sizeof(word);
}
NOKPROBE_SYMBOL(kinst_arch_label);

/* ---- relocation ---- */

/* Encodes a branch. False if it does not reach. */
static bool branch(unsigned long from, unsigned long to, u32 *word)
{
	long words = (long)(to - from) / 4;

	if ((to - from) % 4 || words < -(1L << 25) || words >= 1L << 25)
		return false;
	*word = B | (words & 0x3ffffff);
	return true;
}

bool kinst_arch_jump(unsigned long from, unsigned long to, u8 *out)
{
	u32 word;

	if (!branch(from, to, &word))
		return false;
	memcpy(out, &word, sizeof(word));
	return true;
}

/* A slot that is being written. */
struct emit {
	u8 *out;
	unsigned long slot;
	unsigned int len;
};

static void emit_word(struct emit *e, u32 word)
{
	memcpy(e->out + e->len, &word, sizeof(word));
	e->len += sizeof(word);
}

/* Emits a branch to an address; if it does not reach, a breakpoint after which the handler goes on there. */
static void emit_exit(struct emit *e, unsigned long to, u32 trap)
{
	u32 word;

	emit_word(e, branch(e->slot + e->len, to, &word) ? word : trap);
}

/* ldr xREG, with one of the slot's addresses */
static void emit_address(struct emit *e, u32 reg, unsigned int at)
{
	emit_word(e, 0x58000000 | (at - e->len) / 4 << 5 | reg);
}

static void emit_load(struct emit *e, const struct kinst_arch_insn *insn, u32 word)
{
	u32 reg = bits(word, 0, 5);

	/* Without a register, such as of a load whose value is ignored, there is nothing to address with. */
	if (insn->machine.kind == KIND_PREFETCH || reg == 31)
		return;
	emit_address(e, reg, KINST_SLOT_TARGET);
	if (insn->machine.kind == KIND_LOAD_SIGNED)
		emit_word(e, 0xb9800000 | reg << 5 | reg); /* ldrsw xREG, [xREG] */
	else
		emit_word(e, (bits(word, 30, 2) ? 0xf9400000 : 0xb9400000) | reg << 5 | reg); /* ldr */
}

static void emit_insn(struct emit *e, const struct kinst_arch_insn *insn, u32 word)
{
	switch (insn->flow) {
	case KINST_FLOW_JUMP:
		emit_exit(e, insn->target, KINST_TO_TARGET);
		return;
	case KINST_FLOW_CALL:
		emit_address(e, 30, KINST_SLOT_NEXT);
		emit_exit(e, insn->target, KINST_TO_TARGET);
		return;
	case KINST_FLOW_CALL_INDIRECT:
		emit_address(e, 30, KINST_SLOT_NEXT);
		emit_word(e, word & ~(1u << 21)); /* blr to br */
		return;
	case KINST_FLOW_JUMP_INDIRECT:
	case KINST_FLOW_RET:
		emit_word(e, word);
		return;
	case KINST_FLOW_BRANCH:
		/* Over the exit to the next instruction, if it is taken. */
		if ((word & 0x7e000000) == 0x36000000)
			emit_word(e, (word & ~(0x3fffu << 5)) | 2 << 5);
		else
			emit_word(e, (word & ~(0x7ffffu << 5)) | 2 << 5);
		emit_exit(e, insn->addr + insn->len, KINST_TO_NEXT);
		emit_exit(e, insn->target, KINST_TO_TARGET);
		return;
	}
	switch (insn->machine.kind) {
	case KIND_PLAIN:
	case KIND_PAD:
		emit_word(e, word);
		break;
	case KIND_ADR:
		if (bits(word, 0, 5) != 31)
			emit_address(e, bits(word, 0, 5), KINST_SLOT_TARGET);
		break;
	case KIND_LOAD:
	case KIND_LOAD_SIGNED:
	case KIND_PREFETCH:
		emit_load(e, insn, word);
		break;
	}
	emit_exit(e, insn->addr + insn->len, KINST_TO_NEXT);
}

/* Emits the instruction, and then the addresses that its code uses. */
static enum kinst_reason emit(struct emit *e, const struct kinst_arch_insn *insn)
{
	u64 next = insn->addr + insn->len, target = insn->target ?: insn->machine.address;
	u32 word;

	if (insn->reason)
		return insn->reason;
	if (insn->flow == KINST_FLOW_STOP)
		return KINST_R_UNSUPPORTED;
	memcpy(&word, insn->bytes, sizeof(word));
	emit_insn(e, insn, word);
	memcpy(e->out + KINST_SLOT_NEXT, &next, sizeof(next));
	memcpy(e->out + KINST_SLOT_TARGET, &target, sizeof(target));
	return KINST_OK;
}

enum kinst_reason kinst_arch_relocate(const struct kinst_arch_insn *insn, unsigned long slot, u8 *out)
{
	struct emit e = { .out = out, .slot = slot };

	kinst_arch_fill(out, KINST_SLOT_SIZE);
	return emit(&e, insn);
}

#define SP 31
/* stp or ldp x29, x30 where the frame of a detour has them: in words 29 and 30 */
#define PAIR(opcode) ((opcode) | 29 << 15 | 30 << 10 | SP << 5 | 29)

/* The entry returns with the interrupt masks of the probed code in x29. */
enum kinst_reason kinst_arch_detour(const struct kinst_arch_insn *insns, unsigned int n, unsigned long slot,
				    unsigned long entry, u8 *out, u8 *at)
{
	struct emit e = { .out = out, .slot = slot };
	u64 to = entry;

	kinst_arch_fill(out, KINST_DETOUR_LEN);
	if (n != 1)
		return KINST_R_UNSUPPORTED;
	/* An indirect branch may lead to a landing pad, or to a breakpoint, but not to a jump. */
	if (KINST_LANDING_PADS && insns->machine.kind == KIND_PAD)
		return KINST_R_INSN_LANDING_PAD;
	emit_word(&e, 0xd1000000 | KINST_DETOUR_FRAME << 10 | SP << 5 | SP); /* sub sp, sp, #FRAME */
	emit_word(&e, PAIR(0xa9000000));
	emit_address(&e, 30, KINST_DETOUR_CALLEE);
	emit_word(&e, 0xd63f0000 | 30 << 5); /* blr x30 */
	emit_word(&e, 0xd51b4220 | 29); /* msr daif, x29 */
	emit_word(&e, PAIR(0xa9400000));
	emit_word(&e, 0x91000000 | KINST_DETOUR_FRAME << 10 | SP << 5 | SP); /* add sp, sp, #FRAME */
	at[0] = e.len;
	memcpy(out + KINST_DETOUR_CALLEE, &to, sizeof(to));
	return emit(&e, insns);
}
