// SPDX-License-Identifier: GPL-2.0
/*
 * relocate.c: executes arm64 instructions at their own addresses, from slots and from detours, with the same random
 * registers, and compares all registers, the stack, the signal, and where the processor goes on. For an arm64 machine,
 * or qemu-aarch64.
 *
 * Usage: relocate COUNT [SEED]. Exit status 1 and a line for each difference.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/arch.h"

/* Every word of the code is a breakpoint, whose number varies, so that loads from there differ. */
#define CODE_LEN (64ul << 20)
/* The stack; its pointer begins in the middle. */
#define DATA_LEN 2048

struct state {
	u64 x[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};

static u8 *code;
static u64 __attribute__((aligned(16))) stack[DATA_LEN / 8], contents[DATA_LEN / 8];
static sigjmp_buf back;
static struct state after;

static u32 word_at(u64 addr)
{
	u32 word;

	memcpy(&word, (void *)addr, sizeof(word));
	return word;
}

static u64 seed = 1;

static u64 any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull;
}

/*
 * The entry that a detour calls: it writes to all of the frame but the two registers that the detour saves, and changes
 * x29.
 */
extern void entry(void);
asm("	.globl	entry\n"
    "entry:	mov	x29, sp\n"
    "	.rept	29\n"
    "	str	x30, [x29], #8\n"
    "	.endr\n"
    "	add	x29, x29, #16\n"
    "	.rept	13\n"
    "	str	x30, [x29], #8\n"
    "	.endr\n"
    "	ret\n");
_Static_assert(KINST_DETOUR_FRAME == (29 + 2 + 13) * 8, "what the entry writes");

/* The address at which a detour sets the interrupt masks from x29, which only a kernel may. */
static u64 masks_at;

/* The state to begin with, after the next trap: a return from a signal sets all registers. */
static struct state wanted;
static bool starts;

static void on_trap(int signal, siginfo_t *info, void *data)
{
	mcontext_t *m = &((ucontext_t *)data)->uc_mcontext;

	if (starts) {
		starts = false;
		memcpy(m->regs, wanted.x, sizeof(wanted.x));
		m->sp = wanted.sp;
		m->pc = wanted.pc;
		m->pstate = (m->pstate & ~0xf0000000ull) | wanted.pstate;
		return;
	}
	if (signal == SIGILL && m->pc == masks_at && word_at(m->pc) == 0xd51b423d) {
		m->pc += 4;
		return;
	}
	memcpy(after.x, m->regs, sizeof(after.x));
	after.sp = m->sp;
	after.pc = m->pc;
	after.pstate = m->pstate & 0xf0000000;
	siglongjmp(back, signal);
}

static int run(const struct state *from, u64 pc)
{
	int signal = sigsetjmp(back, 0);

	if (signal)
		return signal;
	wanted = *from;
	wanted.pc = pc;
	starts = true;
	asm volatile("brk	#0" ::: "memory");
	return -1;
}

static void put(u64 addr, const void *code, size_t length)
{
	memcpy((void *)addr, code, length);
	__builtin___clear_cache((char *)addr, (char *)addr + length);
}

static u32 filler(u64 addr)
{
	return 0xd4200000 | ((addr >> 2) & 0x3fff) << 5;
}

static void fill(u64 addr, size_t length)
{
	u32 words[KINST_SLOT_SIZE / 4];
	size_t at;

	for (at = 0; at < length; at += 4)
		words[at / 4] = filler(addr + at);
	put(addr, words, length);
}

/* ---- random instructions and registers ---- */

/* Instructions without operands: hints, among them signatures of x30 with sp, and barriers. */
static const u32 fixed[] = {
	0xd503201f, /* nop */
	0xd503203f, /* yield */
	0xd503233f, 0xd503237f, 0xd503231f, 0xd503235f, /* paciasp, pacibsp, paciaz, pacibz */
	0xd50323bf, 0xd50323ff, 0xd503239f, 0xd50323df, /* autiasp, autibsp, autiaz, autibz */
	0xd50320ff, 0xd503211f, 0xd503219f, /* xpaclri, pacia1716, autia1716 */
	0xd503241f, 0xd503245f, 0xd503249f, 0xd50324df, /* bti, and with its kinds */
	0xd5033bbf, 0xd5033fdf, 0xd503305f, /* dmb ish, isb, clrex */
	0xd65f0bff, 0xd65f0fff, /* retaa, retab */
};

