// SPDX-License-Identifier: GPL-2.0
/*
 * unit.c: the unit tests of the verifier and the machine. unit --image writes a sample
 * image to standard output, for difrun_check.sh.
 */
#include "unit.h"

int passed, failed;

/* ---- fixture ---- */

u32 fixture_open(struct fixture *f, struct ib *b)
{
	static const struct kinst_limits lim = { .max_probes = 1000, .max_insns = 100000 };

	memset(f, 0, sizeof(*f));
	f->image = ib_finish(b, &f->len);
	if (kinst_image_parse(&f->s.prog, f->image, f->len, &lim, &f->err)) {
		free(f->image);
		f->image = NULL;
		return f->err.code;
	}
	if (kinst_session_alloc(&f->s, 1))
		abort();
	f->s.state = KINST_STATE_ACTIVE;
	f->c = &f->s.vcpus[0]->ctx[0];
	return KINST_V_OK;
}

void fixture_close(struct fixture *f)
{
	if (!f->image)
		return;
	kinst_session_free(&f->s);
	kinst_image_free(&f->s.prog);
	free(f->image);
	f->image = NULL;
}

u64 fixture_run(struct fixture *f, u32 i)
{
	struct kinst_vcpu *v = f->s.vcpus[0];

	*f->c = (struct kinst_ctx){
		.prog = &f->s.prog, .vars = &f->s.vars, .vcpu = v, .hit = &f->hit, .probe = KINST_NONE,
		.scratch = v->scratch, .scratch_next = v->scratch,
		.scratch_end = v->scratch + kinst_scratch_size(&f->s.prog), .fuel = KINST_FUEL, .fault_off = -1,
		.strtok = f->c->strtok,
	};
	return kinst_dif_run(f->c, &f->s.prog.difos[i]);
}

/* ---- the verifier ---- */

/* The verdict on a DIFO of n words with two integers, the strings "", "ab", and x (global), y (thread array). */
static u32 verdict_of(const u32 *w, u32 n, u32 flags, u32 *index)
{
	static const u64 ints[2] = { 1, 2 };
	struct fixture f;
	struct ib b;
	u32 code;

	ib_init(&b);
	b.h.flags = flags;
	ib_user_var(&b, 0x500, 0, 1, T_INT(8));
	ib_user_var(&b, 0x501, 1, 0, T_INT(8));
	ib_difo(&b, w, n, ints, 2, "\0ab", 4, T_INT(8));
	code = fixture_open(&f, &b);
	*index = f.err.index;
	fixture_close(&f);
	return code;
}

#define RET I_RET(0)

