// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/insn.c: the decoding of x86-64 instructions and their relocation to another address.
 * Pure: (bytes, address, slot) to (bytes or a reason).
 *
 * A slot replaces single-stepping: it holds the instruction, changed where its
 * meaning depends on its address, and a jump to where it would have continued. A call
 * pushes the return address of the original, so that stack traces, returns and
 * code that inspects its caller see no difference.
 */
#include "context.h"
#include "arch/arch.h"
#include "decode.h"

#ifdef __KERNEL__
#include <linux/kprobes.h>
#include <linux/string.h>
#endif

#define OP_PUSH_IMM32 0x68
#define OP_PUSHF 0x9c
#define OP_POPF 0x9d
#define OP_CALL 0xe8
#define OP_JMP 0xe9
#define OP_JMP8 0xeb
#define JMP_LEN 5
/* Bytes 1 to 4 of the five-byte nop of a jump label that does not jump. */
#define NOP5_TAIL 0x0000441f

/* The last prefix that selects among instructions with one opcode (66, f2, f3), or 0. */
static u8 simd_prefix(const struct insn *insn)
{
	u8 found = 0;
	int i;

	for (i = 0; i < insn->prefixes.nbytes && i < 4; i++) {
		u8 p = insn->prefixes.bytes[i];

		/* f2 and f3 override 66, in any order. */
		if (p == 0xf2 || p == 0xf3 || (p == 0x66 && !found))
			found = p;
	}
	return found;
}

static bool has_prefix(const struct insn *insn, u8 prefix)
{
	int i;

	for (i = 0; i < insn->prefixes.nbytes && i < 4; i++)
		if (insn->prefixes.bytes[i] == prefix)
			return true;
	return false;
}

static u8 mod(u8 modrm)
{
	return modrm >> 6;
}

static u8 reg(u8 modrm)
{
	return (modrm >> 3) & 7;
}

/* 0f 01 with a register operand: each ModRM byte is an instruction. Only instructions known to be harmless pass. */
static enum kinst_reason refuse_0f01(u8 modrm, u8 prefix)
{
	if (mod(modrm) != 3 || reg(modrm) == 4 || reg(modrm) == 6)
		return KINST_OK; /* sgdt, sidt, lgdt, lidt, smsw, lmsw, invlpg */
	switch (modrm) {
	case 0xc9: /* mwait */
	case 0xfb: /* mwaitx */
		return KINST_R_INSN_STI_HLT;
	case 0xca: /* clac; with a prefix erets or eretu */
		return prefix ? KINST_R_INSN_IRET : KINST_OK;
	case 0xc8: /* monitor */
	case 0xcb: /* stac */
	case 0xd0: /* xgetbv */
	case 0xd1: /* xsetbv */
	case 0xe8: /* serialize */
	case 0xee: /* rdpkru */
	case 0xef: /* wrpkru */
	case 0xf9: /* rdtscp */
	case 0xfa: /* monitorx */
		return prefix ? KINST_R_INSN_PRIV : KINST_OK;
	}
	return KINST_R_INSN_PRIV; /* swapgs, VMX, SVM, SGX, TDX and future ones */
}

/* The two-byte map. */
static enum kinst_reason refuse_0f(const struct insn *insn, u8 op, u8 modrm)
{
	u8 prefix = simd_prefix(insn);