/* Each kind: the bits that are given, and those that are random. */
static const struct kind {
	u32 is, any;
} kinds[] = {
	{ 0x14000000, 0x03ffffff }, /* b */
	{ 0x94000000, 0x03ffffff }, /* bl */
	{ 0x54000000, 0x00ffffef }, /* b.cond */
	{ 0x54000010, 0x00ffffef }, /* bc.cond */
	{ 0x34000000, 0x81ffffff }, /* cbz, cbnz */
	{ 0x36000000, 0x81ffffff }, /* tbz, tbnz */
	{ 0x10000000, 0x60ffffff }, /* adr */
	{ 0x90000000, 0x60ffffff }, /* adrp */
	{ 0x18000000, 0xc0ffffff }, /* ldr, ldrsw, prfm (literal) */
	{ 0x1c000000, 0xc0ffffff }, /* ldr (literal) of a vector register */
	{ 0xd61f0000, 0x000003e0 }, /* br */
	{ 0xd63f0000, 0x000003e0 }, /* blr */
	{ 0xd65f0000, 0x000003e0 }, /* ret */
	{ 0xd71f0800, 0x000007ff }, /* braa, brab */
	{ 0xd73f0800, 0x000007ff }, /* blraa, blrab */
	{ 0xd61f081f, 0x000007e0 }, /* braaz, brabz */
	{ 0xd63f081f, 0x000007e0 }, /* blraaz, blrabz */
	{ 0x12000000, 0xe0ffffff }, /* and, orr, eor with constants; mov of parts */
	{ 0x11000000, 0xe0ffffff }, /* add, sub with constants */
	{ 0x13000000, 0xe0ffffff }, /* fields of bits */
	{ 0x0a000000, 0xf1ffffff }, /* and, orr, add, sub, adc, csel, ccmp, mul, div: some do not exist */
	{ 0x1a000000, 0xe1ffffff },
	{ 0xf94003e0, 0x00007c1f }, /* ldr, str on the stack; with sp changed; ldp, stp */
	{ 0xf90003e0, 0x00007c1f },
	{ 0xb98003e0, 0x00003c1f },
	{ 0xf84007e0, 0x0007f81f },
	{ 0xf8000fe0, 0x0007f81f },
	{ 0xa94003e0, 0x00077c1f },
	{ 0xa9800be0, 0x00077c1f },
	{ 0xc85f7fe0, 0x0000801f }, /* ldxr, ldaxr */
	{ 0xc8dffbe0, 0x0000041f }, /* ldar, of sp */
	{ 0xf82003e0, 0x00df001f }, /* ldadd of sp */
	{ 0xd53b4200, 0x0000001f }, /* mrs, msr of the flags and of the thread's pointer; mrs of counters */
	{ 0xd51b4200, 0x0000001f },
	{ 0xd53bd040, 0x0000001f },
	{ 0xd53b0020, 0x0000001f },
	{ 0x00000000, 0x0000ffff }, /* udf */
};

static u32 invent(void)
{
	const struct kind *kind;
	u32 word = any();

	if (!(any() % 8))
		return fixed[any() % (sizeof(fixed) / sizeof(*fixed))];
	kind = &kinds[any() % (sizeof(kinds) / sizeof(*kinds))];
	/* Branches of 26 bits mostly within the code. */
	if (kind->any == 0x03ffffff && any() % 16)
		word = (s32)(word << 9) >> 9;
	return (word & kind->any) | kind->is;
}

/* An address as the instructions that check it expect it. */
static u64 sign(u64 addr, u64 modifier, bool key_b)
{
	if (key_b)
		asm(".arch armv8.3-a\npacib %0, %1" : "+r"(addr) : "r"(modifier));
	else
		asm(".arch armv8.3-a\npacia %0, %1" : "+r"(addr) : "r"(modifier));
	return addr;
}

