// SPDX-License-Identifier: GPL-2.0
/*
 * program/dif/verify.c: the checks that a DIFO must pass before it may run in any context.
 *
 * Branches go strictly forward and the last instruction is a ret, so every
 * program ends. Registers, indices and variables are in range, so that the
 * interpreter checks at run time only what depends on values: addresses,
 * divisors, free memory.
 *
 * Context: process.
 */
#include "program/image.h"

/* How an instruction uses its word; the rest of the word must be zero. */
enum shape {
	S_NONE = 0, /* no such opcode */
	S_R3, /* r1, r2, rd */
	S_R2D, /* r1, rd */
	S_CMP, /* r1, r2 */
	S_TST, /* r1 */
	S_BRANCH,
	S_LOAD, /* [r1], rd */
	S_STORE, /* r1, [rd] */
	S_COPYS, /* r1, r2, [rd] */
	S_RET, /* rd, read */
	S_BARE,
	S_SETX,
	S_SETS,
	S_LDA, /* global array, index in r2 */
	S_LDV, /* variable, rd */
	S_STV, /* rd, variable */
	S_CALL,
	S_PUSHTR,
	S_PUSHTV,
	S_NEVER, /* thread arrays: not supported */
};

static const u8 shapes[256] = {
	[OP_OR] = S_R3, [OP_XOR] = S_R3, [OP_AND] = S_R3, [OP_SLL] = S_R3, [OP_SRL] = S_R3, [OP_SRA] = S_R3,
	[OP_SUB] = S_R3, [OP_ADD] = S_R3, [OP_MUL] = S_R3, [OP_SDIV] = S_R3, [OP_UDIV] = S_R3,
	[OP_SREM] = S_R3, [OP_UREM] = S_R3,
	[OP_NOT] = S_R2D, [OP_MOV] = S_R2D, [OP_ALLOCS] = S_R2D,
	[OP_CMP] = S_CMP, [OP_SCMP] = S_CMP, [OP_BOUND] = S_CMP, [OP_TST] = S_TST,
	[OP_BA ... OP_BLEU] = S_BRANCH,
	[OP_LDSB ... OP_LDX] = S_LOAD, [OP_ULDSB ... OP_ULDX] = S_LOAD, [OP_RLDSB ... OP_RLDX] = S_LOAD,
	[OP_STB ... OP_STX] = S_STORE, [OP_COPYS] = S_COPYS,
	[OP_RET] = S_RET,
	[OP_NOP] = S_BARE, [OP_POPTS] = S_BARE, [OP_FLUSHTS] = S_BARE,
	[OP_SETX] = S_SETX, [OP_SETS] = S_SETS,
	[OP_LDGA] = S_LDA, [OP_LDTA] = S_NEVER,
	[OP_LDGS] = S_LDV, [OP_LDTS] = S_LDV, [OP_LDLS] = S_LDV, [OP_LDGAA] = S_LDV, [OP_LDTAA] = S_LDV,
	[OP_STGS] = S_STV, [OP_STTS] = S_STV, [OP_STLS] = S_STV, [OP_STGAA] = S_STV, [OP_STTAA] = S_STV,
	[OP_CALL] = S_CALL, [OP_PUSHTR] = S_PUSHTR, [OP_PUSHTV] = S_PUSHTV,
};

static bool builtin_scalar(u32 id)
{
	return (id >= VAR_CURTHREAD && id <= VAR_EXECARGS) || id == VAR_INLINEFUNC || id == VAR_CPU;
}

/* The scope and kind of the variable that an instruction refers to. */
static void variable_of(u32 op, u32 *scope, bool *array)
{
	*array = op == OP_LDGAA || op == OP_STGAA || op == OP_LDTAA || op == OP_STTAA;
	*scope = op == OP_LDGS || op == OP_STGS || op == OP_LDGAA || op == OP_STGAA ? SCOPE_GLOBAL :
		 op == OP_LDLS || op == OP_STLS ? SCOPE_LOCAL : SCOPE_THREAD;
}

