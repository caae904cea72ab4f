// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/thunks.c: the kernel's returns and indirect jumps are instructions, not thunks.
 */
#include "arch/arch.h"

bool kinst_arch_is_return_thunk(unsigned long target)
{
	return false;
}

u8 kinst_arch_thunk_register(unsigned long target)
{
	return KINST_NO_REG;
}

/* Compilers make jump tables: br can lead to anywhere in the function, or out of it. */
bool kinst_arch_is_tail_call(const struct kinst_arch_insn *insn)
{
	return false;
}

bool kinst_arch_is_thunk_name(const char *name)
{
	return false;
}