	switch (op) {
	case 0x01:
		return refuse_0f01(modrm, prefix);
	case 0x05: /* syscall */
	case 0x07: /* sysret */
	case 0x34: /* sysenter */
	case 0x35: /* sysexit */
		return KINST_R_INSN_IRET;
	case 0x20: /* mov to and from control and debug registers: */
	case 0x21: /* processors take any ModRM for registers, the kernel's decoder does not */
	case 0x22:
	case 0x23:
		return mod(modrm) == 3 ? KINST_OK : KINST_R_UNDECODABLE;
	case 0x0b: /* ud2 */
	case 0xb9: /* ud1 */
	case 0xff: /* ud0 */
		return KINST_R_INSN_UD;
	case 0x1e: /* endbr32 and endbr64; else a nop, or rdssp */
		if (prefix == 0xf3 && (modrm == 0xfa || modrm == 0xfb))
			return KINST_R_INSN_LANDING_PAD;
		return KINST_OK;
	case 0x78: /* vmread; with a prefix SSE4a */
	case 0x79: /* vmwrite */
		return prefix ? KINST_OK : KINST_R_INSN_PRIV;
	case 0xaa: /* rsm */
		return KINST_R_INSN_PRIV;
	case 0xb2: /* lss */
		return KINST_R_INSN_SS;
	case 0xc7: /* with memory vmptrld, vmclear, vmxon, vmptrst; else rdrand, rdseed, senduipi, rdpid */
		if (mod(modrm) != 3 && reg(modrm) >= 6)
			return KINST_R_INSN_PRIV;
		if (mod(modrm) == 3 && reg(modrm) == 6 && prefix == 0xf3)
			return KINST_R_INSN_PRIV;
		return KINST_OK;
	case 0x38:
		/* invept and invvpid; 82 is invpcid, an ordinary one */
		if (prefix == 0x66 && (insn->opcode.bytes[2] == 0x80 || insn->opcode.bytes[2] == 0x81))
			return KINST_R_INSN_PRIV;
		return KINST_OK;
	}
	return KINST_OK;
}

/* The one-byte map. */
static enum kinst_reason refuse_op(u8 op, u8 modrm)
{
	switch (op) {
	case 0x8e: /* mov to a segment register */
		return reg(modrm) == 2 ? KINST_R_INSN_SS : KINST_OK;
	case 0xc6: /* xabort */
	case 0xc7: /* xbegin */
		return modrm == 0xf8 ? KINST_R_INSN_PRIV : KINST_OK;
	case 0xca: /* far ret */
	case 0xcb:
	case 0xcf: /* iret */
		return KINST_R_INSN_IRET;
	case 0xcc: /* int3 */
	case 0xcd: /* int n */
	case 0xce: /* into */
	case 0xf1: /* int1 */
		return KINST_R_INSN_TRAP;
	case 0xd6: /* udb */
		return KINST_R_INSN_UD;
	case 0xf4: /* hlt */
		return KINST_R_INSN_STI_HLT;
	case 0xff: /* far call, far jmp */
		return reg(modrm) == 3 || reg(modrm) == 5 ? KINST_R_INSN_IRET : KINST_OK;
	}
	return KINST_OK;
}

/* After sti the next instruction runs before an interrupt can arrive: with hlt or mwait that must stay so. */
static bool sti_before_hlt(const u8 *text, size_t avail)
{
	return (avail >= 2 && text[1] == 0xf4) ||
	       (avail >= 4 && text[1] == 0x0f && text[2] == 0x01 && (text[3] == 0xc9 || text[3] == 0xfb));
}

/* Sets the target of a direct jump, branch or call. What an operand-size prefix means depends on the CPU's maker. */
static void decode_relative(struct kinst_arch_insn *out, const struct insn *insn, enum kinst_flow flow)
{
	out->flow = flow;
	out->target = out->addr + out->len + (long)insn->immediate.value;
	if (has_prefix(insn, 0x66))
		out->reason = KINST_R_UNDECODABLE;
}

/* Whether it is 90 without REX or f3 (pause), or 0f 1f. */
static bool is_nop(const struct insn *insn)
{
	if (insn->opcode.bytes[0] == 0x90)
		return !insn->rex_prefix.nbytes && simd_prefix(insn) != 0xf3;
	return insn->opcode.bytes[0] == 0x0f && insn->opcode.bytes[1] == 0x1f;
}