static bool bad_variable(const struct kinst_prog *p, u32 w)
{
	u32 op = DIF_OP(w), id = DIF_INDEX(w), scope;
	const struct kinst_slot *slot;
	bool array;

	if (op == OP_LDGS && builtin_scalar(id))
		return false;
	variable_of(op, &scope, &array);
	slot = kinst_slot(p, scope, id);
	return !slot || slot->array != array;
}

static u32 check_call(const struct kinst_prog *p, u32 w)
{
	const struct kinst_subr_args *want = kinst_subr_args(DIF_INDEX(w));

	if (!want || want->max < want->min)
		return KINST_V_SUBR;
	if (want->destructive && !(p->hdr->flags & KINST_IMAGE_DESTRUCTIVE))
		return KINST_V_DESTRUCTIVE;
	return KINST_V_OK;
}

/* Checks the word at pc. Returns KINST_V_OK or the reason for refusing it. */
static u32 check_insn(const struct kinst_prog *p, const struct kinst_difo *d, u32 w, u32 pc)
{
	u32 r1 = DIF_R1(w), r2 = DIF_R2(w), rd = DIF_RD(w), shape = shapes[DIF_OP(w)];
	bool r1_bad = r1 >= DIF_NREGS, r2_bad = r2 >= DIF_NREGS, rd_bad = rd >= DIF_NREGS;

	switch (shape) {
	case S_R3:
		return r1_bad || r2_bad || rd_bad ? KINST_V_REGISTER : !rd ? KINST_V_DEST_R0 : KINST_V_OK;
	case S_COPYS:
		return r1_bad || r2_bad || rd_bad ? KINST_V_REGISTER : !rd ? KINST_V_DEST_R0 : KINST_V_OK;
	case S_R2D:
	case S_LOAD:
	case S_STORE:
		return r1_bad || rd_bad ? KINST_V_REGISTER : r2 ? KINST_V_RESERVED : !rd ? KINST_V_DEST_R0 :
		       KINST_V_OK;
	case S_CMP:
		return r1_bad || r2_bad ? KINST_V_REGISTER : rd ? KINST_V_RESERVED : KINST_V_OK;
	case S_TST:
		return r1_bad ? KINST_V_REGISTER : r2 || rd ? KINST_V_RESERVED : KINST_V_OK;
	case S_BRANCH:
		return DIF_LABEL(w) >= d->ninsns || DIF_LABEL(w) <= pc ? KINST_V_BRANCH : KINST_V_OK;
	case S_RET:
		return rd_bad ? KINST_V_REGISTER : r1 || r2 ? KINST_V_RESERVED : KINST_V_OK;
	case S_BARE:
		return w & 0xffffff ? KINST_V_RESERVED : KINST_V_OK;
	case S_SETX:
		return rd_bad ? KINST_V_REGISTER : !rd ? KINST_V_DEST_R0 :
		       DIF_INDEX(w) >= d->nints ? KINST_V_INT : KINST_V_OK;
	case S_SETS:
		return rd_bad ? KINST_V_REGISTER : !rd ? KINST_V_DEST_R0 :
		       DIF_INDEX(w) >= d->strlen ? KINST_V_STR : KINST_V_OK;
	case S_LDA:
		return r2_bad || rd_bad ? KINST_V_REGISTER : !rd ? KINST_V_DEST_R0 :
		       r1 > VAR_UREGS ? KINST_V_VARIABLE : KINST_V_OK;
	case S_LDV:
		return rd_bad ? KINST_V_REGISTER : !rd ? KINST_V_DEST_R0 :
		       bad_variable(p, w) ? KINST_V_VARIABLE : KINST_V_OK;
	case S_STV:
		return rd_bad ? KINST_V_REGISTER : bad_variable(p, w) ? KINST_V_VARIABLE : KINST_V_OK;
	case S_CALL:
		return rd_bad ? KINST_V_REGISTER : !rd ? KINST_V_DEST_R0 : check_call(p, w);
	case S_PUSHTR:
		return r1 > 1 ? KINST_V_TYPE : r2_bad || rd_bad ? KINST_V_REGISTER : KINST_V_OK;
	case S_PUSHTV:
		return r1 ? KINST_V_TYPE : r2_bad || rd_bad ? KINST_V_REGISTER : KINST_V_OK;
	case S_NEVER:
		return KINST_V_VARIABLE;
	}
	return KINST_V_OPCODE;
}

