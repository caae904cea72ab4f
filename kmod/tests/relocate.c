// SPDX-License-Identifier: GPL-2.0
/*
 * relocate.c: executes arm64 instructions at their own addresses and from slots, with the same random registers, and
 * compares all registers and where the processor goes on. For an arm64 machine, or qemu-aarch64.
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
#define DATA_LEN 4096

struct state {
	u64 x[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};

static u8 *code;
static u64 stack[DATA_LEN / 8];
static sigjmp_buf back;
static struct state after;

static u64 seed = 1;

static u64 any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull;
}

static void on_trap(int signal, siginfo_t *info, void *data)
{
	const mcontext_t *m = &((ucontext_t *)data)->uc_mcontext;

	memcpy(after.x, m->regs, sizeof(after.x));
	after.sp = m->sp;
	after.pc = m->pc;
	after.pstate = m->pstate & 0xf0000000;
	siglongjmp(back, signal);
}

/* Loads the registers and jumps: by a return from a signal, which sets all of them. */
static struct state wanted;

static void on_start(int signal, siginfo_t *info, void *data)
{
	mcontext_t *m = &((ucontext_t *)data)->uc_mcontext;

	memcpy(m->regs, wanted.x, sizeof(wanted.x));
	m->sp = wanted.sp;
	m->pc = wanted.pc;
	m->pstate = (m->pstate & ~0xf0000000ull) | wanted.pstate;
}

static int run(const struct state *from, u64 pc)
{
	int signal = sigsetjmp(back, 1);

	if (signal)
		return signal;
	wanted = *from;
	wanted.pc = pc;
	raise(SIGUSR1);
	return -1;
}

static u32 word_at(u64 addr)
{
	u32 word;

	memcpy(&word, (void *)addr, sizeof(word));
	return word;
}

static void put(u64 addr, u32 word)
{
	memcpy((void *)addr, &word, sizeof(word));
	__builtin___clear_cache((char *)addr, (char *)addr + sizeof(word));
}

static u32 filler(u64 addr)
{
	return 0xd4200000 | ((addr >> 2) & 0x3fff) << 5;
}

