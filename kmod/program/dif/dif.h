/* SPDX-License-Identifier: GPL-2.0 */
/*
 * program/dif/dif.h: the DIF machine: its encoding, and the state of a running one.
 */
#ifndef _KINST_DIF_H
#define _KINST_DIF_H

#include "include/uapi/kinst_dif.h"
#include "program/env.h"

/* ---- encoding ---- */

#define DIF_OP(w) ((w) >> 24)
#define DIF_R1(w) (((w) >> 16) & 0xff)
#define DIF_R2(w) (((w) >> 8) & 0xff)
#define DIF_RD(w) ((w) & 0xff)
#define DIF_LABEL(w) ((w) & 0xffffff)
#define DIF_INDEX(w) (((w) >> 8) & 0xffff) /* setx, sets, variables, call */

/* ---- a verified program (program/dif/verify.c) ---- */

struct kinst_dif {
	const u32 *insn;
	const u64 *ints;
	const char *str;
	u32 ninsns;
	struct kinst_dtype rtype;
	u8 form; /* enum kinst_form */
	u8 clear; /* registers that it may read before it writes them, a bit each */
	u8 branch; /* TEST: the opcode */
	u32 var; /* TEST */
	u64 value; /* CONST: the result; TEST: the constant that the variable is compared with */
	u64 yes; /* TEST: the result if the branch is taken; otherwise it is 0 */
};

/* Short programs that the verifier recognizes, and that run without the interpreter's loop. */
enum kinst_form {
	KINST_FORM_ANY,
	KINST_FORM_CONST, /* setx; ret */
	KINST_FORM_TEST, /* a built-in scalar compared with a constant: pid == $target; cannot fault */
};

/* Whether, as a predicate, its result is only whether the branch is taken. */
static inline bool kinst_is_test(const struct kinst_dif *d)
{
	return d->form == KINST_FORM_TEST && d->yes;
}

struct kinst_prog;

/* The arguments of a subroutine; max < min: it is not supported. */
struct kinst_subr_args {
	s8 min, max; /* arguments */
	bool destructive;
};

const struct kinst_subr_args *kinst_subr_args(u32 subr);

/* Checks the DIFO with index difo of p and fills p->difos[difo]. */
int kinst_dif_verify(struct kinst_prog *p, u32 difo, struct kinst_error *err);

/* ---- a running program (program/dif/interp.c, program/dif/subr.c) ---- */

struct kinst_session;
struct kinst_vcpu;
struct kinst_vars;

struct kinst_tuple {
	u64 value;
	u64 size; /* 0: by value */
	bool string; /* the last byte counts as NUL, whatever memory contains */
};

/*
 * One ECB (or a single DIFO) that runs on one CPU. It is in preallocated
 * memory of the CPU, and the guard in kinst_fire() makes it exclusive: nothing
 * here needs a lock.
 */
struct kinst_ctx {
	const struct kinst_prog *prog;
	struct kinst_session *session;
	struct kinst_vars *vars;
	struct kinst_vcpu *vcpu;
	struct kinst_hit *hit;
	u32 probe; /* index in prog->probes */
	u32 epid;
	u32 action; /* the one that faulted, from 1; 0: the predicate */
	u64 timestamp; /* of the firing, once kinst_ctx_now() has read it; else 0 */
	u32 cpu;

	bool faulted;
	u32 fault; /* enum kinst_flt */
	s32 fault_off;
	u64 fault_value;

	u8 *scratch, *scratch_next, *scratch_end;
	u64 strtok; /* where the next strtok(NULL, ...) continues; 0: nowhere */
	u64 strtok_limit; /* bytes left of strsize from there */
	u64 tracemem; /* bytes for the next TRACEMEM, if TRACEMEM_DYN gave them; else U64_MAX */
	u32 spec; /* the speculation that the ECB's record goes to */
	u32 fuel; /* steps left: branches go only forward, so a program ends, but strings can make it long */

	u32 ntuple;
	struct kinst_tuple tuple[DIF_NTUPLE];
	u64 regs[DIF_NREGS];
};

/*
 * The clock is read once per firing, and only if a program or a record needs it:
 * reading it takes longer than a count().
 */
static nokprobe_inline u64 kinst_ctx_now(struct kinst_ctx *c)
{
	if (!c->timestamp)
		c->timestamp = kinst_env_now();
	return c->timestamp;
}

/*
 * The cost of a run is counted in steps: one for an instruction, and one for eight bytes that are copied, compared or
 * cleared. Other slow operations have a price in steps, paid as they happen. The verifier computes the costs known
 * before the run (the ECB, its actions, records, keys and stacks); these are paid at once.
 */
