// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/device.c: which memory programs may use. Reading a device register can have any effect, and need not fault:
 * programs do not read there.
 */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <asm/fixmap.h>
#include <asm/pgtable.h>

#include "context.h"
#include "arch/arch.h"
#include "arch/ksym.h"

/* Reads the page table without a lock: a page that is just being unmapped may count as either, and faults cleanly. */
static __probe_path bool is_device_page(unsigned long addr)
{
	unsigned long entry, pfn;
	unsigned int level;
	pte_t *pte = lookup_address(addr, &level);

	if (!pte)
		return false;
	entry = pte_val(READ_ONCE(*pte));
	if (!(entry & _PAGE_PRESENT))
		return false;
	pfn = ((entry & PTE_PFN_MASK & page_level_mask(level)) + (addr & ~page_level_mask(level))) >> PAGE_SHIFT;
	/* Without a struct page; or a memory hole, which has one, but is mapped uncached. */
	return !pfn_valid(pfn) ||
	       (level == PG_LEVEL_4K && entry & _PAGE_CACHE_MASK && PageReserved(pfn_to_page(pfn)));
}
NOKPROBE_SYMBOL(is_device_page);

__probe_path bool kinst_arch_uaccess_okay(void)
{
	return kinst_addr_nmi_uaccess_okay && kinst_sym_nmi_uaccess_okay();
}
NOKPROBE_SYMBOL(kinst_arch_uaccess_okay);

/* Context: any, NMI included. */
__probe_path bool kinst_arch_is_device(unsigned long addr, size_t n)
{
	unsigned long end = addr + n;

	if (end > FIXADDR_TOT_START && addr <= FIXADDR_TOP)
		return true; /* has the APIC's registers, and nothing useful to a program */
	if (end <= VMALLOC_START || addr > VMALLOC_END)
		return false;
	for (addr = max(addr, VMALLOC_START) & PAGE_MASK; addr < end && addr <= VMALLOC_END; addr += PAGE_SIZE)
		if (is_device_page(addr))
			return true;
	return false;
}
NOKPROBE_SYMBOL(kinst_arch_is_device);