static void test_verifier(void)
{
	static const struct {
		u32 w[3];
		u32 n, code, index;
	} cases[] = {
		{ { RET }, 1, KINST_V_OK },
		{ { I_R3(OP_ADD, 1, 2, 3), RET }, 2, KINST_V_OK },
		{ { I_R3(OP_ADD, 8, 2, 3), RET }, 2, KINST_V_REGISTER, 0 },
		{ { I_R3(OP_ADD, 1, 8, 3), RET }, 2, KINST_V_REGISTER, 0 },
		{ { I_R3(OP_ADD, 1, 2, 8), RET }, 2, KINST_V_REGISTER, 0 },
		{ { I_R3(OP_ADD, 1, 2, 0), RET }, 2, KINST_V_DEST_R0, 0 },
		{ { I_R3(OP_NOT, 1, 1, 2), RET }, 2, KINST_V_RESERVED, 0 },
		{ { I_R3(OP_CMP, 1, 1, 2), RET }, 2, KINST_V_RESERVED, 0 },
		{ { I_R3(OP_BOUND, 1, 2, 0), RET }, 2, KINST_V_OK },
		{ { I_R3(OP_BOUND, 1, 2, 3), RET }, 2, KINST_V_RESERVED, 0 },
		{ { I_R3(OP_TST, 1, 1, 0), RET }, 2, KINST_V_RESERVED, 0 },
		{ { I_W(OP_NOP, 1, 0), RET }, 2, KINST_V_RESERVED, 0 },
		{ { I_R3(OP_RET, 0, 1, 0) }, 1, KINST_V_RESERVED, 0 },
		{ { 0, RET }, 2, KINST_V_OPCODE, 0 },
		{ { 78u << 24, RET }, 2, KINST_V_OPCODE, 0 },
		{ { 79u << 24, RET }, 2, KINST_V_OPCODE, 0 },
		{ { OP_MAX << 24, RET }, 2, KINST_V_OPCODE, 0 },
		{ { 255u << 24, RET }, 2, KINST_V_OPCODE, 0 },
		{ { OP_BA << 24 | 2, I_W(OP_NOP, 0, 0), RET }, 3, KINST_V_OK },
		{ { OP_BA << 24 | 3, I_W(OP_NOP, 0, 0), RET }, 3, KINST_V_BRANCH, 0 },
		{ { OP_BA << 24 | 0, RET }, 2, KINST_V_BRANCH, 0 },
		{ { I_W(OP_NOP, 0, 0), OP_BLEU << 24 | 1, RET }, 3, KINST_V_BRANCH, 1 },
		{ { I_W(OP_NOP, 0, 0) }, 1, KINST_V_NO_RET, 0 },
		{ { I_SETX(1, 1), RET }, 2, KINST_V_OK },
		{ { I_SETX(2, 1), RET }, 2, KINST_V_INT, 0 },
		{ { I_SETX(1, 0), RET }, 2, KINST_V_DEST_R0, 0 },
		{ { I_SETS(3, 1), RET }, 2, KINST_V_OK },
		{ { I_SETS(4, 1), RET }, 2, KINST_V_STR, 0 },
		{ { I_W(OP_LDGS, 0x500, 1), RET }, 2, KINST_V_OK },
		{ { I_W(OP_LDGS, 0x501, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_W(OP_LDGAA, 0x500, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_W(OP_LDTAA, 0x501, 1), RET }, 2, KINST_V_OK },
		{ { I_W(OP_LDTS, 0x501, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_W(OP_LDLS, 0x500, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_W(OP_LDGS, 0x121, 1), RET }, 2, KINST_V_OK },
		{ { I_W(OP_LDGS, 0x122, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_W(OP_LDGS, 0x200, 1), RET }, 2, KINST_V_OK },
		{ { I_W(OP_STGS, 0x200, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_W(OP_STGS, 0x500, 0), RET }, 2, KINST_V_OK },
		{ { I_R3(OP_LDGA, 2, 1, 1), RET }, 2, KINST_V_OK },
		{ { I_R3(OP_LDGA, 3, 1, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_R3(OP_LDTA, 0, 1, 1), RET }, 2, KINST_V_VARIABLE, 0 },
		{ { I_CALL(SUBR_STRLEN, 1), RET }, 2, KINST_V_OK },
		{ { I_CALL(SUBR_STRLEN, 0), RET }, 2, KINST_V_DEST_R0, 0 },
		{ { I_CALL(SUBR_GETF, 1), RET }, 2, KINST_V_SUBR, 0 },
		{ { I_CALL(SUBR_MAX, 1), RET }, 2, KINST_V_SUBR, 0 },
		{ { I_CALL(SUBR_COPYOUT, 1), RET }, 2, KINST_V_DESTRUCTIVE, 0 },
		{ { I_R3(OP_PUSHTR, 2, 0, 1), RET }, 2, KINST_V_TYPE, 0 },
		{ { I_R3(OP_PUSHTV, 1, 0, 1), RET }, 2, KINST_V_TYPE, 0 },
		{ { I_R3(OP_STX, 1, 0, 0), RET }, 2, KINST_V_DEST_R0, 0 },
	};
	static const u32 copyout[] = { I_CALL(SUBR_COPYOUT, 1), RET };
	u32 i, index, code;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		code = verdict_of(cases[i].w, cases[i].n, 0, &index);
		if (code != cases[i].code || (code && index != cases[i].index))
			printf("case %u: code %u index %u\n", i, code, index);
		EXPECT(code == cases[i].code && (!code || index == cases[i].index));
	}
	EXPECT(verdict_of(copyout, 2, KINST_IMAGE_DESTRUCTIVE, &index) == KINST_V_OK);
}

/* ---- the machine ---- */

/* Runs words over ints, in a separate session; *fault is the fault, or -1. */
static u64 eval(const u32 *w, u32 n, const u64 *ints, u32 nints, s32 *fault)
{
	struct fixture f;
	struct ib b;
	u64 v = 0;

	*fault = -2;
	ib_init(&b);
	ib_difo(&b, w, n, ints, nints, "\0ab", 4, T_INT(8));
	if (fixture_open(&f, &b) == KINST_V_OK) {
		v = fixture_run(&f, 0);
		*fault = f.c->faulted ? (s32)f.c->fault : -1;
	}
	fixture_close(&f);
	return v;
}

static u64 binary(u32 op, u64 a, u64 b, s32 *fault)
{
	const u32 w[] = { I_SETX(0, 1), I_SETX(1, 2), I_R3(op, 1, 2, 3), I_RET(3) };
	const u64 ints[] = { a, b };

	return eval(w, 4, ints, 2, fault);
}

static void test_arithmetic(void)
{
	static const struct {
		u32 op;
		u64 a, b, want;
	} cases[] = {
		{ OP_OR, 12, 10, 14 }, { OP_XOR, 12, 10, 6 }, { OP_AND, 12, 10, 8 },
		{ OP_SLL, 1, 63, 1ull << 63 }, { OP_SLL, 1, 64, 1 }, { OP_SRL, -1, 60, 15 }, { OP_SRA, -16, 2, -4 },
		{ OP_SUB, 1, 2, -1 }, { OP_ADD, -1, 2, 1 }, { OP_MUL, -3, 5, -15 },
		{ OP_SDIV, -7, 2, -3 }, { OP_SREM, -7, 2, -1 }, { OP_UDIV, -1, 2, INT64_MAX }, { OP_UREM, 7, 4, 3 },
		{ OP_SDIV, INT64_MIN, -1, INT64_MIN }, { OP_SREM, INT64_MIN, -1, 0 },
	};
	u32 i;
	s32 fault;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EXPECT(binary(cases[i].op, cases[i].a, cases[i].b, &fault) == cases[i].want && fault == -1);
	for (i = OP_SDIV; i <= OP_UREM; i++)
		EXPECT(binary(i, 5, 0, &fault) == 0 && fault == KINST_FLT_DIVZERO);
}

/* 1 if the branch op is taken after cmp a, b; else 0. */
static u64 branch(u32 op, u64 a, u64 b)
{
	const u32 w[] = { I_SETX(0, 1), I_SETX(1, 2), I_R3(OP_CMP, 1, 2, 0), op << 24 | 6,
			  I_R3(OP_MOV, 0, 0, 3), OP_BA << 24 | 7, I_SETX(2, 3), I_RET(3) };
	const u64 ints[] = { a, b, 1 };
	s32 fault;

	return eval(w, 8, ints, 3, &fault);
}

static void test_branches(void)
{
	static const u64 v[] = { 0, 1, INT64_MIN, -1, -7, INT64_MAX };
	u32 i, j;

	for (i = 0; i < 6; i++) {
		for (j = 0; j < 6; j++) {
			u64 a = v[i], b = v[j];
			bool n = (s64)a < (s64)b;

			EXPECT(branch(OP_BE, a, b) == (a == b) && branch(OP_BNE, a, b) == (a != b));
			EXPECT(branch(OP_BL, a, b) == n && branch(OP_BGE, a, b) == !n);
			EXPECT(branch(OP_BG, a, b) == (!n && a != b) && branch(OP_BLE, a, b) == (n || a == b));
			EXPECT(branch(OP_BLU, a, b) == (a < b) && branch(OP_BGEU, a, b) == (a >= b));
			EXPECT(branch(OP_BGU, a, b) == (a > b) && branch(OP_BLEU, a, b) == (a <= b));
			EXPECT(branch(OP_BA, a, b) == 1);
		}
	}
}

static void test_memory(void)
{
	static const u64 data[] = { 0xfedcba9876543210, 0 };
	u64 ints[] = { (u64)(uintptr_t)data, 16, 24, 0x55, 1 }, want;
	s32 fault;
#define LD(op) ((u32[]){ I_SETX(0, 1), I_R3(op, 1, 0, 2), I_RET(2) })
	EXPECT(eval(LD(OP_LDX), 3, ints, 5, &fault) == data[0] && fault == -1);
	EXPECT(eval(LD(OP_LDUB), 3, ints, 5, &fault) == 0x10);
	EXPECT(eval(LD(OP_LDUH), 3, ints, 5, &fault) == 0x3210);
	EXPECT(eval(LD(OP_RLDUW), 3, ints, 5, &fault) == 0x76543210);
	EXPECT(eval(LD(OP_ULDSW), 3, ints, 5, &fault) == 0x76543210);
	ints[0] += 4;
	EXPECT(eval(LD(OP_LDSH), 3, ints, 5, &fault) == (u64)(s64)(s16)0xba98);
	EXPECT(eval(LD(OP_LDSB), 3, ints, 5, &fault) == (u64)(s64)(s8)0x98);
	EXPECT(eval(LD(OP_LDSW), 3, ints, 5, &fault) == (u64)(s64)(s32)0xfedcba98);
	/* Loads need no alignment: members of packed structures have none. */
	memcpy(&want, (const char *)data + 3, sizeof(want));
	ints[0] = (u64)(uintptr_t)data + 3;
	EXPECT(eval(LD(OP_LDX), 3, ints, 5, &fault) == want && fault == -1);
	ints[0] = 16;
	EXPECT(eval(LD(OP_LDX), 3, ints, 5, &fault) == 0 && fault == KINST_FLT_BADADDR);
	/* allocs 24 bytes, stx 0x55 at 16, ldub; then one off, then another's memory */
#define ST(op, off) ((u32[]){ I_SETX(2, 1), I_R3(OP_ALLOCS, 1, 0, 2), I_SETX(off, 3), I_R3(OP_ADD, 2, 3, 2), \
			      I_SETX(3, 4), I_R3(op, 4, 0, 2), I_R3(OP_LDUB, 2, 0, 5), I_RET(5) })
	EXPECT(eval(ST(OP_STX, 1), 8, ints, 5, &fault) == 0x55 && fault == -1);
	EXPECT(eval(ST(OP_STB, 4), 8, ints, 5, &fault) == 0x55 && fault == -1);
	EXPECT(eval(ST(OP_STH, 4), 8, ints, 5, &fault) == 0 && fault == KINST_FLT_BADALIGN);
	/* beyond the allocation, but still in scratch memory */
	ints[1] = 32;
	EXPECT(eval(ST(OP_STX, 1), 8, ints, 5, &fault) == 0 && fault == KINST_FLT_BADADDR);
	ints[1] = 16;
	/* an index and a length */
#define BOUND(index, length) ((u32[]){ I_SETX(index, 1), I_SETX(length, 2), I_R3(OP_BOUND, 1, 2, 0), I_RET(1) })
	EXPECT(eval(BOUND(1, 2), 4, ints, 5, &fault) == 16 && fault == -1);
	EXPECT(eval(BOUND(1, 1), 4, ints, 5, &fault) == 0 && fault == KINST_FLT_BADINDEX);
	ints[0] = -1;
	EXPECT(eval(BOUND(0, 2), 4, ints, 5, &fault) == 0 && fault == KINST_FLT_BADINDEX);
	ints[0] = (u64)(uintptr_t)data;
	EXPECT(eval((u32[]){ I_SETX(0, 1), I_R3(OP_STX, 1, 0, 1), RET }, 3, ints, 5, &fault) == 0 &&
	       fault == KINST_FLT_BADADDR);
	/* more scratch memory than exists */
	ints[0] = 1ull << 40;
	EXPECT(eval((u32[]){ I_SETX(0, 1), I_R3(OP_ALLOCS, 1, 0, 2), I_RET(2) }, 3, ints, 5, &fault) == 0 &&
	       fault == KINST_FLT_NOSCRATCH);
	ints[0] = -1;
	eval((u32[]){ I_SETX(0, 1), I_R3(OP_ALLOCS, 1, 0, 2), I_RET(2) }, 3, ints, 5, &fault);
	EXPECT(fault == KINST_FLT_NOSCRATCH);
	/* nine pushes */
	eval((u32[]){ I_PUSHV(0), I_PUSHV(0), I_PUSHV(0), I_PUSHV(0), I_PUSHV(0), I_PUSHV(0), I_PUSHV(0), I_PUSHV(0),
		      I_PUSHV(0), RET }, 10, ints, 5, &fault);
	EXPECT(fault == KINST_FLT_TUPOFLOW);
	/* a call without its arguments */
	eval((u32[]){ I_CALL(SUBR_STRLEN, 1), RET }, 2, ints, 5, &fault);
	EXPECT(fault == KINST_FLT_ILLOP);
}

/* Comparing a variable with a constant has the same result on the short path and, with one more nop, in the loop. */
static void test_tests(void)
{
	static const u64 values[] = { 0, 1, 99, 100, 101, 1ull << 31, (u64)INT64_MAX, (u64)INT64_MIN, (u64)-1, (u64)-100 };
	static const u32 vars[] = { VAR_PID, VAR_ARG0, VAR_CPU, VAR_UID };
	u32 op, i, k, v, same = 0, tests = 0, count = sizeof(values) / sizeof(values[0]);

	for (op = OP_BE; op <= OP_BLEU; op++)
		for (v = 0; v < sizeof(vars) / sizeof(vars[0]); v++)
			for (i = 0; i < count; i++)
				for (k = 0; k < (vars[v] == VAR_ARG0 ? count : 1); k++) {
					u32 w[] = { I_W(OP_LDGS, vars[v], 1), I_SETX(0, 2), I_R3(OP_CMP, 1, 2, 0),
						    op << 24 | 6, I_R3(OP_MOV, 0, 0, 1), OP_BA << 24 | 7,
						    I_SETX(1, 1), I_W(OP_NOP, 0, 0), I_W(OP_NOP, 0, 0), I_RET(1) };
					u64 ints[] = { values[i], 77 };
					struct fixture f;
					struct ib b;
					u32 longer, shorter;

					ib_init(&b);
					longer = ib_difo(&b, w, 10, ints, 2, NULL, 0, T_INT(8));
					w[8] = w[9];
					shorter = ib_difo(&b, w, 9, ints, 2, NULL, 0, T_INT(8));
					if (fixture_open(&f, &b) != KINST_V_OK)
						abort();
					f.hit.nargs = 1;
					f.hit.args[0] = values[k];
					tests += f.s.prog.difos[shorter].form == KINST_FORM_TEST &&
						 f.s.prog.difos[longer].form == KINST_FORM_ANY;
					same += fixture_run(&f, shorter) == fixture_run(&f, longer);
					fixture_close(&f);
				}
	EXPECT(tests == same && tests == 10 * (3 + count) * count);
}

/* Registers start as 0, whatever an earlier program left in them, even if a branch decides which are written. */
static void test_registers(void)
{
	static const u32 dirty[] = { I_SETX(0, 1), I_SETX(0, 2), I_SETX(0, 3), I_SETX(0, 7), I_R3(OP_ADD, 1, 2, 1), I_RET(1) };
	static const u32 reads[] = { I_R3(OP_OR, 1, 2, 1), I_R3(OP_OR, 1, 7, 1), I_RET(1) };
	static const u32 branches[] = { I_R3(OP_TST, 0, 0, 0), OP_BE << 24 | 3, I_SETX(0, 3), I_RET(3) };
	static const u32 none[] = { I_SETX(0, 1), I_R3(OP_MOV, 1, 0, 2), I_R3(OP_ADD, 1, 2, 2), I_RET(2) };
	const u64 ints[] = { 5 };
	struct fixture f;
	struct ib b;
	u32 d, r, s, n;

	ib_init(&b);
	d = ib_difo(&b, dirty, 6, ints, 1, NULL, 0, T_INT(8));
	r = ib_difo(&b, reads, 3, ints, 1, NULL, 0, T_INT(8));
	s = ib_difo(&b, branches, 4, ints, 1, NULL, 0, T_INT(8));
	n = ib_difo(&b, none, 4, ints, 1, NULL, 0, T_INT(8));
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	EXPECT(f.s.prog.difos[d].clear == 0 && f.s.prog.difos[n].clear == 0);
	EXPECT(f.s.prog.difos[r].clear == (1 << 1 | 1 << 2 | 1 << 7) && f.s.prog.difos[s].clear == 1 << 3);
	EXPECT(fixture_run(&f, d) == 10 && kinst_dif_run(f.c, &f.s.prog.difos[r]) == 0);
	EXPECT(fixture_run(&f, d) == 10 && kinst_dif_run(f.c, &f.s.prog.difos[s]) == 0);
	EXPECT(fixture_run(&f, n) == 10);
	fixture_close(&f);
}

/* A program of the greatest length, each instruction a long string operation, ends in time. */
static void test_fuel(void)
{
	static char text[4096];
	struct fixture f;
	struct ib b;
	u32 *w = calloc(60000, 4), i;
	u64 ints[1] = { (u64)(uintptr_t)text };

	memset(text, 'x', sizeof(text) - 1);
	w[0] = I_SETX(0, 1);
	w[1] = I_PUSHV(1);
	for (i = 2; i < 59999; i++)
		w[i] = I_CALL(SUBR_STRLEN, 2);
	w[i] = I_RET(2);
	ib_init(&b);
	b.h.strsize = 65536;
	ib_difo(&b, w, 60000, ints, 1, NULL, 0, T_INT(8));
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	fixture_run(&f, 0);
	EXPECT(f.c->faulted && f.c->fault == KINST_FLT_ILLOP && f.c->fuel < 1024);
	fixture_close(&f);
	free(w);
}

/* ---- tables and layouts ---- */

static void test_layout(void)
{
	const struct kinst_act *a;
	struct fixture f;
	struct ib b;
	u32 c1, c2;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 1), 0); /* 0: 1 at 0 */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 2), 0); /* 1: 2 at 2 */
	ib_act(&b, KINST_ACT_TRACEMEM, ib_const(&b, 1, 8), 12); /* 2: 12 at 4 */
	ib_act(&b, KINST_ACT_TRACEMEM, ib_const(&b, 1, 8), 7); /* 3: 7 at 16 */
	ib_act(&b, KINST_ACT_STACK, KINST_NONE, 3); /* 4: 24 at 24 */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 4), 0); /* 5: key, 4 at 0 */
	ib_act(&b, KINST_ACT_STACK, KINST_NONE, 1); /* 6: key, 8 at 8 */
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 2), 0); /* 7: key, 2 at 16 */
	ib_agg(&b, KINST_ACT_AVG, 1, 3, ib_const(&b, 1, 8), 0); /* 8: key 18, value 16 */
	ib_act(&b, KINST_ACT_EXIT, ib_const(&b, 1, 4), 0); /* 9: 4 at 48 */
	c1 = ib_clause(&b, KINST_NONE, 0);
	ib_act(&b, KINST_ACT_PRINTF, ib_difo(&b, (u32[]){ RET }, 1, NULL, 0, NULL, 0, T_VOID), 3);
	c2 = ib_clause(&b, KINST_NONE, KINST_CLAUSE_RECORD);
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	if (!f.image)
		return;
	a = f.s.prog.acts;
	EXPECT(a[0].off == 0 && a[1].off == 2 && a[2].off == 4 && a[3].off == 16 && a[4].off == 24 && a[9].off == 48);
	EXPECT(a[5].role == KINST_ROLE_KEY && a[5].off == 0 && a[6].off == 8 && a[7].off == 16 && a[8].keylen == 18 && a[8].vallen == 16);
	EXPECT(f.s.prog.clauses[c1].payload == 56 && f.s.prog.clauses[c1].record);
	EXPECT(f.s.prog.clauses[c2].payload == 0 && f.s.prog.clauses[c2].record);
	EXPECT(f.s.prog.max_entry == 8 + 24 + 16);
	fixture_close(&f);
}

