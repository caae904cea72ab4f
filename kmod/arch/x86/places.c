// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/places.c: places that cannot be probed on x86, and the instructions below optimised kprobes.
 */
#include "arch/arch.h"
#include "arch/ksym.h"
#include "places/func.h"

/* Lock prefixes, patched in and out with the second CPU. Most machines have none, so check the whole function first. */
void kinst_arch_refuse(struct kinst_func *f)
{
	void *first = (void *)f->start;
	u32 i;

	if (!kinst_addr_alternatives_text_reserved ||
	    !kinst_sym_alternatives_text_reserved(first, first + f->size - 1))
		return;
	for (i = 0; i < f->ninsns; i++) {
		void *at = first + f->insns[i].offset;

		if (kinst_sym_alternatives_text_reserved(at, at + f->insns[i].len - 1))
			kinst_func_mark(f, (unsigned long)at, 1, KINST_R_ALTERNATIVE);
	}
}

unsigned long kinst_arch_under_kprobe(u8 *buf, unsigned long addr)
{
	return kinst_addr_recover_probed_instruction ? kinst_sym_recover_probed_instruction(buf, addr) : 0;
}