static void decode_op(struct kinst_arch_insn *out, const struct insn *insn, u8 op, u8 modrm)
{
	out->reason = refuse_op(op, modrm);
	if (op >= 0x70 && op <= 0x7f) {
		decode_relative(out, insn, KINST_FLOW_BRANCH);
		out->cond = op;
	} else if (op >= 0xe0 && op <= 0xe3) {
		decode_relative(out, insn, KINST_FLOW_BRANCH);
		out->cond = op;
		/* With 67 it counts in %ecx, which kinst_arch_taken() does not handle. */
		if (has_prefix(insn, 0x67))
			out->reason = KINST_R_UNDECODABLE;
	} else if (op == OP_CALL) {
		decode_relative(out, insn, KINST_FLOW_CALL);
	} else if (op == OP_JMP || op == OP_JMP8) {
		decode_relative(out, insn, KINST_FLOW_JUMP);
	} else if (op == 0xc2 || op == 0xc3) {
		out->flow = KINST_FLOW_RET;
	} else if (op == 0xff && reg(modrm) == 2) {
		out->flow = KINST_FLOW_CALL_INDIRECT;
		/* In a slot, the push of the return address comes first and would change the operand. */
		if (!insn->rex_prefix.nbytes || !(insn->rex_prefix.bytes[0] & 1)) {
			if (mod(modrm) == 3 ? (modrm & 7) == 4 : ((modrm & 7) == 4 && (insn->sib.bytes[0] & 7) == 4))
				out->reason = KINST_R_INSN_RSP;
		}
		if (has_prefix(insn, 0x66))
			out->reason = KINST_R_UNDECODABLE;
	} else if (op == 0xff && reg(modrm) == 4) {
		out->flow = KINST_FLOW_JUMP_INDIRECT;
		if (has_prefix(insn, 0x66))
			out->reason = KINST_R_UNDECODABLE;
	} else if (out->reason == KINST_R_INSN_IRET || out->reason == KINST_R_INSN_TRAP || out->reason == KINST_R_INSN_UD) {
		out->flow = KINST_FLOW_STOP;
	}
}

static void decode_0f(struct kinst_arch_insn *out, const struct insn *insn, u8 op, u8 modrm)
{
	out->reason = refuse_0f(insn, op, modrm);
	if (op >= 0x80 && op <= 0x8f) {
		decode_relative(out, insn, KINST_FLOW_BRANCH);
		out->cond = op - 0x10;
	} else if (out->reason == KINST_R_INSN_UD || out->reason == KINST_R_INSN_IRET) {
		out->flow = KINST_FLOW_STOP;
	}
}

bool kinst_arch_decode(struct kinst_arch_insn *out, const u8 *text, size_t avail, unsigned long addr)
{
	struct insn insn;
	bool vex;
	u8 modrm;

	memset(out, 0, sizeof(*out));
	if (!avail || kinst_insn_decode(&insn, text, avail > 15 ? 15 : (int)avail))
		return false;
	if (!insn.length || insn.length > 15 || insn.length > avail)
		return false;

	out->addr = addr;
	out->len = insn.length;
	memcpy(out->bytes, text, insn.length);

	vex = insn.vex_prefix.nbytes;
	out->machine.prefixes = insn.emulate_prefix_size + insn.prefixes.nbytes + insn.rex_prefix.nbytes + insn.vex_prefix.nbytes;
	modrm = insn.modrm.nbytes ? insn.modrm.bytes[0] : 0;
	if (insn.modrm.nbytes)
		out->machine.modrm_at = out->machine.prefixes + insn.opcode.nbytes;

	/* The forced-emulation prefixes of Xen and KVM begin with ud2. */
	if (insn.emulate_prefix_size) {
		out->reason = KINST_R_INSN_UD;
		return true;
	}
	if (insn.modrm.nbytes && (modrm & 0xc7) == 5) {
		out->machine.disp_at = out->machine.modrm_at + 1;
		if (has_prefix(&insn, 0x67))
			out->reason = KINST_R_REACH;
	}
	if (vex || out->reason)
		return true;
	out->nop = is_nop(&insn);
	if (insn.opcode.bytes[0] == 0x0f)
		decode_0f(out, &insn, insn.opcode.bytes[1], modrm);
	else
		decode_op(out, &insn, insn.opcode.bytes[0], modrm);
	if (insn.opcode.bytes[0] == 0xfb && sti_before_hlt(text, avail))
		out->reason = KINST_R_INSN_STI_HLT;
	return true;
}

/* ---- control flow ---- */