/* The bytes between the values of a record, and after them, are zero, whatever the ring contained. */
static void test_gaps(void)
{
	static const u8 want[16] = { 1, 0, 0, 0, 2 };
	struct fixture f;
	struct ib b;
	u32 probe;

	ib_init(&b);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 1, 1), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 2, 4), 0);
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 0, 1), 0);
	probe = ib_probe(&b, KINST_P_INSN, "1");
	ib_ecb(&b, probe, ib_clause(&b, KINST_NONE, 0));
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	if (!f.image)
		return;
	memset(f.s.vcpus[0]->ring.data, 0xff, 4096);
	f.hit = (struct kinst_hit){ .kind = KINST_P_INSN, .fuel = KINST_HIT_FUEL };
	kinst_run_probe(&f.s, f.s.vcpus[0], 0, &f.hit);
	EXPECT(!memcmp(f.s.vcpus[0]->ring.data + sizeof(struct kinst_rec), want, sizeof(want)));
	fixture_close(&f);
}

#define COPY(bytes, frames) ((u64)(bytes) << 32 | (frames))

/* ustack(): addresses, then registers and the readable part of the stack; the rest is zero. */
static void check_ustack(const struct kinst_prog *p, const u8 *record)
{
	const struct kinst_act *act = p->acts;
	const u64 *words = (const u64 *)record;
	const struct kinst_ustack *u = (const struct kinst_ustack *)(words + 4);
	const u8 *bytes = (const u8 *)(u + 1);
	u32 i;

	EXPECT(act->size == 32 + sizeof(*u) + 8192 && act[1].off == act->size && act[2].size == 24);
	EXPECT(p->clauses[0].cost == KINST_ECB_STEPS + 3 * KINST_ACTION_STEPS + act->size / 8 + 4 * KINST_FRAME_STEPS +
					     8192 / 8 + 4 * KINST_LOAD_STEPS + 1 + 3 + 3 * KINST_FRAME_STEPS);
	EXPECT(words[0] == mock.pid && words[1] == mock.ucaller && !words[2] && !words[3]);
	EXPECT(u->bytes == 5000 && u->nregs == 16 && u->ip == mock.pid + 16 && u->regs[15] == mock.pid + 15);
	for (i = 0; i < 8192 && bytes[i] == (i < 5000 ? 0x5a : 0); i++)
		;
	EXPECT(i == 8192 && words[act->size / 8] == 7);
}

