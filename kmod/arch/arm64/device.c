// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/device.c: which memory programs may use. Reading a device register can have any effect, and need not
 * fault: programs do not read there.
 */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <asm/barrier.h>
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

/* The kernel itself changes the address space for calls to the firmware. */
__probe_path bool kinst_arch_uaccess_okay(void)
{
	return current->active_mm == current->mm;
}
NOKPROBE_SYMBOL(kinst_arch_uaccess_okay);

/* Context: any, NMI included; interrupts off. */
__probe_path bool kinst_arch_is_device(unsigned long addr, size_t n)
{
	unsigned long end = addr + n;

	if ((long)addr > 0)
		return false;
	for (addr &= PAGE_MASK; addr < end; addr += PAGE_SIZE)
		if (is_device_page(addr))
			return true;
	return false;
}
NOKPROBE_SYMBOL(kinst_arch_is_device);
