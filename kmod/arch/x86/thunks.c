// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/thunks.c: the code that replaces returns and indirect jumps in a kernel with
 * mitigations.
 */
#include <linux/kallsyms.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "arch/arch.h"
#include "arch/ksym.h"
#include "compat/config.h"

bool kinst_arch_is_return_thunk(unsigned long target)
{
	static unsigned long known; /* under the patch lock */
	char name[KSYM_SYMBOL_LEN];

	if (target == known)
		return true;
	if (kinst_addr_indirect_thunk_start && kinst_addr_indirect_thunk_end &&
	    (target < kinst_addr_indirect_thunk_start || target >= kinst_addr_indirect_thunk_end))
		return false;
	kinst_symbol_name(target, name);
	if (!strstr(name, "return_thunk"))
		return false;
	known = target;
	return true;
}

/* Thunks that the kernel makes at run time have no symbol: they are recognised by what they do. */
static u8 kinst_nameless_thunk(unsigned long target)
{
	struct kinst_arch_operand op;
	struct kinst_arch_insn insn;
	u8 text[KINST_INSN_MOST];

	if (copy_from_kernel_nofault(text, (void *)target, sizeof(text)) ||
	    !kinst_arch_decode(&insn, text, sizeof(text), target) || !kinst_arch_operand(&insn, &op) || op.memory)
		return KINST_NO_REG;
	return op.base;
}

u8 kinst_arch_thunk_register(unsigned long target)
{
	unsigned long size, offset;
	char name[KSYM_SYMBOL_LEN];

	if (!kinst_symbol_range(target, &size, &offset))
		return kinst_nameless_thunk(target);
	kinst_symbol_name(target, name);
	return kinst_arch_thunk(name);
}

/*
 * With retpolines, compilers make no jump tables: an indirect jump through a
 * register is a tail call, patched in place of a thunk. Without them it can be
 * either, and the function's exits cannot be determined.
 */
bool kinst_arch_is_tail_call(const struct kinst_arch_insn *insn)
{
	return KINST_RETPOLINE && insn->bytes[insn->machine.modrm_at] >= 0xc0;
}