static void test_ustack(void)
{
	static const u64 bad[] = { 0, COPY(0, KINST_MAX_FRAMES + 1), COPY(8, 0), COPY(4, 1), COPY(KINST_MAX_USTACK + 8, 1) };
	const struct kinst_agg_entry *e;
	struct fixture f;
	struct ib b;
	u64 pos = 0;
	u32 i;

	ib_init(&b);
	ib_act(&b, KINST_ACT_USTACK, KINST_NONE, COPY(8192, 3));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_const(&b, 7, 8), 0);
	ib_act(&b, KINST_ACT_USTACK, KINST_NONE, COPY(0, 2));
	ib_ecb(&b, ib_probe(&b, KINST_P_INSN, "1"), ib_clause(&b, KINST_NONE, 0));
	ib_act(&b, KINST_ACT_USTACK, KINST_NONE, COPY(8192, 3));
	ib_agg(&b, KINST_ACT_COUNT, 1, 1, KINST_NONE, 0);
	ib_ecb(&b, 0, ib_clause(&b, KINST_NONE, 0));
	EXPECT(fixture_open(&f, &b) == KINST_V_OK);
	if (!f.image)
		return;
	mock.ustack = 5000;
	memset(f.s.vcpus[0]->ring.data, 0xff, 1 << 16);
	memset(f.s.vcpus[0]->entry, 0xff, f.s.prog.max_entry);
	f.hit = (struct kinst_hit){ .kind = KINST_P_INSN, .fuel = KINST_HIT_FUEL };
	kinst_run_probe(&f.s, f.s.vcpus[0], 0, &f.hit);
	check_ustack(&f.s.prog, f.s.vcpus[0]->ring.data + sizeof(struct kinst_rec));
	e = kinst_agg_next(kinst_agg_switch(&f.s.vcpus[0]->agg), &pos);
	EXPECT(e && !memcmp(e + 1, f.s.vcpus[0]->ring.data + sizeof(struct kinst_rec), f.s.prog.acts[0].size));
	fixture_close(&f);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ib_init(&b);
		ib_act(&b, KINST_ACT_USTACK, KINST_NONE, bad[i]);
		ib_clause(&b, KINST_NONE, 0);
		EXPECT(fixture_open(&f, &b) == KINST_V_ACTION);
		fixture_close(&f);
	}
}

