// SPDX-License-Identifier: GPL-2.0
/*
 * slots.c: checks that arch/arm64/insn.c decodes any word, and that a slot and a detour do what their instruction does:
 * they are interpreted here, and compared with a second decoder, which is below.
 *
 * Usage: slots STRIDE            every STRIDEth of all 2^32 words, at random addresses; 1: all of them
 *        slots WORD ADDR SLOT    one of them, as a failure names it
 * Built with -DFUZZER, it is a target for libFuzzer.
 */
#include <stdio.h>

#include "arch/arch.h"

static u32 word_now;
static u64 addr_now, slot_now;

#define CHECK(cond) \
	do { \
		if (!(cond)) \
			wrong(#cond, __LINE__); \
	} while (0)

static void __attribute__((noreturn)) wrong(const char *what, int line)
{
	fprintf(stderr, "line %d: not %s\nslots 0x%x 0x%llx 0x%llx\n", line, what, word_now, (unsigned long long)addr_now,
		(unsigned long long)slot_now);
	abort();
}

/* ---- the second decoder ---- */

enum what {
	RUNS, /* what it does depends on nothing here */
	SETS, /* a register to a value */
	LOADS, /* a register from an address */
	NOTHING,
	JUMPS,
	CALLS,
	BRANCHES,
	JUMPS_TO_REGISTER,
	CALLS_REGISTER,
	NOT_KNOWN, /* refused */
};

/* The effect of an instruction. */
struct effect {
	enum what what;
	u32 reg;
	u64 value; /* that is set, or an address */
	u32 size; /* of what is loaded, or 0 for a prefetch */
	bool is_signed;
	u32 offset_at, offset_bits; /* the field of a branch with its distance */
};

static u64 extended(u64 value, u32 bits)
{
	u64 sign = 1ull << (bits - 1);

	return ((value & (sign * 2 - 1)) ^ sign) - sign;
}

static u64 field(u32 word, u32 at, u32 bits)
{
	return extended(word >> at, bits) * 4;
}

static struct effect branch_to(enum what what, u32 word, u64 addr, u32 at, u32 bits)
{
	return (struct effect){ .what = what, .value = addr + field(word, at, bits), .offset_at = at, .offset_bits = bits };
}

static struct effect effect_of(u32 word, u64 addr)
{
	struct effect e = { .what = RUNS, .reg = word & 31 };
	u32 op = word >> 24;

	switch (op) {
	case 0x10: case 0x30: case 0x50: case 0x70: /* adr */
		e.what = SETS;
		e.value = addr + extended((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21);
		break;
	case 0x90: case 0xb0: case 0xd0: case 0xf0: /* adrp */
		e.what = SETS;
		e.value = (addr >> 12 << 12) + (extended((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 21) << 12);
		break;
	case 0x18: case 0x58: case 0x98: case 0xd8: /* ldr, ldr x, ldrsw, prfm */
		e.what = LOADS;
		e.value = addr + field(word, 5, 19);
		e.size = op == 0x58 ? 8 : op == 0xd8 ? 0 : 4;
		e.is_signed = op == 0x98;
		break;
	case 0x14: case 0x15: case 0x16: case 0x17:
		return branch_to(JUMPS, word, addr, 0, 26);
	case 0x94: case 0x95: case 0x96: case 0x97:
		return branch_to(CALLS, word, addr, 0, 26);
	case 0x54:
	case 0x34: case 0x35: case 0xb4: case 0xb5:
		return branch_to(BRANCHES, word, addr, 5, 19);
	case 0x36: case 0x37: case 0xb6: case 0xb7:
		return branch_to(BRANCHES, word, addr, 5, 14);
	case 0xd6: case 0xd7:
		switch (word >> 21 & 7) {
		case 0: case 2:
			e.what = JUMPS_TO_REGISTER;
			break;
		case 1:
			e.what = CALLS_REGISTER;
			e.reg = word >> 5 & 31;
			break;
		default:
			e.what = NOT_KNOWN;
		}
		break;
	}
	if ((e.what == SETS || (e.what == LOADS && e.size)) && e.reg == 31)
		e.what = NOTHING;
	if (e.what == LOADS && !e.size)
		e.what = NOTHING;
	return e;
}

/* Instructions that must be refused, since they trap, or since a trap before them changes what they do. */
static bool must_refuse(u32 word)
{
	if (word >> 16 == 0)
		return true; /* udf */
	switch (word >> 21) {
	case 0xd42 >> 1: /* brk */
	case 0xd44 >> 1: /* hlt */
		return true;
	}
	/* ldxr, ldaxr, stxr, stlxr of any size; ldxp, stxp and their kin */
	if ((word & 0x3fe00000) == 0x08000000 || (word & 0x3fe00000) == 0x08400000)
		return true;
	return (word & 0xbfe00000) == 0x88200000 || (word & 0xbfe00000) == 0x88600000;
}

/* ---- the interpreter of slots ---- */

/* The state of a run through a slot. */
struct run {
	const u8 *code;
	u64 slot, pc;
	u64 end; /* of the code, before the addresses */
	u64 value[32];
	u32 known; /* registers that the slot has set, to an address or to what is loaded */
	struct effect loaded;
	bool has_run; /* the instruction itself */
	bool has_left;
	u64 to;
	bool by_register;
};

static u32 word_in(const u8 *code, u64 at, u64 end)
{
	u32 word;

	CHECK(at % 4 == 0 && at < end);
	memcpy(&word, code + at, sizeof(word));
	return word;
}

static u64 number_in(const u8 *code, u64 at)
{
	u64 number;

	CHECK(at == KINST_SLOT_NEXT || at == KINST_SLOT_TARGET);
	memcpy(&number, code + at, sizeof(number));
	return number;
}

static void leave(struct run *r, u64 to)
{
	CHECK(to - r->slot >= KINST_SLOT_SIZE);
	r->has_left = true;
	r->to = to;
}

static bool is_plain_load(struct run *r, u32 word)
{
	u32 to = word & 31, from = word >> 5 & 31;
	u64 size;

	switch (word & 0xfffffc00) {
	case 0xf9400000: size = 8; break;
	case 0xb9400000: size = 4; break;
	case 0xb9800000: size = 4; break;
	default: return false;
	}
	if (!(r->known & 1u << from))
		return false;
	r->loaded = (struct effect){ .what = LOADS, .reg = to, .value = r->value[from], .size = size,
				     .is_signed = (word & 0xfffffc00) == 0xb9800000 };
	/* The address is gone: no other register keeps it. */
	CHECK(to == from);
	r->known &= ~(1u << from);
	return true;
}

/* Executes one instruction of the slot; a branch with the condition of the original is taken or not, as given. */
static void step(struct run *r, const struct effect *e, u32 original, bool taken)
{
	u32 mask = e->what == BRANCHES ? ((1u << e->offset_bits) - 1) << e->offset_at : 0;
	u32 word = word_in(r->code, r->pc - r->slot, r->end);
	u64 pc = r->pc;

	r->pc += 4;
	if (word == KINST_TO_NEXT) {
		leave(r, number_in(r->code, KINST_SLOT_NEXT));
	} else if (word == KINST_TO_TARGET) {
		leave(r, number_in(r->code, KINST_SLOT_TARGET));
	} else if (e->what == BRANCHES && (word & ~mask) == (original & ~mask)) {
		r->has_run = true;
		if (taken)
			r->pc = pc + field(word, e->offset_at, e->offset_bits);
	} else if (e->what == RUNS && word == original && !r->has_run) {
		r->has_run = true;
	} else if (e->what == JUMPS_TO_REGISTER && word == original) {
		r->has_run = r->has_left = r->by_register = true;
	} else if (e->what == CALLS_REGISTER && word == (original & ~(1u << 21))) {
		r->has_run = r->has_left = r->by_register = true;
		/* It still goes to the original register, and checks the address with the original second one. */
		CHECK(!(r->known & 1u << e->reg));
		CHECK((word & 0xfffff800) != 0xd71f0800 || !(r->known & 1u << (word & 31)));
	} else if (word >> 26 == 5) {
		leave(r, pc + field(word, 0, 26));
	} else if (word >> 24 == 0x58) {
		r->value[word & 31] = number_in(r->code, pc + field(word, 5, 19) - r->slot);
		r->known |= 1u << (word & 31);
	} else {
		CHECK(is_plain_load(r, word));
	}
}

/* Runs the code from an offset on. */
static void run_slot(const u8 *code, u64 slot, u64 from, const struct effect *e, u32 word, u64 addr, bool taken)
{
	struct run r = { .code = code, .slot = slot, .pc = slot + from, .end = from ? KINST_DETOUR_CALLEE : KINST_SLOT_NEXT };
	u32 sets = 0, steps;
	u64 to = addr + 4;

	for (steps = 0; !r.has_left; steps++) {
		CHECK(steps < KINST_SLOT_SIZE / 4);
		step(&r, e, word, taken);
	}
	switch (e->what) {
	case SETS:
		sets = 1u << e->reg;
		CHECK(r.value[e->reg] == e->value);
		break;
	case LOADS:
		CHECK(r.loaded.what == LOADS && r.loaded.reg == e->reg && r.loaded.value == e->value);
		CHECK(r.loaded.size == e->size && r.loaded.is_signed == e->is_signed);
		break;
	case CALLS:
	case CALLS_REGISTER:
		sets = 1u << 30;
		CHECK(r.value[30] == addr + 4);
		to = e->value;
		break;
	case JUMPS:
		to = e->value;
		break;
	case BRANCHES:
		to = taken ? e->value : to;
		break;
	default:
		break;
	}
	CHECK(r.known == sets);
	CHECK(r.by_register == (e->what == JUMPS_TO_REGISTER || e->what == CALLS_REGISTER));
	CHECK(r.has_run == (e->what == RUNS || e->what == BRANCHES || r.by_register));
	CHECK(r.by_register || r.to == to);
	CHECK(e->what == LOADS || r.loaded.what == RUNS);
}

/* ---- the properties ---- */

static void check_decoded(const struct kinst_arch_insn *insn, const struct effect *e)
{
	static const u8 flows[] = { [JUMPS] = KINST_FLOW_JUMP, [CALLS] = KINST_FLOW_CALL, [BRANCHES] = KINST_FLOW_BRANCH,
				    [CALLS_REGISTER] = KINST_FLOW_CALL_INDIRECT };

	CHECK(insn->addr == addr_now && insn->len == 4 && !memcmp(insn->bytes, &word_now, 4));
	CHECK(insn->reason < KINST_R_MAX && insn->flow <= KINST_FLOW_STOP);
	CHECK(insn->flow != KINST_FLOW_STOP || insn->reason);
	CHECK((insn->flow == KINST_FLOW_BRANCH) == !!insn->cond);
	CHECK(kinst_arch_only_branches(insn) == (insn->flow == KINST_FLOW_BRANCH));
	switch (e->what) {
	case JUMPS: case CALLS: case BRANCHES:
		CHECK(insn->flow == flows[e->what] && insn->target == e->value);
		CHECK(!insn->reason);
		break;
	case CALLS_REGISTER:
		CHECK(insn->flow == flows[e->what] && !insn->target);
		break;
	case JUMPS_TO_REGISTER:
		CHECK(insn->flow == KINST_FLOW_JUMP_INDIRECT || insn->flow == KINST_FLOW_RET);
		break;
	case NOT_KNOWN:
		CHECK(insn->reason);
		break;
	default:
		CHECK(insn->flow == KINST_FLOW_NEXT || insn->flow == KINST_FLOW_STOP);
		CHECK(!insn->target);
	}
}

static void check_runs(const u8 *code, u64 slot, u64 from, const struct effect *e)
{
	/* No instruction leads to the slot. */
	if (e->value - slot < KINST_SLOT_SIZE || addr_now + 4 - slot < KINST_SLOT_SIZE)
		return;
	run_slot(code, slot, from, e, word_now, addr_now, false);
	if (e->what == BRANCHES)
		run_slot(code, slot, from, e, word_now, addr_now, true);
}

/* A detour: registers are saved on the stack around a call through the link register, and then it is like a slot. */
static void check_detour(const struct kinst_arch_insn *insn, u64 slot, const struct effect *e)
{
	static const u32 before[] = { 0xd10583ff, 0xa90efbfd, 0, 0xd63f03c0, 0xd51b423d, 0xa94efbfd, 0x910583ff };
	u8 *code = malloc(KINST_DETOUR_LEN), *at = malloc(1);
	u64 entry = 0xffff80007a000040, callee;
	u32 reason = kinst_arch_detour(insn, 1, slot, entry, code, at), i, word;

	CHECK(!insn->reason || reason == insn->reason);
	if (reason)
		goto out;
	CHECK(*at == KINST_DETOUR_COPIES && *at == sizeof(before));
	for (i = 0; i < sizeof(before); i += 4) {
		word = word_in(code, i, KINST_DETOUR_COPIES);
		if (before[i / 4])
			CHECK(word == before[i / 4]);
		else
			CHECK(word >> 24 == 0x58 && (word & 31) == 30 && i + field(word, 5, 19) == KINST_DETOUR_CALLEE);
	}
	memcpy(&callee, code + KINST_DETOUR_CALLEE, sizeof(callee));
	CHECK(callee == entry);
	check_runs(code, slot, KINST_DETOUR_COPIES, e);
out:
	free(code);
	free(at);
}

/* Checks what the module says of a word at an address, and its slot. Memory has exactly the lengths that are given. */
static void check(u32 word, u64 addr, u64 slot)
{
	u8 *text = malloc(4), *code = malloc(KINST_SLOT_SIZE);
	struct kinst_arch_insn insn;
	struct effect e;
	u32 reason, i;

	addr &= ~3ull;
	slot &= ~(KINST_SLOT_SIZE - 1ull);
	word_now = word;
	addr_now = addr;
	slot_now = slot;
	memcpy(text, &word, sizeof(word));
	for (i = 0; i < 4; i++) {
		CHECK(!kinst_arch_decode(&insn, text, i, addr));
		CHECK(!i || !kinst_arch_decode(&insn, text, 4, addr + i));
	}
	CHECK(kinst_arch_decode(&insn, text, 4, addr));
	e = effect_of(word, addr);
	check_decoded(&insn, &e);
	CHECK(!must_refuse(word) || insn.reason);
	reason = kinst_arch_relocate(&insn, slot, code);
	CHECK(!insn.reason || reason == insn.reason);
	if (reason) {
		for (i = 0; i < KINST_SLOT_SIZE; i += 4)
			CHECK(kinst_arch_is_break(code + i));
	} else {
		check_runs(code, slot, 0, &e);
	}
	check_detour(&insn, slot, &e);
	free(text);
	free(code);
}

/* A distance of a slot within a branch's reach, at its limit, farther away, or anywhere. */
static u64 distance(u64 random, u32 kind)
{
	switch (kind % 4) {
	case 0:
		return extended(random, 27);
	case 1:
		return (random & 256 ? 128ul << 20 : -(128ul << 20)) + extended(random, 8);
	case 2:
		return extended(random, 30);
	default:
		return random;
	}
}

#ifdef FUZZER
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct {
		u32 word, kind;
		u64 addr, away;
	} in = {};

	memcpy(&in, data, size < sizeof(in) ? size : sizeof(in));
	check(in.word, in.addr, in.addr + distance(in.away, in.kind));
	return 0;
}
#else
static u64 any(void)
{
	static u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

int main(int argc, char **argv)
{
	u64 word, count = 0, stride = argc == 2 ? strtoull(argv[1], NULL, 0) : 0;

	if (argc == 4) {
		check(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
		return 0;
	}
	if (!stride)
		return 2;
	for (word = 0; word <= U32_MAX; word += stride, count++) {
		u64 addr = 0xffff800080000000 + any() % (64 << 20);

		check(word, addr, addr + distance(any(), any() % 3));
	}
	printf("%llu words\n", (unsigned long long)count);
	return 0;
}
#endif
