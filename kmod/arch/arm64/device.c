// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/device.c: which memory programs may use. Reading a device register can have any effect, and need not
 * fault: programs do not read there.
 */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/pgtable.h>
#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#include "context.h"
#include "arch/arch.h"

/*
 * The processor translates the address, and gives the type of its memory. The interrupted code may have asked for
 * another translation, whose result it gets back.
 */
static __probe_path bool is_device_page(unsigned long addr)
{
	u64 saved = read_sysreg_par(), par;

	asm volatile("at s1e1r, %0" : : "r"(addr));
	isb();
	par = read_sysreg_par();
	write_sysreg(saved, par_el1);
	/* The attributes, if the translation did not fail. */
	return !(par & SYS_PAR_EL1_F) && !(par >> 60);
}
NOKPROBE_SYMBOL(is_device_page);

/*
 * Whether user addresses mean the current task's memory. A switch of tasks changes the address space first and the
 * task later, and the kernel changes the address space for calls to the firmware. Without hardware to keep the kernel
 * off user memory, the table is the task's whenever user memory is accessible.
 */
__probe_path bool kinst_arch_uaccess_okay(void)
{
	const struct mm_struct *mm = current->mm;

	if (!mm || current->active_mm != mm)
		return false;
	return system_uses_ttbr0_pan() ||
	       (read_sysreg(ttbr0_el1) & GENMASK_ULL(47, 1)) == phys_to_ttbr(virt_to_phys(mm->pgd));
}
NOKPROBE_SYMBOL(kinst_arch_uaccess_okay);

/* Context: any, NMI included; interrupts off. */
__probe_path bool kinst_arch_is_device(unsigned long addr, size_t n)
{
	unsigned long last = (addr + n - 1) & PAGE_MASK;

	if ((long)addr > 0 || !n)
		return false;
	/* The last page may be the last of all addresses. */
	for (addr &= PAGE_MASK; addr < last; addr += PAGE_SIZE)
		if (is_device_page(addr))
			return true;
	return is_device_page(last);
}
NOKPROBE_SYMBOL(kinst_arch_is_device);