/* One refusal of each kind that does not concern an instruction. */
static u32 build_bad(int kind)
{
	struct kinst_ecb ecb = { 0, 0 };
	struct fixture f;
	struct ib b;
	u32 code;

	ib_init(&b);
	ib_const(&b, 1, 8);
	if (kind == 0)
		b.h.strsize = 4;
	else if (kind == 1)
		ib_user_var(&b, 0x4ff, 0, 1, T_INT(8));
	else if (kind == 2)
		ib_user_var(&b, 0x500, 0, 1, T_INT(3));
	else if (kind == 3)
		ib_add(&b, IB_ECBS, &ecb, 1);
	else if (kind == 4)
		ib_agg(&b, KINST_ACT_SUM, 1, 1, 0, 0);
	else if (kind == 5)
		ib_act(&b, KINST_ACT_COMMIT, KINST_NONE, 0);
	else if (kind == 6)
		ib_act(&b, KINST_ACT_SYSTEM, 0, 0);
	else if (kind == 7)
		ib_probe(&b, 77, "x");
	else if (kind == 8)
		ib_act(&b, KINST_ACT_TRACEMEM, 0, 1 << 20);
	else if (kind == 9)
		b.h.magic = 1;
	else if (kind == 10)
		b.h.reserved = 1;
	else if (kind == 11)
		ib_act(&b, KINST_ACT_DIFEXPR, 5, 0);
	else if (kind == 12)
		ib_agg(&b, KINST_ACT_LQUANTIZE, 1, 0, 0, 0);
	if (b.t[IB_ACTS].count)
		ib_clause(&b, KINST_NONE, 0);
	if (kind == 13) {
		ib_agg(&b, KINST_ACT_SUM, 1, 0, 0, 0);
		ib_agg(&b, KINST_ACT_MAX, 1, 0, 0, 0);
		ib_clause(&b, KINST_NONE, 0);
	}
	code = fixture_open(&f, &b);
	fixture_close(&f);
	return code;
}