#define KINST_FUEL (1u << 20) /* steps of one ECB, besides those paid at once; a whole hit has KINST_HIT_FUEL */
#define KINST_ECB_STEPS 16
#define KINST_FAULT_STEPS 16u
#define KINST_ACTION_STEPS 8
#define KINST_CALL_STEPS 8 /* a subroutine */
#define KINST_LOAD_STEPS 8 /* a copy that may fault, of any length */
#define KINST_FRAME_STEPS 64 /* a frame of a stack, the kernel's or one that user space made */
#define KINST_NODE_STEPS 4 /* an item of a list, mostly not in the cache: a hash's node, a task, a mount */

u64 kinst_dif_run(struct kinst_ctx *c, const struct kinst_dif *d);
bool kinst_dif_taken(u32 op, u64 a, u64 b); /* whether the branch op is taken after cmp a, b */

/* For KINST_FORM_TEST: whether its branch is taken. Needs nothing of c but the hit and the probe. */
static nokprobe_inline bool kinst_dif_test(struct kinst_ctx *c, const struct kinst_dif *d)
{
	u64 value = kinst_env_var(c, d->var);

	return likely(d->branch == OP_BE) ? value == d->value : kinst_dif_taken(d->branch, value, d->value);
}

u64 kinst_dif_subr(struct kinst_ctx *c, u32 subr); /* program/dif/subr.c */
u64 kinst_str_subr(struct kinst_ctx *c, u32 subr); /* program/dif/str.c: subroutines on strings */
u64 kinst_json(struct kinst_ctx *c); /* program/dif/json.c */

/* The first fault counts. */
static inline void kinst_fault(struct kinst_ctx *c, u32 fault, u64 value)
{
	if (c->faulted)
		return;
	c->faulted = true;
	c->fault = fault;
	c->fault_value = value;
}

/*
 * Takes steps from the fuel; returns false, and faults, if too few are left. Work that is paid for afterwards is
 * bounded otherwise: by the instructions of a DIFO, or the frames of a stack.
 */
static inline bool kinst_burn(struct kinst_ctx *c, u64 steps)
{
	if (steps > c->fuel) {
		c->fuel = 0;
		kinst_fault(c, KINST_FLT_ILLOP, 0);
		return false;
	}
	c->fuel -= steps;
	return true;
}

/*
 * A hash of one or more whole words. Collisions cannot be predicted without the seed: each word is
 * multiplied by a value derived from the seed, and both halves of the product are used.
 */
static nokprobe_inline u64 kinst_hash(u64 seed, const void *key, u64 len)
{
	u64 h = seed * 0x9e3779b97f4a7c15ull, i;
	const u64 *words = key;

	for (i = 0; i < len / 8; i++) {
		unsigned __int128 product = (unsigned __int128)(words[i] ^ h) * (seed | 1);

		h = (u64)product ^ (u64)(product >> 64) ^ (h << 23 | h >> 41);
	}
	return h ^ h >> 32;
}

/* ---- access to memory by programs (program/dif/mem.c) ---- */

/* n bytes of scratch memory, 8-aligned, not cleared; NULL and a NOSCRATCH fault if too little is left. */
void *kinst_scratch(struct kinst_ctx *c, u64 n);

/* A new string of n bytes in scratch memory, cut at strsize; its address, or 0 and a fault. */
u64 kinst_new_string(struct kinst_ctx *c, const char *s, u64 n);

/* Reads n bytes; on a fault returns false, and c records it. */
bool kinst_load(struct kinst_ctx *c, void *dst, u64 addr, u64 n, bool user);

/*
 * Copies the string at addr, at most limit bytes; dst has a NUL only if it is shorter. Returns its
 * length; on a fault 0.
 */
u64 kinst_load_text(struct kinst_ctx *c, char *dst, u64 addr, u64 limit, bool user);

/*
 * Copies the string at addr: at most limit bytes with the NUL, which is always
 * there in dst (so limit >= 1). Returns its length without the NUL; on a fault 0.
 */
u64 kinst_load_str(struct kinst_ctx *c, char *dst, u64 addr, u64 limit, bool user);

/* strlen() that looks at no more than limit bytes. */
u64 kinst_strnlen(struct kinst_ctx *c, u64 addr, u64 limit);

/* memcmp()-like order of two strings, of which at most limit bytes count; NULL comes first. */
int kinst_strcmp(struct kinst_ctx *c, u64 a, u64 b, u64 limit);

/* Writes n bytes (program/dif/store.c) to scratch memory or a variable; a BADADDR fault anywhere else. */
bool kinst_store(struct kinst_ctx *c, u64 addr, const void *src, u64 n);
bool kinst_storable(struct kinst_ctx *c, u64 addr, u64 n);

#endif /* _KINST_DIF_H */
