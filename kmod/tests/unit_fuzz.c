// SPDX-License-Identifier: GPL-2.0
/*
 * unit_fuzz.c: randomly changed images, and random programs. They must touch
 * only their own memory (checked by the sanitizers), and every accepted program must end.
 */
#include "unit.h"

static u64 state = 88172645463325252ull;

static u32 rnd(u32 n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 16) % n;
}

/* A word that the verifier is likely to accept. */
static u32 random_insn(u32 pc, u32 n)
{
	u32 op = 1 + rnd(78), r1 = rnd(8), r2 = rnd(8), rd = 1 + rnd(7);

	if (op == OP_XLATE)
		op = OP_BOUND; /* the kernel has no translators */
	if (rnd(4) == 0)
		op = OP_CALL;
	if (op >= OP_BA && op <= OP_BLEU)
		return op << 24 | (pc + 1 + rnd(n - pc - 1));
	switch (op) {
	case OP_RET:
	case OP_NOP:
	case OP_POPTS:
	case OP_FLUSHTS:
		return OP_NOP << 24;
	case OP_CMP:
	case OP_SCMP:
	case OP_BOUND:
		return I_R3(op, r1, r2, 0);
	case OP_TST:
		return I_R3(op, r1, 0, 0);
	case OP_SETX:
		return I_SETX(rnd(6), rd);
	case OP_SETS:
		return I_SETS(rnd(8), rd);
	case OP_LDGA:
		return I_R3(op, rnd(3), r2, rd);
	case OP_LDGS:
		return I_W(op, rnd(2) ? 0x500 : 0x100 + rnd(0x22), rd);
	case OP_LDGAA: case OP_STGAA: case OP_LDTAA: case OP_STTAA:
		return I_W(op, 0x501, rd);
	case OP_STGS: case OP_LDTS: case OP_STTS: case OP_LDLS: case OP_STLS:
		return I_W(op, rnd(2) ? 0x500 : 0x502, rd);
	case OP_LDTA:
		return OP_NOP << 24;
	case OP_CALL:
		r1 = rnd(SUBR_MAX);
		if (kinst_subr_args(r1)->max < kinst_subr_args(r1)->min || kinst_subr_args(r1)->destructive)
			r1 = rnd(50) ? SUBR_STRJOIN : r1;
		return I_CALL(r1, rd);
	case OP_PUSHTR:
		return I_R3(op, rnd(2), r2, rd);
	case OP_PUSHTV:
		return I_R3(op, 0, 0, rd);
	}
	if ((op >= OP_OR && op <= OP_UREM) || op == OP_SRA || op == OP_COPYS)
		return I_R3(op, r1, r2, rd);
	return I_R3(op, r1, 0, rd);
}

static void build(struct ib *b)
{
	static char memory[256];
	const u64 ints[] = { 1, -1, rnd(100), (u64)(uintptr_t)memory, 1ull << rnd(64), 8 };
	u32 w[41], i, k, n;

	ib_init(b);
	b->h.strsize = 8 + rnd(300);
	b->h.bufsize = 8192 + rnd(20000);
	b->h.dynvarsize = 4096 + rnd(30000);
	for (i = 0; i < 3; i++) {
		ib_user_var(b, 0x500, i, 1, T_INT(8));
		ib_user_var(b, 0x502, i, 1, rnd(2) ? T_STRING : T_REF(1 + rnd(100)));
	}
	ib_user_var(b, 0x501, SCOPE_GLOBAL, 0, rnd(2) ? T_STRING : T_REF(1 + rnd(300)));
	ib_user_var(b, 0x501, SCOPE_THREAD, 0, rnd(2) ? T_STRING : T_INT(8));
	for (i = 0; i < 8; i++) {
		n = 2 + rnd(39);
		for (k = 0; k < n - 1; k++)
			w[k] = random_insn(k, n);
		w[n - 1] = I_RET(rnd(8));
		ib_difo(b, w, n, ints, 6, "\0ab/cd\0", 8, i < 5 ? T_INT(8) : rnd(2) ? T_STRING : T_REF(rnd(40)));
	}
	for (i = 0; i < 4; i++) {
		ib_act(b, KINST_ACT_DIFEXPR, rnd(8), 0);
		ib_act(b, rnd(2) ? KINST_ACT_TRACEMEM : KINST_ACT_SYM, rnd(5), 1 + rnd(50));
		ib_act(b, KINST_ACT_DIFEXPR, rnd(8), 0);
		ib_act(b, rnd(2) ? KINST_ACT_STACK : KINST_ACT_USTACK, KINST_NONE, 1 + rnd(5));
		if (!rnd(4))
			ib_act(b, KINST_ACT_USTACK, KINST_NONE, (u64)(8 * rnd(1000)) << 32 | (1 + rnd(5)));
		ib_agg(b, KINST_ACT_AVG, 1 + i, rnd(3), rnd(5), 0);
		ib_agg(b, KINST_ACT_LLQUANTIZE, 10, 0, rnd(5), 10ull << 48 | 6ull << 16 | 20);
		ib_ecb(b, 0, ib_clause(b, rnd(2) ? KINST_NONE : rnd(5), 0));
	}
	ib_probe(b, KINST_P_INSN, "x");
	ib_probe(b, KINST_P_ERROR, "ERROR");
	ib_ecb(b, 1, rnd(4));
}