/* A random instruction of one of the kinds that depend on their address, or that are copied. */
static u32 invent(void)
{
	u32 r = any() & 31, far = any(), near = far & 0x7ffff;

	switch (any() % 16) {
	case 0:
		return 0x14000000 | ((s32)(far << 8) >> 10 & 0x3ffffff); /* b, within half of the code */
	case 1:
		return 0x94000000 | ((s32)(far << 8) >> 10 & 0x3ffffff); /* bl */
	case 2:
		return 0x54000000 | near << 5 | (any() & 15); /* b.cond */
	case 3:
		return 0x34000000 | (any() & 1) << 31 | (any() & 1) << 24 | near << 5 | r; /* cbz, cbnz */
	case 4:
		return 0x36000000 | (any() & 1) << 31 | (any() & 1) << 24 | (any() & 31) << 19 | (far & 0x3fff) << 5 | r;
	case 5:
		return 0x10000000 | (any() & 1) << 31 | (any() & 3) << 29 | near << 5 | r; /* adr, adrp */
	case 6:
		return 0x18000000 | (any() & 3) << 30 | near << 5 | r; /* ldr, ldrsw, prfm (literal) */
	case 7:
		return 0xd61f0000 | r << 5; /* br */
	case 8:
		return 0xd63f0000 | r << 5; /* blr */
	case 9:
		return 0xd65f0000 | r << 5; /* ret */
	case 10:
		return 0x8b000000 | (any() & 31) << 16 | (any() & 31) << 5 | r; /* add */
	case 11:
		return 0xeb000000 | (any() & 31) << 16 | (any() & 31) << 5 | r; /* subs */
	case 12:
		return 0x9a800000 | (any() & 31) << 16 | (any() & 15) << 12 | (any() & 31) << 5 | r; /* csel */
	case 13:
		return 0xf9400000 | (any() & 15) << 10 | 31 << 5 | r; /* ldr, of the stack */
	case 14:
		return 0xd2800000 | (any() & 3) << 21 | (far & 0xffff) << 5 | r; /* movz */
	default:
		return 0xd503201f;
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

/* Whether the instruction goes, with these registers, to a place with a breakpoint, and reads what exists. */
static bool is_usable(const struct kinst_arch_insn *insn, const struct state *s, u64 slot)
{
	u32 word = word_at((u64)insn->bytes), r = word >> 5 & 31;

	if (insn->target && (!in_code(insn->target) || insn->target - slot < KINST_SLOT_SIZE || insn->target == insn->addr))
		return false;
	if (insn->machine.kind > 2 && (!in_code(insn->machine.address) || !in_code(insn->machine.address + 4) ||
				       insn->machine.address - slot < KINST_SLOT_SIZE || insn->machine.address + 8 - slot < 8))
		return false;
	if (insn->flow == KINST_FLOW_JUMP_INDIRECT || insn->flow == KINST_FLOW_CALL_INDIRECT || insn->flow == KINST_FLOW_RET)
		return r < 31 && in_code(s->x[r]) && s->x[r] - slot >= KINST_SLOT_SIZE && s->x[r] != insn->addr;
	return true;
}

/* Runs the instruction both ways. False if they differ. */
static bool same(const struct kinst_arch_insn *insn, const struct state *s, u64 slot, const u8 *bytes)
{
	struct state one;
	unsigned int i;
	int signal;
	u32 at;

	put(insn->addr, word_at((u64)insn->bytes));
	signal = run(s, insn->addr);
	put(insn->addr, filler(insn->addr));
	one = after;

	for (i = 0; i < KINST_SLOT_SIZE; i += 4)
		put(slot + i, word_at((u64)bytes + i));
	if (run(s, slot) != signal)
		return false;
	at = after.pc - slot < KINST_SLOT_SIZE ? word_at(after.pc) : 0;
	if (at == KINST_TO_NEXT)
		memcpy(&after.pc, (void *)(slot + KINST_SLOT_NEXT), sizeof(after.pc));
	else if (at == KINST_TO_TARGET)
		memcpy(&after.pc, (void *)(slot + KINST_SLOT_TARGET), sizeof(after.pc));
	for (i = 0; i < KINST_SLOT_SIZE; i += 4)
		put(slot + i, filler(slot + i));
	return !memcmp(&one, &after, sizeof(one));
}

int main(int argc, char **argv)
{
	unsigned long wanted_runs = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000, runs = 0, refused = 0, differ = 0;
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction start = { .sa_sigaction = on_start, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t other = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	u64 addr;

	if (argc > 2)
		seed = strtoul(argv[2], NULL, 0) | 1;
	sigaltstack(&other, NULL);
	sigaction(SIGTRAP, &trap, NULL);
	sigaction(SIGSEGV, &trap, NULL);
	sigaction(SIGUSR1, &start, NULL);
	/* Far from the slots that are out of reach. */
	code = mmap((void *)0x5000000000, CODE_LEN, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u8 *far = mmap((void *)0x7000000000, DATA_LEN, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED || far == MAP_FAILED)
		return 2;
	for (addr = (u64)code; addr < (u64)code + CODE_LEN; addr += 4) {
		u32 word = filler(addr);

		memcpy((void *)addr, &word, sizeof(word));
	}
	for (addr = 0; addr < DATA_LEN / 8; addr++)
		stack[addr] = any();

	while (runs < wanted_runs) {
		struct kinst_arch_insn insn;
		u8 bytes[KINST_SLOT_SIZE];
		struct state s;
		u32 word = invent();
		u64 slot = any() & 1 ? (u64)far : (u64)code + any() % (CODE_LEN / KINST_SLOT_SIZE) * KINST_SLOT_SIZE;

		addr = (u64)code + any() % (CODE_LEN / 4) * 4;
		if (addr - slot < KINST_SLOT_SIZE || addr + 4 - slot < KINST_SLOT_SIZE)
			continue;
		invent_state(&s);
		if (!kinst_arch_decode(&insn, (u8 *)&word, sizeof(word), addr) || !is_usable(&insn, &s, slot))
			continue;
		runs++;
		if (kinst_arch_relocate(&insn, slot, bytes)) {
			refused++;
			continue;
		}
		if (same(&insn, &s, slot, bytes))
			continue;
		differ++;
		printf("%08x at %llx, slot %llx: goes to %llx\n", word, (unsigned long long)addr, (unsigned long long)slot,
		       (unsigned long long)after.pc);
	}
	printf("%lu runs, %lu refused, %lu differ\n", runs, refused, differ);
	return !!differ;
}
