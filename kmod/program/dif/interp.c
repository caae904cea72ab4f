// SPDX-License-Identifier: GPL-2.0
/*
 * program/dif/interp.c: the interpreter of verified DIFOs.
 *
 * Registers, indices and branch targets need no checks here: program/dif/verify.c has
 * made them. Shift counts are taken modulo 64; INT64_MIN / -1 wraps to INT64_MIN.
 *
 * Context: probe; in the guard, interrupts off.
 */
#include "context.h"
#include "program/session.h"

/* n is the signed order, N^V in a processor's flags, which every signed branch tests. */
struct flags {
	bool n, z, c;
};

static nokprobe_inline u64 alu(struct kinst_ctx *c, u32 op, u64 a, u64 b)
{
	switch (op) {
	case OP_OR:
		return a | b;
	case OP_XOR:
		return a ^ b;
	case OP_AND:
		return a & b;
	case OP_SLL:
		return a << (b & 63);
	case OP_SRL:
		return a >> (b & 63);
	case OP_SRA:
		return (s64)a >> (b & 63);
	case OP_SUB:
		return a - b;
	case OP_ADD:
		return a + b;
	case OP_MUL:
		return a * b;
	}
	if (!b) { /* the remaining operations divide */
		kinst_fault(c, KINST_FLT_DIVZERO, 0);
		return 0;
	}
	if (b == (u64)-1 && (op == OP_SDIV || op == OP_SREM))
		return op == OP_SDIV ? -a : 0; /* the processor would trap on INT64_MIN */
	switch (op) {
	case OP_SDIV:
		return div64_s64(a, b);
	case OP_UDIV:
		return div64_u64(a, b);
	case OP_SREM:
		return (s64)a - div64_s64(a, b) * (s64)b;
	default: /* OP_UREM */
		return a - div64_u64(a, b) * b;
	}
}

static nokprobe_inline bool taken(u32 op, struct flags f)
{
	switch (op) {
	case OP_BA:
		return true;
	case OP_BE:
		return f.z;
	case OP_BNE:
		return !f.z;
	case OP_BG:
		return !(f.z || f.n);
	case OP_BGU:
		return !(f.c || f.z);
	case OP_BGE:
		return !f.n;
	case OP_BGEU:
		return !f.c;
	case OP_BL:
		return f.n;
	case OP_BLU:
		return f.c;
	case OP_BLE:
		return f.z || f.n;
	default: /* OP_BLEU */
		return f.c || f.z;
	}
}

/*
 * The seven loads of a family, in the order of their opcodes: sb sh sw ub uh uw x.
 * Any address will do: members of packed structures are not aligned.
 */
static __at_hit u64 load(struct kinst_ctx *c, u32 nth, u64 addr, bool user)
{
	static const u8 sizes[] = { 1, 2, 4, 1, 2, 4, 8 };
	u32 size = sizes[nth], bits = 64 - 8 * size;
	u64 v = 0;

	if (!kinst_load(c, &v, addr, size, user)) /* little-endian: the low bytes */
		return 0;
	return nth < 3 ? (u64)((s64)(v << bits) >> bits) : v;
}
NOKPROBE_SYMBOL(load);

static __at_hit void store(struct kinst_ctx *c, u32 size, u64 addr, u64 v)
{
	if (addr & (size - 1))
		kinst_fault(c, KINST_FLT_BADALIGN, addr);
	else
		kinst_store(c, addr, &v, size);
}
NOKPROBE_SYMBOL(store);

static __at_hit void copys(struct kinst_ctx *c, u64 src, u64 n, u64 dst)
{
	if (!n)
		return;
	if (!kinst_storable(c, dst, n))
		kinst_fault(c, KINST_FLT_BADADDR, dst);
	else
		kinst_load(c, (void *)(uintptr_t)dst, src, n, false);
}
NOKPROBE_SYMBOL(copys);

