// SPDX-License-Identifier: GPL-2.0
/*
 * detour.c: executes detours in user space, with the module's entry (text/entry.S) and a return thunk that destroys the
 * flags, as the thunk of call depth tracking does (mitigations.case tests that in a guest).
 *
 * Each piece of code, with its result in %rax, runs unchanged and through a jump to its detour, from every combination
 * of the flags that arithmetic sets. Results, flags and the other registers must be the same, and the handler must see
 * the state before the code.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "arch/arch.h"

#define FLAGS 0x8d5 /* CF PF AF ZF SF OF */

/* In the order of the entry's stack frame and the kernel's struct pt_regs. */
struct regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

void kinst_jump_entry(void);
u64 call_with(u64 flags, const void *code, struct regs *out); /* below */

static struct regs seen;
static unsigned long hits;

void kinst_jump_hit(struct regs *regs)
{
	seen = *regs;
	hits++;
}

asm(".text\n"
    ".globl hostile_return_thunk\n"
    "hostile_return_thunk:\n"
    "	shlq	$5, depth(%rip)\n"
    "	xorl	%r11d, %r11d\n" /* changes all flags, and a register that calls may change */
    "	stc\n"
    "	ret\n"
    ".globl call_with\n"
    "call_with:\n"
    "	pushq	%rbx\n"
    "	pushq	%rbp\n"
    "	pushq	%rdx\n"
    "	movq	%rsi, %rbx\n"
    "	movl	$0x11, %eax\n"
    "	movl	$0x22, %ecx\n"
    "	movl	$0x33, %edx\n"
    "	movl	$0x44, %r9d\n"
    "	movl	$0x55, %r10d\n"
    "	pushq	%rdi\n"
    "	popfq\n"
    "	call	*%rbx\n"
    "	pushfq\n"
    "	popq	%rdi\n"
    "	popq	%rsi\n"
    "	movq	%rax, 80(%rsi)\n"
    "	movq	%rcx, 88(%rsi)\n"
    "	movq	%rdx, 96(%rsi)\n"
    "	movq	%r9, 64(%rsi)\n"
    "	movq	%r10, 56(%rsi)\n"
    "	movq	%rdi, 144(%rsi)\n"
    "	popq	%rbp\n"
    "	popq	%rbx\n"
    "	ret\n"
    ".data\n"
    "depth: .quad 0\n"
    ".text\n");

/* Each ends in a return; the jump covers its first instructions. */
static const struct piece {
	const char *what;
	u8 code[24], len;
} pieces[] = {
	{ "jz over a load", { 0x74, 0x05, 0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3 }, 8 },
	{ "setc", { 0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3 }, 7 },
	{ "cmovo", { 0x48, 0x0f, 0x40, 0xc1, 0x48, 0x89, 0xc2, 0xc3 }, 8 },
	{ "adc", { 0x48, 0x11, 0xc8, 0x48, 0x19, 0xca, 0xc3 }, 7 },
	{ "rcl", { 0x48, 0xd1, 0xd0, 0x48, 0xd1, 0xd9, 0xc3 }, 7 },
	{ "pushf; pop", { 0x9c, 0x58, 0x90, 0x48, 0x89, 0xc1, 0xc3 }, 7 },
	{ "jns, 32 bits away", { 0x0f, 0x89, 0x05, 0x00, 0x00, 0x00, 0xb8, 0x02, 0x00, 0x00, 0x00, 0xc3 }, 12 },
};

/* Makes a detour for the code's first instructions, and replaces them by a jump to it. */
static bool divert(u8 *code, unsigned int len, u8 *detour)
{
	struct kinst_arch_insn insns[KINST_JUMP_LEN];
	unsigned int n = 0, at = 0;
	u8 copies[KINST_JUMP_LEN], jump[KINST_JUMP_LEN];

	while (at < KINST_JUMP_LEN) {
		if (!kinst_arch_decode(&insns[n], code + at, len - at, (unsigned long)code + at))
			return false;
		at += insns[n++].len;
	}
	if (kinst_arch_detour(insns, n, (unsigned long)detour, (unsigned long)kinst_jump_entry, detour, copies) ||
	    !kinst_arch_jump((unsigned long)code, (unsigned long)detour, jump))
		return false;
	memcpy(code, jump, sizeof(jump));
	return true;
}

static int try(const struct piece *p, u8 *memory)
{
	u8 *plain = memory, *diverted = memory + 64;
	struct regs want = { 0 }, got = { 0 };
	unsigned int i;

	memcpy(plain, p->code, p->len);
	memcpy(diverted, p->code, p->len);
	if (!divert(diverted, p->len, memory + 128)) {
		printf("%s: no detour\n", p->what);
		return 1;
	}
	for (i = 0; i < 64; i++) {
		u64 flags = 2 | (i & 1) | (i & 2) << 1 | (i & 4) << 2 | (i & 8) << 3 | (i & 16) << 3 | (i & 32) << 6;

		call_with(flags, plain, &want);
		call_with(flags, diverted, &got);
		if (memcmp(&want, &got, offsetof(struct regs, flags)) || (want.flags ^ got.flags) & FLAGS) {
			printf("%s: from flags %#llx: %#llx, flags %#llx; expected %#llx, flags %#llx\n", p->what,
			       (unsigned long long)flags, (unsigned long long)got.ax, (unsigned long long)got.flags,
			       (unsigned long long)want.ax, (unsigned long long)want.flags);
			return 1;
		}
		if ((seen.flags ^ flags) & FLAGS || seen.ax != 0x11 || seen.cx != 0x22 || seen.cs != 0x10 ||
		    seen.ss != 0x18 || seen.ip != (unsigned long)memory + 128 + KINST_DETOUR_COPIES - 1) {
			printf("%s: the handler saw something else\n", p->what);
			return 1;
		}
	}
	return 0;
}

int main(void)
{
	unsigned int i, bad = 0;
	/* Within reach of jumps from the program's text, as the pools are from the kernel's text. */
	u8 *memory = mmap((void *)(((unsigned long)kinst_jump_entry & ~0xffful) + 0x4000000), 4096,
			  PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 2;
	for (i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		memset(memory, 0xcc, 4096);
		bad += try(&pieces[i], memory);
	}
	if (!hits)
		return 2;
	printf("detours: %u pieces of code, %lu hits, bad %u\n", i, hits, bad);
	return bad ? 1 : 0;
}
