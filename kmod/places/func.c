// SPDX-License-Identifier: GPL-2.0
/*
 * places/func.c: the instructions of a function that has been read, by offset, and the reasons against each.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "places/func.h"

int kinst_compare_addrs(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

void kinst_func_mark(struct kinst_func *f, unsigned long addr, unsigned long len, enum kinst_reason reason)
{
	u32 lo = 0, hi = f->ninsns;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (f->start + f->insns[mid].offset + f->insns[mid].len <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < f->ninsns && f->start + f->insns[lo].offset < addr + len; lo++)
		/* Some static calls are a ud1 at present; that the kernel rewrites them is more important. */
		if (!f->insns[lo].reason || reason == KINST_R_STATIC_CALL)
			f->insns[lo].reason = reason;
}

const struct kinst_func_insn *kinst_func_at(const struct kinst_func *f, u32 offset, enum kinst_reason *reason,
					    struct kinst_result *res)
{
	u32 lo = 0, hi = f->ninsns;

	*reason = f->reason;
	if (f->reason)
		return NULL;
	*reason = KINST_R_RANGE;
	if (offset >= f->size)
		return NULL;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (f->insns[mid].offset + f->insns[mid].len <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	*reason = KINST_R_UNDECODABLE;
	if (lo == f->ninsns)
		return NULL;
	if (f->insns[lo].offset != offset) {
		*reason = KINST_R_BOUNDARY;
		if (res) {
			res->prev = f->insns[lo].offset;
			res->next = f->insns[lo].offset + f->insns[lo].len;
		}
		return NULL;
	}
	*reason = KINST_OK;
	return &f->insns[lo];
}

bool kinst_func_decode_at(const struct kinst_func *f, u32 off, struct kinst_arch_insn *insn)
{
	if (!kinst_arch_decode(insn, f->text + off, f->size - off, f->start + off))
		return false;
	if (!kinst_arch_reason_counts(insn->reason))
		insn->reason = KINST_OK;
	return true;
}

void kinst_func_decode(const struct kinst_func *f, const struct kinst_func_insn *at, struct kinst_arch_insn *insn)
{
	kinst_func_decode_at(f, at->offset, insn);
}

bool kinst_func_is_linked(const struct kinst_func *f, unsigned long addr)
{
	enum kinst_reason reason;
	const struct kinst_func_insn *at = KINST_LINK_REGISTER ? kinst_func_at(f, addr - f->start, &reason, NULL) : NULL;

	return at && at->flags & KINST_INSN_LINKED;
}

void kinst_func_put(struct kinst_func *f)
{
	if (!f)
		return;
	kvfree(f->insns);
	kvfree(f->text);
	if (f->held)
		module_put(f->mod);
	kfree(f);
}