/* Fires probes a few times, and consumes the records in the ring now and then. */
static void exercise(struct fixture *f)
{
	struct kinst_vcpu *v = f->s.vcpus[0];
	u32 i, probe;

	if (!f->s.prog.hdr->probes.count)
		return;
	for (i = 0; i < 6; i++) {
		struct kinst_hit hit = { .kind = KINST_P_INSN, .nargs = 6, .fuel = KINST_HIT_FUEL };

		f->s.state = KINST_STATE_ACTIVE;
		probe = rnd(f->s.prog.hdr->probes.count);
		kinst_run_probe(&f->s, v, probe, &hit);
		if (rnd(2))
			v->ring.cons->pos = v->ring.prod->pos;
		if (rnd(2) && kinst_vars_collect(&f->s.vars))
			kinst_vars_release(&f->s.vars);
	}
}

void unit_fuzz(void)
{
	u32 i, k, accepted = 0, mutants = 0, refused[KINST_V_MAX] = {};
	struct fixture f;
	struct ib b;

	for (i = 0; i < 1500; i++) {
		build(&b);
		if (fixture_open(&f, &b) != KINST_V_OK) {
			refused[f.err.code]++;
			continue;
		}
		exercise(&f);
		fixture_close(&f);
		accepted++;
	}
	for (i = 0; i < KINST_V_MAX; i++)
		if (refused[i])
			printf("# fuzz: refused with %u: %u\n", i, refused[i]);
	EXPECT(accepted > 50);

	for (i = 0; i < 12000; i++) {
		static const struct kinst_limits lim = { 1000, 100000 };
		u32 len;
		u8 *image;

		if (i % 20 == 0) {
			static u8 *base;
			static u32 base_len;

			free(base);
			build(&b);
			base = ib_finish(&b, &base_len);
			state ^= i;
			memset(&f, 0, sizeof(f));
			f.image = base;
			f.len = base_len;
		}
		len = rnd(50) ? f.len : rnd(f.len + 1);
		image = malloc(len ?: 1);
		memcpy(image, f.image, len);
		for (k = rnd(4); len && k < 4; k++)
			image[rnd(rnd(2) ? len : min(len, 200u))] = rnd(3) ? rnd(256) : rnd(2) ? 0 : 255;
		memset(&f.s, 0, sizeof(f.s));
		if (!kinst_image_parse(&f.s.prog, image, len, &lim, &f.err)) {
			if (kinst_session_bytes(&f.s.prog, 1, 1) < 16 << 20 && !kinst_session_alloc(&f.s, 1)) {
				f.c = &f.s.vcpus[0]->ctx[0];
				exercise(&f);
				kinst_session_free(&f.s);
				mutants++;
			}
			kinst_image_free(&f.s.prog);
		} else {
			EXPECT(f.err.code > 0 && f.err.code < KINST_V_MAX);
		}
		free(image);
	}
	EXPECT(mutants > 100);
	printf("# fuzz: %u programs and %u changed images accepted and run\n", accepted, mutants);
}
