// SPDX-License-Identifier: GPL-2.0
/*
 * program/dif/store.c: writes to memory by programs.
 */
#include "context.h"
#include "program/session.h"

__at_hit bool kinst_storable(struct kinst_ctx *c, u64 addr, u64 n)
{
	u64 base = (u64)(uintptr_t)c->scratch, end = (u64)(uintptr_t)c->scratch_next;

	if (addr + n < addr)
		return false;
	return (addr >= base && addr + n <= end) || kinst_vars_storable(c, addr, n);
}
NOKPROBE_SYMBOL(kinst_storable);

__at_hit bool kinst_store(struct kinst_ctx *c, u64 addr, const void *src, u64 n)
{
	if (!kinst_burn(c, KINST_LOAD_STEPS + n / 8))
		return false;
	if (!kinst_storable(c, addr, n)) {
		kinst_fault(c, KINST_FLT_BADADDR, addr);
		return false;
	}
	memcpy((void *)(uintptr_t)addr, src, n);
	return true;
}
NOKPROBE_SYMBOL(kinst_store);