/* A timer needs an interval within bounds, a system call a number. */
static void test_sources(void)
{
	static const struct {
		u32 kind;
		u64 func;
		u32 want;
	} rows[] = {
		{ KINST_P_TICK, KINST_MIN_INTERVAL, KINST_V_OK },
		{ KINST_P_PROFILE, KINST_MIN_INTERVAL - 1, KINST_V_PROBE },
		{ KINST_P_TICK, 0, KINST_V_PROBE },
		{ KINST_P_PROFILE, KINST_MAX_INTERVAL, KINST_V_OK },
		{ KINST_P_TICK, KINST_MAX_INTERVAL + 1ull, KINST_V_PROBE },
		{ KINST_P_SYSCALL_ENTRY, KINST_MAX_SYSCALLS - 1, KINST_V_OK },
		{ KINST_P_SYSCALL_RETURN, KINST_MAX_SYSCALLS, KINST_V_PROBE },
		{ KINST_P_KINDS, KINST_MIN_INTERVAL, KINST_V_PROBE },
	};
	struct fixture f;
	struct ib b;
	u32 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kinst_probe p = { .kind = rows[i].kind, .func = rows[i].func };

		ib_init(&b);
		ib_add(&b, IB_PROBES, &p, 1);
		EXPECT(fixture_open(&f, &b) == rows[i].want);
		fixture_close(&f);
	}
}

