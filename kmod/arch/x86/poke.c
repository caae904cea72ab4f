// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/poke.c: writes to the text of the running kernel.
 *
 * Only the first byte of an instruction that may run is changed, to a breakpoint
 * or back, so that no other CPU can execute half of a change.
 * text_poke_bp() does not serve: it emulates what it writes, and BUG()s on an
 * instruction that is not a jump, a call or a nop.
 */
#include "arch/arch.h"
#include "ksym.h"

void kinst_arch_poke(unsigned long addr, const void *bytes, size_t len)
{
	kinst_sym_text_poke((void *)addr, bytes, len);
}

void kinst_arch_poke_sync(void)
{
	kinst_sym_text_poke_sync();
}