/* Signs the address that the instruction checks, if it does. The other half of them are wrong. */
static void sign_target(struct state *s, u32 word)
{
	u32 reg = word >> 5 & 31, modifier = word & 31;
	bool key_b = word >> 10 & 1;

	if ((word & 0xfe9ff800) == 0xd61f0800 && reg < 31) { /* br, blr */
		bool second = word >> 24 & 1;

		if (!second || modifier != reg)
			s->x[reg] = sign(s->x[reg], !second ? 0 : modifier == 31 ? s->sp : s->x[modifier], key_b);
	} else if ((word & 0xfffffbff) == 0xd65f0bff) { /* ret */
		s->x[30] = sign(s->x[30], s->sp, key_b);
	} else if ((word & 0xffffffbf) == 0xd50323bf) { /* autiasp, autibsp */
		s->x[30] = sign(s->x[30], s->sp, word >> 6 & 1);
	}
}

static void invent_state(struct state *s)
{
	unsigned int i;

	for (i = 0; i < 31; i++) {
		switch (any() % 4) {
		case 0:
			s->x[i] = any() % 3;
			break;
		case 1:
			s->x[i] = any();
			break;
		default: /* an address in the code */
			s->x[i] = (u64)code + any() % (CODE_LEN / 4) * 4;
		}
	}
	s->sp = (u64)stack + DATA_LEN / 2;
	s->pstate = any() & 0xf0000000;
}

static bool in_code(u64 addr)
{
	return addr - (u64)code < CODE_LEN && !(addr & 3);
}

static bool is_in_slot(u64 addr, u64 slot)
{
	return addr - slot < KINST_SLOT_SIZE;
}

/* Whether the instruction goes, with these registers, to a place with a breakpoint, and reads what exists. */
static bool is_usable(const struct kinst_arch_insn *insn, const struct state *s, u64 slot)
{
	u32 word = word_at((u64)insn->bytes), r = word >> 5 & 31;
	u64 loads = insn->machine.address;

	if (insn->target && (!in_code(insn->target) || is_in_slot(insn->target, slot) || insn->target == insn->addr))
		return false;
	/* A literal has up to 16 bytes. */
	if ((word & 0x3b000000) == 0x18000000 &&
	    (!in_code(loads) || !in_code(loads + 12) || loads + 16 - slot < KINST_SLOT_SIZE + 16 ||
	     loads + 16 - insn->addr < 20))
		return false;
	if (insn->flow == KINST_FLOW_JUMP_INDIRECT || insn->flow == KINST_FLOW_CALL_INDIRECT || insn->flow == KINST_FLOW_RET)
		return r < 31 && in_code(s->x[r]) && !is_in_slot(s->x[r], slot) && s->x[r] != insn->addr;
	return true;
}

static unsigned long ended[65]; /* runs, by the signal at their end */

/* The state after an instruction. */
struct outcome {
	struct state state;
	int signal;
	u64 stack[DATA_LEN / 8];
};

static void run_at(struct outcome *out, const struct state *from, u64 pc)
{
	memcpy(stack, contents, sizeof(stack));
	out->signal = run(from, pc);
	out->state = after;
	memcpy(out->stack, stack, sizeof(stack));
	ended[out->signal]++;
}

/* A call in a detour writes below the stack pointer: there, only what the instruction writes must be the same. */
static void forget_below(const struct outcome *one, struct outcome *two)
{
	unsigned int i;

	for (i = 0; i < DATA_LEN / 16; i++)
		if (one->stack[i] == contents[i])
			two->stack[i] = contents[i];
}

