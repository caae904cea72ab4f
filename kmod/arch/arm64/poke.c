// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/poke.c: writes to the text of the running kernel.
 *
 * The architecture allows the replacement of an instruction while another CPU may execute it for a few instructions
 * only (Arm ARM B2.2.5). So a breakpoint replaces most instructions, or is replaced by them, while all other CPUs wait.
 * These changes are collected, as each wait stops the whole machine. A breakpoint and a branch are exchanged at once.
 */
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/types.h>

#include "arch/arch.h"
#include "arch/ksym.h"

/* Changes per stop: every CPU waits for all of them. */
#define KINST_STOP_MOST 512

static void *kinst_stop_addr[KINST_STOP_MOST]; /* under the patch lock */
static u32 kinst_stop_insn[KINST_STOP_MOST];
static int kinst_stop_count;

/* Whether it is one of those that may be replaced by each other at any time: b, bl, brk, hvc, smc, svc, nop, isb. */
static bool kinst_may_change(u32 insn)
{
	return (insn & 0x7c000000) == 0x14000000 || (insn & 0xff000000) == 0xd4000000 || insn == 0xd503201f ||
	       (insn & 0xfffff0ff) == 0xd50330df;
}

static void kinst_say_error(int err)
{
	if (err)
		pr_err("kinst: the kernel's text could not be written (%d)\n", err);
}

bool kinst_arch_replace(unsigned long addr, kinst_opcode_t opcode)
{
	if (kinst_may_change(opcode) && kinst_may_change(READ_ONCE(*(u32 *)addr))) {
		kinst_say_error(kinst_sym_insn_patch_text_nosync((void *)addr, opcode));
		return true;
	}
	if (kinst_stop_count == KINST_STOP_MOST)
		kinst_arch_replace_now();
	kinst_stop_addr[kinst_stop_count] = (void *)addr;
	kinst_stop_insn[kinst_stop_count++] = opcode;
	return true;
}

void kinst_arch_replace_now(void)
{
	if (!kinst_stop_count)
		return;
	kinst_say_error(kinst_sym_insn_patch_text(kinst_stop_addr, kinst_stop_insn, kinst_stop_count));
	kinst_stop_count = 0;
}

/* Slots, which no CPU executes, and data. */
void kinst_arch_poke(unsigned long addr, const void *bytes, size_t len)
{
	kinst_sym_insn_copy((void *)addr, (void *)bytes, len);
}

static void kinst_arch_nothing(void *unused)
{
}

/* An interrupt synchronizes a CPU with what was written, and no CPU with interrupts off delays a trap any longer. */
void kinst_arch_poke_sync(void)
{
	kinst_arch_replace_now();
	on_each_cpu(kinst_arch_nothing, NULL, 1);
}
