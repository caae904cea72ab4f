// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/places.c: what other code of the kernel has written over instructions of x86, or may write.
 */
#include "arch/arch.h"
#include "arch/ksym.h"

/* Lock prefixes, patched in and out with the second CPU. */
bool kinst_arch_is_rewritten(unsigned long first, unsigned long last)
{
	return kinst_addr_alternatives_text_reserved && kinst_sym_alternatives_text_reserved((void *)first, (void *)last);
}

unsigned long kinst_arch_under_kprobe(u8 *buf, unsigned long addr)
{
	return kinst_addr_recover_probed_instruction ? kinst_sym_recover_probed_instruction(buf, addr) : 0;
}