static bool bad_rtype(const struct kinst_dtype *t)
{
	if (t->reserved || t->kind > 1 || t->flags & ~(KINST_T_BYREF | KINST_T_BYUREF))
		return true;
	if (t->flags)
		return t->flags == (KINST_T_BYREF | KINST_T_BYUREF) || t->size > KINST_MAX_PAYLOAD;
	return t->kind || (t->size != 0 && t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8);
}

/* ---- properties of a program, known before it runs ---- */

/* The most common program: setx i, rd; ret rd. */
static void find_constant(struct kinst_dif *dif)
{
	const u32 *w = dif->insn;

	if (dif->ninsns == 1 && !DIF_RD(w[0])) { /* ret %r0 */
		dif->form = KINST_FORM_CONST;
	} else if (dif->ninsns == 2 && DIF_OP(w[0]) == OP_SETX && DIF_RD(w[0]) == DIF_RD(w[1])) {
		dif->form = KINST_FORM_CONST;
		dif->value = dif->ints[DIF_INDEX(w[0])];
	}
}

/* Whether reading a variable neither faults nor costs more than an instruction. */
static bool is_plain(u32 id)
{
	switch (id) {
	case VAR_CURTHREAD:
	case VAR_IPL:
	case VAR_ID:
	case VAR_ARG0 ... VAR_ARG0 + 5:
	case VAR_PID:
	case VAR_TID:
	case VAR_UID:
	case VAR_GID:
	case VAR_ERRNO:
	case VAR_CPU:
		return true;
	}
	return false;
}

#define TEST_INSNS 9

/*
 * The most common predicate, compiled from pid == $target:
 *
 *   0 ldgs VAR, a   1 setx N, b   2 cmp a, b    3 branch 6
 *   4 mov %r0, d    5 ba 7        6 setx YES, d   7 nop   8 ret d
 */
static void find_test(struct kinst_dif *dif)
{
	static const u8 ops[TEST_INSNS] = { OP_LDGS, OP_SETX, OP_CMP, 0, OP_MOV, OP_BA, OP_SETX, OP_NOP, OP_RET };
	const u32 *w = dif->insn;
	u32 i, a = DIF_RD(w[0]), b, d;

	if (dif->ninsns != TEST_INSNS)
		return;
	for (i = 0; i < TEST_INSNS; i++)
		if (ops[i] && DIF_OP(w[i]) != ops[i])
			return;
	b = DIF_RD(w[1]);
	d = DIF_RD(w[8]);
	if (!is_plain(DIF_INDEX(w[0])) || a == b || DIF_R1(w[2]) != a || DIF_R2(w[2]) != b ||
	    DIF_OP(w[3]) < OP_BE || DIF_OP(w[3]) > OP_BLEU || DIF_LABEL(w[3]) != 6 || DIF_LABEL(w[5]) != 7 ||
	    DIF_R1(w[4]) || DIF_RD(w[4]) != d || DIF_RD(w[6]) != d)
		return;
	dif->form = KINST_FORM_TEST;
	dif->var = DIF_INDEX(w[0]);
	dif->value = dif->ints[DIF_INDEX(w[1])];
	dif->branch = DIF_OP(w[3]);
	dif->yes = dif->ints[DIF_INDEX(w[6])];
}

