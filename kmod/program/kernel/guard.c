// SPDX-License-Identifier: GPL-2.0
/*
 * program/kernel/guard.c: the guard of each CPU.
 */
#include <linux/kprobes.h>

#include "context.h"
#include "program/kernel/guard.h"

DEFINE_PER_CPU(struct kinst_guard, kinst_guard);

/* Context: any, interrupts off. Until kinst_guard_exit(), hits on this CPU run nothing. Returns the argument for it. */
__probe_path u32 kinst_guard_enter(void)
{
	u32 busy = raw_cpu_read(kinst_guard.busy);

	raw_cpu_write(kinst_guard.busy, 1);
	barrier();
	return busy;
}
NOKPROBE_SYMBOL(kinst_guard_enter);

__probe_path void kinst_guard_exit(u32 busy)
{
	barrier();
	raw_cpu_write(kinst_guard.busy, busy);
}
NOKPROBE_SYMBOL(kinst_guard_exit);
