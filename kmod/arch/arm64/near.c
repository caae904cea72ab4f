// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/near.c: memory for code near the kernel. A branch reaches 128 MB, and modules may be 2 GB away.
 */
#include <linux/gfp.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <asm/pgtable.h>

#include "arch/arch.h"
#include "arch/arm64/near.h"
#include "arch/ksym.h"
#include "arch/pool.h"
#include "context.h"

/* Less than a branch reaches. */
#define KINST_REACH (SZ_128M - SZ_64K)

/* Slots, and one area of detours. */
static struct {
	unsigned long at;
	size_t size;
} kinst_areas[KINST_NEAR_POOLS + 1];
static unsigned int kinst_nareas; /* under the patch lock */

__probe_path bool kinst_is_near(unsigned long addr)
{
	unsigned int i, n = smp_load_acquire(&kinst_nareas);

	for (i = 0; i < n; i++)
		if (addr - kinst_areas[i].at < kinst_areas[i].size)
			return true;
	return false;
}
NOKPROBE_SYMBOL(kinst_is_near);

/* The size is a multiple of a page's. Memory that is missing once is not asked for again: each slot would search for it. */
u8 *kinst_arch_near_new(size_t size)
{
	unsigned long from = max(kinst_addr_etext - KINST_REACH, (unsigned long)MODULES_VADDR);
	unsigned long to = min(kinst_addr_stext + KINST_REACH, (unsigned long)VMALLOC_END);
	static bool missing; /* under the patch lock */
	u8 *at = NULL, *fill = NULL;

	if (!missing && kinst_nareas < ARRAY_SIZE(kinst_areas))
		at = kinst_sym_vmalloc_node_range(size, PAGE_SIZE, from, to, GFP_KERNEL | __GFP_NOWARN, PAGE_KERNEL_ROX, 0,
						  NUMA_NO_NODE, __builtin_return_address(0));
	if (at)
		fill = kvmalloc(size, GFP_KERNEL);
	if (!fill) {
		if (!missing)
			pr_notice("kinst: no memory within a branch's reach of the kernel: probes cost two traps each\n");
		missing = true;
		vfree(at);
		return NULL;
	}
	kinst_arch_fill(fill, size);
	kinst_arch_poke((unsigned long)at, fill, size);
	kvfree(fill);
	kinst_areas[kinst_nareas].at = (unsigned long)at;
	kinst_areas[kinst_nareas].size = size;
	smp_store_release(&kinst_nareas, kinst_nareas + 1);
	return at;
}

void kinst_arch_near_free(void)
{
	while (kinst_nareas)
		vfree((void *)kinst_areas[--kinst_nareas].at);
}
