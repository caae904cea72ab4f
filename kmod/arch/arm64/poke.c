// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/poke.c: writes to the text of the running kernel.
 *
 * The architecture allows the replacement of an instruction while another CPU may execute it for a few instructions
 * only (Arm ARM B2.2.5). So a breakpoint replaces an instruction, or is replaced by it, while all other CPUs wait. These
 * changes are collected, as each wait stops the whole machine.
 */
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/types.h>

#include "arch/arch.h"
#include "arch/ksym.h"
#include "context.h"

/* Changes per stop: every CPU waits for all of them. */
#define KINST_STOP_MOST 512

static void *kinst_stop_addr[KINST_STOP_MOST]; /* under the patch lock */
static u32 kinst_stop_insn[KINST_STOP_MOST];
static int kinst_stop_count;

bool kinst_arch_replace(unsigned long addr, kinst_opcode_t opcode)
{
	if (kinst_stop_count == KINST_STOP_MOST)
		kinst_arch_replace_now();
	kinst_stop_addr[kinst_stop_count] = (void *)addr;
	kinst_stop_insn[kinst_stop_count++] = opcode;
	return true;
}

void kinst_arch_replace_now(void)
{
	int err;

	if (!kinst_stop_count)
		return;
	err = kinst_sym_insn_patch_text(kinst_stop_addr, kinst_stop_insn, kinst_stop_count);
	if (err)
		pr_err("kinst: the kernel's text could not be written (%d)\n", err);
	kinst_stop_count = 0;
}

/* Slots, which no CPU executes, and data. */
void kinst_arch_poke(unsigned long addr, const void *bytes, size_t len)
{
	kinst_sym_insn_copy((void *)addr, (void *)bytes, len);
}

bool kinst_arch_stores_again(void)
{
	return false;
}

/* Probes that are removed at their first hit are refused: a hit cannot stop the machine. Context: any, NMI included. */
__probe_path void kinst_arch_store(kinst_opcode_t *alias, kinst_opcode_t value)
{
	BUG();
}
NOKPROBE_SYMBOL(kinst_arch_store);

static void kinst_arch_nothing(void *unused)
{
}

/* An interrupt synchronizes a CPU with what was written, and no CPU with interrupts off delays a trap any longer. */
void kinst_arch_poke_sync(void)
{
	kinst_arch_replace_now();
	on_each_cpu(kinst_arch_nothing, NULL, 1);
}