/* Runs the instruction both ways. False if they differ. */
static bool same(const struct kinst_arch_insn *insn, const struct state *s, u64 slot, const u8 *bytes, bool detour)
{
	static struct outcome one, two;
	u32 at;

	masks_at = detour ? slot + 16 : 0;

	put(insn->addr, insn->bytes, 4);
	run_at(&one, s, insn->addr);
	fill(insn->addr, 4);

	put(slot, bytes, KINST_SLOT_SIZE);
	run_at(&two, s, slot);
	if (detour)
		forget_below(&one, &two);
	at = is_in_slot(two.state.pc, slot) ? word_at(two.state.pc) : 0;
	if (at == KINST_TO_NEXT)
		memcpy(&two.state.pc, (void *)(slot + KINST_SLOT_NEXT), sizeof(two.state.pc));
	else if (at == KINST_TO_TARGET)
		memcpy(&two.state.pc, (void *)(slot + KINST_SLOT_TARGET), sizeof(two.state.pc));
	else if (at && two.signal != SIGTRAP) /* an exception of the copy */
		two.state.pc = insn->addr;
	fill(slot, KINST_SLOT_SIZE);
	return !memcmp(&one, &two, sizeof(one));
}

static u8 *far; /* out of a branch's reach from the code */
static unsigned long runs, differ, refused[KINST_R_MAX];

static bool set_up(void)
{
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	stack_t other = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	int any_access = PROT_READ | PROT_WRITE | PROT_EXEC;
	unsigned int i;
	u64 addr;

	sigaltstack(&other, NULL);
	sigaction(SIGTRAP, &trap, NULL);
	sigaction(SIGSEGV, &trap, NULL);
	sigaction(SIGILL, &trap, NULL);
	sigaction(SIGBUS, &trap, NULL);
	code = mmap((void *)0x5000000000, CODE_LEN, any_access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	far = mmap((void *)0x7000000000, DATA_LEN, any_access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED || far == MAP_FAILED)
		return false;
	for (addr = (u64)code; addr < (u64)code + CODE_LEN; addr += 4) {
		u32 word = filler(addr);

		memcpy((void *)addr, &word, sizeof(word));
	}
	for (i = 0; i < DATA_LEN / 8; i++)
		contents[i] = any();
	return true;
}

/* Tries a random instruction, if it can be executed here. */
static void try_one(void)
{
	u64 slot = any() & 1 ? (u64)far : (u64)code + any() % (CODE_LEN / KINST_SLOT_SIZE) * KINST_SLOT_SIZE;
	u64 addr = (u64)code + any() % (CODE_LEN / 4) * 4;
	bool detour = any() & 1;
	struct kinst_arch_insn insn;
	u8 bytes[KINST_SLOT_SIZE], copies;
	enum kinst_reason reason;
	u32 word = invent();
	struct state s;

	if (is_in_slot(addr, slot) || is_in_slot(addr + 4, slot))
		return;
	invent_state(&s);
	if (!kinst_arch_decode(&insn, (u8 *)&word, sizeof(word), addr) || !is_usable(&insn, &s, slot))
		return;
	runs++;
	if (detour)
		reason = kinst_arch_detour(&insn, 1, slot, (unsigned long)entry, bytes, &copies);
	else
		reason = kinst_arch_relocate(&insn, slot, bytes);
	if (reason) {
		refused[reason]++;
		return;
	}
	if (any() & 1)
		sign_target(&s, word);
	if (same(&insn, &s, slot, bytes, detour))
		return;
	differ++;
	printf("%08x at %llx, %s %llx: goes to %llx\n", word, (unsigned long long)addr, detour ? "detour" : "slot",
	       (unsigned long long)slot, (unsigned long long)after.pc);
}

int main(int argc, char **argv)
{
	unsigned long wanted_runs = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000, all = 0;
	unsigned int i;

	if (argc > 2)
		seed = strtoul(argv[2], NULL, 0) | 1;
	if (!set_up())
		return 2;
	while (runs < wanted_runs)
		try_one();
	for (i = 0; i < KINST_R_MAX; i++) {
		if (refused[i])
			printf("reason %u: %lu\n", i, refused[i]);
		all += refused[i];
	}
	printf("ended by traps %lu, by instructions that do not exist %lu, by bad addresses %lu\n", ended[SIGTRAP] / 2,
	       ended[SIGILL] / 2, (ended[SIGSEGV] + ended[SIGBUS]) / 2);
	printf("%lu runs, %lu refused, %lu differ\n", runs, all, differ);
	return !!differ;
}