bool kinst_arch_operand(const struct kinst_arch_insn *insn, struct kinst_arch_operand *op)
{
	const u8 *at = insn->bytes + insn->machine.modrm_at;
	u8 rex = insn->machine.prefixes ? insn->bytes[insn->machine.prefixes - 1] : 0;
	u8 modrm = *at++, rm = modrm & 7, i;
	s32 disp = 0;

	if (insn->flow != KINST_FLOW_JUMP_INDIRECT || insn->reason)
		return false;
	if ((rex & 0xf0) != 0x40)
		rex = 0;
	memset(op, 0, sizeof(*op));
	op->base = rm | (rex & 1) << 3;
	op->index = KINST_NO_REG;
	op->memory = mod(modrm) != 3;
	if (!op->memory)
		return true;
	/* The prefixes 64, 65 and 67 change the memory address. */
	for (i = 0; i < insn->machine.prefixes; i++)
		if (insn->bytes[i] >= 0x64 && insn->bytes[i] <= 0x67)
			return false;
	if (rm == 4) {
		u8 sib = *at++;

		op->shift = sib >> 6;
		op->index = ((sib >> 3) & 7) | (rex & 2) << 2;
		if (op->index == 4)
			op->index = KINST_NO_REG;
		rm = sib & 7;
		op->base = rm | (rex & 1) << 3;
	}
	if (mod(modrm) == 1) {
		disp = (s8)*at;
	} else if (mod(modrm) == 2 || rm == 5) {
		memcpy(&disp, at, 4);
	}
	op->disp = (long)disp;
	if (mod(modrm) == 0 && rm == 5)
		op->base = KINST_NO_REG;
	if (insn->machine.disp_at)
		op->disp += insn->addr + insn->len;
	return true;
}

u8 kinst_arch_thunk(const char *name)
{
	static const char regs[][4] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
	static const char *const thunks[] = { "__x86_indirect_thunk_", "__x86_indirect_jump_thunk_",
					      "__x86_indirect_its_thunk_" };
	static const char alias[] = "__pi_"; /* newer kernels have two names for each */
	u8 i, reg;

	if (!strncmp(name, alias, sizeof(alias) - 1))
		name += sizeof(alias) - 1;
	for (i = 0; i < sizeof(thunks) / sizeof(*thunks); i++) {
		size_t len = strlen(thunks[i]);

		if (strncmp(name, thunks[i], len))
			continue;
		for (reg = 0; reg < 16; reg++)
			if (!strcmp(name + len, regs[reg]))
				return reg;
	}
	return KINST_NO_REG;
}

/*
 * Context: the breakpoint handler of a hop, which may be in any context;
 * calls nothing.
 */
__probe_path unsigned long kinst_arch_label(const u8 *text, u8 len,
				       unsigned long addr)
{
	bool jumps = text[0] == OP_JMP || text[0] == OP_JMP8;
	s32 rel = (s8)text[1];

	if (len == JMP_LEN)
		rel = (s32)(text[1] | text[2] << 8 | text[3] << 16 |
			    (u32)text[4] << 24);
	if (text[0] == KINST_BREAK)
		jumps = len == JMP_LEN ? rel != NOP5_TAIL : text[1] != 0x90;
	return addr + len + (jumps ? (long)rel : 0);
}
NOKPROBE_SYMBOL(kinst_arch_label);

/* ---- relocation ---- */

/* A slot that is being written. */
struct emit {
	u8 *out;
	unsigned long slot;
	unsigned int len;
	enum kinst_reason reason;
};

static void emit_byte(struct emit *e, u8 byte)
{
	e->out[e->len++] = byte;
}

/* Emits a displacement to target, relative to the end of its four bytes plus tail. */
static void emit_rel32(struct emit *e, unsigned long target, unsigned int tail)
{
	long rel = (long)(target - (e->slot + e->len + 4 + tail));
	s32 rel32 = (s32)rel;

	if (rel != rel32)
		e->reason = KINST_R_REACH;
	memcpy(e->out + e->len, &rel32, 4);
	e->len += 4;
}

static void emit_jmp(struct emit *e, unsigned long target)
{
	emit_byte(e, OP_JMP);
	emit_rel32(e, target, 0);
}

/* The CPU sign-extends the immediate, which is right for all of the kernel's text. */
static void emit_push(struct emit *e, unsigned long value)
{
	s32 imm = (s32)value;

	if ((unsigned long)(long)imm != value)
		e->reason = KINST_R_REACH;
	emit_byte(e, OP_PUSH_IMM32);
	memcpy(e->out + e->len, &imm, 4);
	e->len += 4;
}

