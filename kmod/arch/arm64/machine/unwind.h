/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/unwind.h: a walk over a kernel stack by its frame records, which all of the kernel's functions
 * have, except for leaves. Context: a hit; all inline. Reads memory only through copies that do not fault.
 */
#ifndef _KINST_ARM64_UNWIND_H
#define _KINST_ARM64_UNWIND_H

#include <linux/module.h>
#include <linux/uaccess.h>
#include <asm/pointer_auth.h>

/* If our trampoline was interrupted with regs, sets *to to the registers at the place that it executed; else false. */
typedef bool (*kinst_arch_place_fn)(struct pt_regs *to, struct pt_regs *regs);

struct kinst_arch_record {
	u64 next;
	u64 ret;
};

static __always_inline bool kinst_arch_in_kernel(u64 fp)
{
	return fp % 8 == 0 && (s64)fp < 0;
}

/*
 * Whether the record, at fp, belongs to the registers of an exception in the kernel, which are then copied to *to. The
 * kernel lays them where the interrupted code's stack ended. The record has the interrupted frame and place; since
 * Linux 6.13 it has zeros, and a type after them.
 */
static __always_inline bool kinst_arch_exception(struct pt_regs *to, u64 fp, const struct kinst_arch_record *record)
{
	u64 at = fp - offsetof(struct pt_regs, stackframe);
	struct {
		u64 sp;
		u64 pc;
	} where;

	if (copy_from_kernel_nofault(&where, (void *)(at + offsetof(struct pt_regs, sp)), sizeof(where)))
		return false;
	if (where.sp != at + sizeof(struct pt_regs) || (record->ret ? record->ret != where.pc : record->next))
		return false;
	return !copy_from_kernel_nofault(to, (void *)at, sizeof(*to));
}

/*
 * Walks the kernel's stack from regs on, or from our own frame if regs is NULL, without the frames of the module and
 * of the function at via: stores up to n return addresses in pcs (which may be NULL), and returns their count.
 * linked: the caller is in the link register, not in a frame. copy: memory for registers.
 */
static __always_inline u32 kinst_arch_walk(unsigned long via, unsigned long via_size, struct pt_regs *regs, bool linked,
					   u64 *pcs, u32 n, struct pt_regs *copy, kinst_arch_place_fn place)
{
	u64 fp = regs ? regs->regs[29] : (u64)__builtin_frame_address(0);
	struct kinst_arch_record record;
	u32 found = 0;

	if (regs && user_mode(regs))
		return 0;
	if (regs && linked && n) {
		record.ret = ptrauth_strip_kernel_insn_pac(regs->regs[30]);
		if (pcs)
			pcs[0] = record.ret;
		found = 1;
	}
	for (; found < n && kinst_arch_in_kernel(fp); fp = record.next) {
		if (copy_from_kernel_nofault(&record, (void *)fp, sizeof(record)))
			break;
		if (kinst_arch_exception(copy, fp, &record)) {
			place(copy, copy);
			record.next = copy->regs[29];
			record.ret = copy->pc;
		}
		record.ret = ptrauth_strip_kernel_insn_pac(record.ret);
		if ((s64)record.ret >= 0)
			break;
		if (!regs && !found && (within_module_core(record.ret, THIS_MODULE) || record.ret - via < via_size))
			continue;
		if (pcs)
			pcs[found] = record.ret;
		found++;
	}
	return found;
}

#endif /* _KINST_ARM64_UNWIND_H */