static void test_refusals(void)
{
	static const u32 want[] = { KINST_V_OPTION, KINST_V_VARIABLE, KINST_V_TYPE, KINST_V_INDEX, KINST_V_TUPLE,
				    KINST_V_ACTION, KINST_V_DESTRUCTIVE, KINST_V_PROBE, KINST_V_OPTION, KINST_V_HEADER,
				    KINST_V_RESERVED, KINST_V_INDEX, KINST_V_ACTION, KINST_V_TUPLE };
	u32 i;

	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		EXPECT(build_bad(i) == want[i]);
}

/* A sample for difrun_check.sh. */
static void write_image(void)
{
	static const u64 bad[] = { 16 };
	static const u32 load[] = { I_SETX(0, 1), I_R3(OP_LDX, 1, 0, 2), I_RET(2) };
	struct ib b;
	u32 len, begin, end;
	char *image;

	ib_init(&b);
	begin = ib_probe(&b, KINST_P_BEGIN, "BEGIN");
	end = ib_probe(&b, KINST_P_END, "END");
	ib_act(&b, KINST_ACT_DIFEXPR, ib_var_difo(&b, VAR_PID, T_INT(4)), 0);
	ib_act(&b, KINST_ACT_PRINTF, ib_string(&b, "a\"b"), 0);
	ib_agg(&b, KINST_ACT_COUNT, 1, 0, KINST_NONE, 0);
	ib_ecb(&b, begin, ib_clause(&b, ib_const(&b, 1, 4), 0));
	ib_act(&b, KINST_ACT_DIFEXPR, ib_difo(&b, load, 3, bad, 1, NULL, 0, T_INT(8)), 0);
	ib_ecb(&b, end, ib_clause(&b, KINST_NONE, 0));
	image = ib_finish(&b, &len);
	fwrite(image, 1, len, stdout);
	free(image);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--image")) {
		write_image();
		return 0;
	}
	test_verifier();
	test_arithmetic();
	test_branches();
	test_memory();
	test_fuel();
	test_tests();
	test_registers();
	test_layout();
	test_gaps();
	test_ustack();
	test_refusals();
	test_sources();
	unit_strings();
	unit_data();
	unit_fuzz();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