static __at_hit u64 allocs(struct kinst_ctx *c, u64 n)
{
	void *p = kinst_scratch(c, n);

	if (!p || !kinst_burn(c, n / 8))
		return 0;
	memset(p, 0, n);
	return (u64)(uintptr_t)p;
}
NOKPROBE_SYMBOL(allocs);

static __at_hit void push(struct kinst_ctx *c, u32 w)
{
	bool string = DIF_OP(w) == OP_PUSHTR && DIF_R1(w);
	u64 value = c->regs[DIF_RD(w)], size = 0;

	if (c->ntuple == DIF_NTUPLE) {
		kinst_fault(c, KINST_FLT_TUPOFLOW, 0);
		return;
	}
	if (DIF_OP(w) == OP_PUSHTR)
		size = c->regs[DIF_R2(w)];
	if (string) {
		u64 limit = size ? min_t(u64, size, c->prog->strsize) : c->prog->strsize;

		size = kinst_strnlen(c, value, limit - 1) + 1;
	}
	c->tuple[c->ntuple++] = (struct kinst_tuple){ .value = value, .size = size, .string = string };
}
NOKPROBE_SYMBOL(push);

static __at_hit u64 array(struct kinst_ctx *c, u32 id, u64 i)
{
	return id == VAR_ARGS ? kinst_env_arg(c, i) : kinst_env_reg(c, i, id == VAR_UREGS);
}
NOKPROBE_SYMBOL(array);

/* Everything but arithmetic: variables, subroutines, memory. */
static __at_hit void step(struct kinst_ctx *c, const struct kinst_dif *d, u32 w)
{
	u32 op = DIF_OP(w), id = DIF_INDEX(w);
	u64 *r = c->regs, *rd = &r[DIF_RD(w)], a = r[DIF_R1(w) % DIF_NREGS];

	switch (op) {
	case OP_LDSB ... OP_LDX:
		*rd = load(c, op - OP_LDSB, a, false);
		break;
	case OP_ULDSB ... OP_ULDX:
		*rd = load(c, op - OP_ULDSB, a, true);
		break;
	case OP_RLDSB ... OP_RLDX:
		*rd = load(c, op - OP_RLDSB, a, false);
		break;
	case OP_STB ... OP_STX:
		store(c, 1u << (op - OP_STB), *rd, a);
		break;
	case OP_COPYS:
		copys(c, a, r[DIF_R2(w)], *rd);
		break;
	case OP_ALLOCS:
		*rd = allocs(c, a);
		break;
	case OP_SETS:
		*rd = (u64)(uintptr_t)(d->str + id);
		break;
	case OP_LDGA:
		*rd = array(c, DIF_R1(w), r[DIF_R2(w)]);
		break;
	case OP_LDGS:
		*rd = id < VAR_USER ? kinst_env_var(c, id) : kinst_static_load(c, SCOPE_GLOBAL, id);
		break;
	case OP_LDLS:
		*rd = kinst_static_load(c, SCOPE_LOCAL, id);
		break;
	case OP_STGS:
		kinst_static_store(c, SCOPE_GLOBAL, id, *rd);
		break;
	case OP_STLS:
		kinst_static_store(c, SCOPE_LOCAL, id, *rd);
		break;
	case OP_LDTS:
		*rd = kinst_dyn_load(c, SCOPE_THREAD, id, false);
		break;
	case OP_STTS:
		kinst_dyn_store(c, SCOPE_THREAD, id, false, *rd);
		break;
	case OP_LDGAA:
		*rd = kinst_dyn_load(c, SCOPE_GLOBAL, id, true);
		break;
	case OP_STGAA:
		kinst_dyn_store(c, SCOPE_GLOBAL, id, true, *rd);
		break;
	case OP_LDTAA:
		*rd = kinst_dyn_load(c, SCOPE_THREAD, id, true);
		break;
	case OP_STTAA:
		kinst_dyn_store(c, SCOPE_THREAD, id, true, *rd);
		break;
	case OP_CALL:
		*rd = kinst_dif_subr(c, id);
		break;
	case OP_PUSHTR:
	case OP_PUSHTV:
		push(c, w);
		break;
	case OP_POPTS:
		c->ntuple -= !!c->ntuple;
		break;
	case OP_FLUSHTS:
		c->ntuple = 0;
		break;
	}
}
NOKPROBE_SYMBOL(step);

