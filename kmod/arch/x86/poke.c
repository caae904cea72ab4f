// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/poke.c: writes to the text of the running kernel.
 *
 * Only the first byte of an instruction that may run is changed, to a breakpoint
 * or back, so that no other CPU can execute half of a change.
 * text_poke_bp() cannot be used: it emulates the new instruction, and BUG()s if
 * that is not a jump, a call or a nop.
 */
#include <linux/kprobes.h>
#include <linux/string.h>
#include <linux/types.h>

#include "arch/arch.h"
#include "arch/ksym.h"
#include "compat/cpuid.h"
#include "context.h"

/*
 * QEMU without KVM (TCG) drops its translation of the bytes about to be stored, and
 * then stores. If another CPU translates the old bytes again in between, that
 * translation stays: a breakpoint that is no longer in memory traps again and again,
 * perhaps with interrupts off, so no CPU may be waited for. A second store drops
 * any translation made around the first; a translation made around the second is
 * right, as the bytes are the same before and after it. A third one, after every CPU
 * has taken an interrupt, drops any translation that was in progress all the while.
 */
#define KINST_STORES 64

static struct {
	unsigned long addr;
	size_t len;
} kinst_stores[KINST_STORES]; /* not yet made a third time; under the patch lock */
static unsigned int kinst_nstores;
static int kinst_emulated = -1; /* unknown yet */

bool kinst_arch_stores_again(void)
{
	u32 max, name[3];

	if (kinst_emulated >= 0)
		return kinst_emulated;
	kinst_emulated = 0;
	if (boot_cpu_has(X86_FEATURE_HYPERVISOR)) {
		cpuid(0x40000000, &max, &name[0], &name[1], &name[2]);
		kinst_emulated = !memcmp(name, "TCGTCGTCGTCG", sizeof(name));
	}
	return kinst_emulated;
}

static void kinst_repeat_stores(void)
{
	unsigned int i;

	for (i = 0; i < kinst_nstores; i++)
		kinst_sym_text_poke((void *)kinst_stores[i].addr, (void *)kinst_stores[i].addr, kinst_stores[i].len);
	kinst_nstores = 0;
}

void kinst_arch_poke(unsigned long addr, const void *bytes, size_t len)
{
	kinst_sym_text_poke((void *)addr, bytes, len);
	if (!kinst_arch_stores_again())
		return;
	kinst_sym_text_poke((void *)addr, bytes, len);
	kinst_stores[kinst_nstores].addr = addr;
	kinst_stores[kinst_nstores].len = len;
	if (++kinst_nstores == KINST_STORES)
		kinst_arch_poke_sync();
}

/* Context: any, NMI included. */
__probe_path void kinst_arch_store(kinst_opcode_t *alias, kinst_opcode_t value)
{
	WRITE_ONCE(*alias, value);
	if (unlikely(kinst_emulated > 0))
		WRITE_ONCE(*alias, value);
}
NOKPROBE_SYMBOL(kinst_arch_store);

void kinst_arch_poke_sync(void)
{
	kinst_sym_text_poke_sync();
	if (!kinst_nstores)
		return;
	kinst_repeat_stores();
	kinst_sym_text_poke_sync();
}

/* text_poke() changes a byte while other CPUs run. */
bool kinst_arch_replace(unsigned long addr, kinst_opcode_t opcode)
{
	return false;
}

void kinst_arch_replace_now(void) {}