/* Emits the instruction itself, its displacement adjusted to the new address. Returns its offset. */
static unsigned int emit_copy(struct emit *e, const struct kinst_arch_insn *insn)
{
	unsigned int at = e->len;
	unsigned int end = at + insn->len;

	memcpy(e->out + at, insn->bytes, insn->len);
	if (insn->machine.disp_at) {
		s32 disp;

		memcpy(&disp, insn->bytes + insn->machine.disp_at, 4);
		e->len = at + insn->machine.disp_at;
		emit_rel32(e, insn->addr + insn->len + (long)disp, insn->len - insn->machine.disp_at - 4);
	}
	e->len = end;
	return at;
}

/* Emits code that does what the instruction does, without a jump to the next one if that follows. */
static void emit_insn(struct emit *e, const struct kinst_arch_insn *insn, bool next_follows)
{
	unsigned long next = insn->addr + insn->len;
	unsigned int at;

	switch (insn->flow) {
	case KINST_FLOW_NEXT:
		emit_copy(e, insn);
		if (!next_follows)
			emit_jmp(e, next);
		break;
	case KINST_FLOW_JUMP:
		emit_jmp(e, insn->target);
		break;
	case KINST_FLOW_BRANCH:
		if (insn->cond >= 0xe0) {
			/* It has only a short form, which skips a jump to next and reaches a jump to target. */
			emit_byte(e, insn->cond);
			emit_byte(e, JMP_LEN);
			emit_jmp(e, next);
			emit_jmp(e, insn->target);
		} else {
			emit_byte(e, 0x0f);
			emit_byte(e, insn->cond + 0x10);
			emit_rel32(e, insn->target, 0);
			if (!next_follows)
				emit_jmp(e, next);
		}
		break;
	case KINST_FLOW_CALL:
		emit_push(e, next);
		emit_jmp(e, insn->target);
		break;
	case KINST_FLOW_CALL_INDIRECT:
		emit_push(e, next);
		at = emit_copy(e, insn);
		e->out[at + insn->machine.modrm_at] += 2 << 3; /* ff /2 to ff /4 */
		break;
	case KINST_FLOW_JUMP_INDIRECT:
	case KINST_FLOW_RET:
		emit_copy(e, insn);
		break;
	default:
		e->reason = KINST_R_UNSUPPORTED;
	}
}

enum kinst_reason kinst_arch_relocate(const struct kinst_arch_insn *insn, unsigned long slot, u8 *out)
{
	struct emit e = { .out = out, .slot = slot, .reason = KINST_OK };

	memset(out, KINST_BREAK, KINST_SLOT_SIZE);
	if (insn->reason)
		return insn->reason;
	emit_insn(&e, insn, false);
	return e.reason;
}

/* The loop instructions also change the counter. */
bool kinst_arch_only_branches(const struct kinst_arch_insn *insn)
{
	return insn->flow == KINST_FLOW_BRANCH && insn->cond < 0xe0;
}

/* Whether another copy can directly follow the copy of this instruction. */
static bool flows_on(const struct kinst_arch_insn *insn)
{
	return insn->flow == KINST_FLOW_NEXT || kinst_arch_only_branches(insn);
}

enum kinst_reason kinst_arch_detour(const struct kinst_arch_insn *insns, unsigned int n, unsigned long slot,
				    unsigned long entry, u8 *out, u8 *at)
{
	struct emit e = { .out = out, .slot = slot, .reason = KINST_OK };
	unsigned int i;

	memset(out, KINST_BREAK, KINST_DETOUR_LEN);
	emit_byte(&e, OP_PUSHF);
	emit_byte(&e, OP_CALL);
	emit_rel32(&e, entry, 0);
	emit_byte(&e, OP_POPF);
	for (i = 0; i < n && !e.reason; i++) {
		bool last = i + 1 == n;

		if (insns[i].reason)
			return insns[i].reason;
		/* One instruction becomes at most 20 bytes, including the jump after it. */
		if ((!last && !flows_on(&insns[i])) || e.len > KINST_DETOUR_LEN - 20)
			return KINST_R_UNSUPPORTED;
		at[i] = e.len;
		emit_insn(&e, &insns[i], !last);
	}
	return e.reason;
}

bool kinst_arch_jump(unsigned long from, unsigned long to, u8 *out)
{
	struct emit e = { .out = out, .slot = from, .reason = KINST_OK };

	emit_jmp(&e, to);
	return !e.reason;
}