static nokprobe_inline struct flags compare(u64 a, u64 b)
{
	return (struct flags){ .n = (s64)a < (s64)b, .z = a == b, .c = a < b };
}

/* Ends a program: pays for the instructions up to the one at pc, less those that were jumped over. */
static nokprobe_inline void end(struct kinst_ctx *c, u32 pc, u32 skipped)
{
	kinst_burn(c, pc + 1 - skipped);
	if (c->faulted)
		c->fault_off = 4 * pc;
}

static __at_hit u64 interpret(struct kinst_ctx *c, const struct kinst_dif *d)
{
	u32 pc, w, op, i, skipped = 0;
	struct flags f = {};
	u64 *r = c->regs;
	int order;

	for (i = d->clear; i; i &= i - 1)
		r[ilog2(i & -i)] = 0;
	c->ntuple = 0;
	for (pc = 0;; pc++) {
		w = d->insn[pc];
		op = DIF_OP(w);
		switch (op) {
		case OP_RET:
			end(c, pc, skipped);
			return c->faulted ? 0 : r[DIF_RD(w)];
		case OP_NOP:
			break;
		case OP_OR ... OP_UREM:
		case OP_SRA:
			r[DIF_RD(w)] = alu(c, op, r[DIF_R1(w)], r[DIF_R2(w)]);
			break;
		case OP_NOT:
			r[DIF_RD(w)] = ~r[DIF_R1(w)];
			break;
		case OP_MOV:
			r[DIF_RD(w)] = r[DIF_R1(w)];
			break;
		case OP_SETX:
			r[DIF_RD(w)] = d->ints[DIF_INDEX(w)];
			break;
		case OP_CMP:
			f = compare(r[DIF_R1(w)], r[DIF_R2(w)]);
			break;
		case OP_BOUND:
			if (r[DIF_R1(w)] >= r[DIF_R2(w)]) /* a negative index is a large one */
				kinst_fault(c, KINST_FLT_BADINDEX, r[DIF_R1(w)]);
			break;
		case OP_TST:
			f = (struct flags){ .z = !r[DIF_R1(w)] };
			break;
		case OP_SCMP:
			order = kinst_strcmp(c, r[DIF_R1(w)], r[DIF_R2(w)], c->prog->strsize);
			f = (struct flags){ .n = order < 0, .z = !order };
			break;
		case OP_BA ... OP_BLEU:
			if (taken(op, f)) {
				skipped += DIF_LABEL(w) - 1 - pc;
				pc = DIF_LABEL(w) - 1; /* a label is never 0 */
			}
			break;
		default:
			step(c, d, w);
		}
		if (c->faulted) {
			end(c, pc, skipped);
			return 0;
		}
	}
}
NOKPROBE_SYMBOL(interpret);

__at_hit bool kinst_dif_taken(u32 op, u64 a, u64 b)
{
	return taken(op, compare(a, b));
}
NOKPROBE_SYMBOL(kinst_dif_taken);

__at_hit u64 kinst_dif_run(struct kinst_ctx *c, const struct kinst_dif *d)
{
	if (d->form == KINST_FORM_CONST)
		return d->value;
	if (d->form == KINST_FORM_TEST && kinst_burn(c, d->ninsns))
		return kinst_dif_test(c, d) ? d->yes : 0;
	return interpret(c, d); /* finds the faulting instruction if the fuel is too low */
}
NOKPROBE_SYMBOL(kinst_dif_run);
