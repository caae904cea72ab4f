// SPDX-License-Identifier: GPL-2.0
/*
 * patch.c: batched text patching.
 *
 * Only ever one byte of an instruction is written, the breakpoint or what stood
 * there before, so that no other CPU can see half of a change. text_poke_bp() is
 * of no use here: it emulates what it writes, and BUG()s on an instruction that
 * is not a jump, a call or a nop.
 */
#include <linux/cpu.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "arch/arch.h"
#include "ksym.h"
#include "patch.h"

/* In the order in which kprobes takes them. */
void kinst_patch_lock(void)
{
	mutex_lock(kinst_kprobe_mutex);
	cpus_read_lock();
	mutex_lock(kinst_text_mutex);
}

void kinst_patch_unlock(void)
{
	mutex_unlock(kinst_text_mutex);
	cpus_read_unlock();
	mutex_unlock(kinst_kprobe_mutex);
}

void kinst_patch_write(void *addr, const void *bytes, size_t len)
{
	kinst_sym_text_poke(addr, bytes, len);
	cond_resched(); /* there may be tens of thousands */
}

bool kinst_patch_arm(unsigned long addr, u8 original)
{
	u8 brk = KINST_BREAK;

	if (READ_ONCE(*(u8 *)addr) != original)
		return false;
	kinst_patch_write((void *)addr, &brk, 1);
	return true;
}

void kinst_patch_restore(unsigned long addr, u8 original)
{
	u8 now = READ_ONCE(*(u8 *)addr);

	if (now != KINST_BREAK) {
		pr_warn("kinst: the breakpoint at %pS is gone (%#x): left as it is\n", (void *)addr, now);
		return;
	}
	kinst_patch_write((void *)addr, &original, 1);
}

void kinst_patch_sync(void)
{
	kinst_sym_text_poke_sync();
}
