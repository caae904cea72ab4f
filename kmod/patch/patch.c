// SPDX-License-Identifier: GPL-2.0
/*
 * patch/patch.c: batched text patching.
 *
 * Making a page writable costs far more than writing to it. So the changes to a
 * page are made together, and the bytes between them are rewritten unchanged.
 * These do not change meanwhile: all patching is done under text_mutex, except by
 * text/once.c; while that has probes, each change is written separately.
 */
#include <linux/bug.h>
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "arch/arch.h"
#include "arch/ksym.h"
#include "patch/patch.h"

/* The new contents of a page, and the part that changes; at is 0 if nothing is pending. */
static struct {
	unsigned long at;
	unsigned int from, to;
	u8 bytes[PAGE_SIZE];
} kinst_page;

static unsigned int kinst_single; /* users that need separate writes */

/* Takes the locks in the same order as kprobes. */
void kinst_patch_lock(void)
{
	mutex_lock(kinst_kprobe_mutex);
	cpus_read_lock();
	mutex_lock(kinst_text_mutex);
}

void kinst_patch_unlock(void)
{
	WARN_ON_ONCE(kinst_page.at);
	mutex_unlock(kinst_text_mutex);
	cpus_read_unlock();
	mutex_unlock(kinst_kprobe_mutex);
}

void kinst_patch_flush(void)
{
	if (kinst_page.at)
		kinst_arch_poke(kinst_page.at + kinst_page.from, kinst_page.bytes + kinst_page.from,
				kinst_page.to - kinst_page.from);
	kinst_page.at = 0;
	kinst_arch_replace_now();
}

static void kinst_page_write(unsigned long page, unsigned int from, const void *bytes, unsigned int len)
{
	if (kinst_page.at != page) {
		kinst_patch_flush();
		kinst_page.at = page;
		kinst_page.from = PAGE_SIZE;
		kinst_page.to = 0;
		memcpy(kinst_page.bytes, (void *)page, PAGE_SIZE);
	}
	memcpy(kinst_page.bytes + from, bytes, len);
	kinst_page.from = min(kinst_page.from, from);
	kinst_page.to = max(kinst_page.to, from + len);
	if (kinst_single)
		kinst_patch_flush();
}

void kinst_patch_singly(bool on)
{
	kinst_single += on ? 1 : -1;
}

void kinst_patch_write(unsigned long addr, const void *bytes, size_t len)
{
	unsigned int from = offset_in_page(addr);
	unsigned int here = min_t(size_t, len, PAGE_SIZE - from);

	/* For tools that decode the executed text (perf, with a processor trace). */
	if (kinst_addr_perf_event_text_poke)
		kinst_sym_perf_event_text_poke((void *)addr, (void *)addr, len, bytes, len);
	kinst_page_write(addr - from, from, bytes, here);
	if (here < len)
		kinst_page_write(addr + here, 0, bytes + here, len - here);
	cond_resched(); /* there may be tens of thousands */
}

void kinst_patch_opcode(unsigned long addr, kinst_opcode_t opcode)
{
	if (!kinst_arch_replace(addr, opcode))
		kinst_patch_write(addr, &opcode, sizeof(opcode));
}

bool kinst_patch_arm(unsigned long addr, kinst_opcode_t original)
{
	if (READ_ONCE(*(kinst_opcode_t *)addr) != original)
		return false;
	kinst_patch_opcode(addr, KINST_BREAK);
	return true;
}

bool kinst_patch_restore(unsigned long addr, kinst_opcode_t original)
{
	if (READ_ONCE(*(kinst_opcode_t *)addr) != KINST_BREAK)
		return false;
	kinst_patch_opcode(addr, original);
	return true;
}

void kinst_patch_sync(void)
{
	kinst_patch_flush();
	kinst_arch_poke_sync();
}