/* The registers that an instruction reads, and the one that it writes, a bit each, except %r0, which is always 0. */
static void registers_of(u32 w, u32 *reads, u32 *writes)
{
	u32 r1 = 1u << DIF_R1(w) % DIF_NREGS, r2 = 1u << DIF_R2(w) % DIF_NREGS, rd = 1u << DIF_RD(w) % DIF_NREGS;

	*reads = *writes = 0;
	switch (shapes[DIF_OP(w)]) {
	case S_R3:
		*reads = r1 | r2;
		*writes = rd;
		break;
	case S_R2D:
	case S_LOAD:
		*reads = r1;
		*writes = rd;
		break;
	case S_CMP:
		*reads = r1 | r2;
		break;
	case S_TST:
		*reads = r1;
		break;
	case S_STORE:
		*reads = r1 | rd;
		break;
	case S_COPYS:
		*reads = r1 | r2 | rd;
		break;
	case S_RET:
	case S_STV:
		*reads = rd;
		break;
	case S_SETX:
	case S_SETS:
	case S_LDV:
	case S_CALL:
		*writes = rd;
		break;
	case S_LDA:
		*reads = r2;
		*writes = rd;
		break;
	case S_PUSHTR:
	case S_PUSHTV:
		*reads = r2 | rd;
		break;
	}
	*reads &= ~1u;
	*writes &= ~1u;
}

/* Registers that may be read before they are written. A write after a branch may not have happened. */
static u8 find_unset(const struct kinst_dif *dif)
{
	u32 pc, reads, writes, set = 0, unset = 0;
	bool branched = false;

	for (pc = 0; pc < dif->ninsns; pc++) {
		registers_of(dif->insn[pc], &reads, &writes);
		unset |= reads & ~set;
		branched |= shapes[DIF_OP(dif->insn[pc])] == S_BRANCH;
		if (!branched)
			set |= writes;
	}
	return unset;
}

int kinst_dif_verify(struct kinst_prog *p, u32 i, struct kinst_error *err)
{
	const struct kinst_difo *d = &p->difo_table[i];
	const struct kinst_image *h = p->hdr;
	struct kinst_dif *dif = &p->difos[i];
	const u32 *text = p->insns + d->insn;
	u32 pc, code;

	if (!d->ninsns)
		return kinst_refuse(err, KINST_V_NO_RET, i, KINST_NONE);
	if (d->ninsns > KINST_MAX_DIFO_INSNS)
		return kinst_refuse(err, KINST_V_LIMIT, i, KINST_NONE);
	if (d->insn > h->insns.count || d->ninsns > h->insns.count - d->insn)
		return kinst_refuse(err, KINST_V_INDEX, i, KINST_NONE);
	if (d->nints && (d->int0 > h->ints.count || d->nints > h->ints.count - d->int0))
		return kinst_refuse(err, KINST_V_INT, i, KINST_NONE);
	if (d->strlen && (d->str0 > h->strtab.count || d->strlen > h->strtab.count - d->str0))
		return kinst_refuse(err, KINST_V_STR, i, KINST_NONE);
	if (d->strlen && p->strtab[d->str0 + d->strlen - 1])
		return kinst_refuse(err, KINST_V_STR, i, KINST_NONE);
	if (bad_rtype(&d->rtype))
		return kinst_refuse(err, KINST_V_TYPE, i, KINST_NONE);
	for (pc = 0; pc < d->ninsns; pc++) {
		code = check_insn(p, d, text[pc], pc);
		if (code)
			return kinst_refuse(err, code, i, pc);
	}
	if (DIF_OP(text[d->ninsns - 1]) != OP_RET)
		return kinst_refuse(err, KINST_V_NO_RET, i, d->ninsns - 1);

	*dif = (struct kinst_dif){
		.insn = text,
		.ninsns = d->ninsns,
		.ints = d->nints ? p->ints + d->int0 : NULL,
		.str = d->strlen ? p->strtab + d->str0 : NULL,
		.rtype = d->rtype,
	};
	dif->clear = find_unset(dif);
	find_constant(dif);
	find_test(dif);
	return 0;
}
