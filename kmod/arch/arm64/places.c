// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/places.c: what other code of the kernel has written over instructions of arm64.
 */
#include <linux/kprobes.h>
#include <linux/string.h>

#include "arch/arch.h"
#include "arch/ksym.h"

/* A kprobe's own breakpoint; there are no optimised kprobes. */
unsigned long kinst_arch_under_kprobe(u8 *buf, unsigned long addr)
{
	const struct kprobe *kp = kinst_sym_get_kprobe((void *)addr);

	if (!kp)
		return addr;
	memcpy(buf, &kp->opcode, sizeof(kp->opcode));
	return (unsigned long)buf;
}

/* No other code runs there. */
bool kinst_arch_is_before_us(unsigned long start)
{
	return false;
}

/* Alternatives are applied once, before a function can run. */
bool kinst_arch_is_rewritten(unsigned long first, unsigned long last)
{
	return false;
}
