/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hit.h: one firing of a probe, on its way from a provider to the programs.
 */
#ifndef _KINST_HIT_H
#define _KINST_HIT_H

#include <linux/ptrace.h>
#include <linux/types.h>
#include "include/uapi/kinst.h"

/*
 * Steps that one hit may take for all listeners of the place, of all sessions (program/dif/dif.h defines
 * a step): interrupts are off meanwhile.
 */
#define KINST_HIT_FUEL (4u << 20)

/* One firing of a probe, as seen by its programs. */
struct kinst_hit {
	/*
	 * The registers at the probed instruction, with its address as ip. Timers: of the interrupted
	 * code. System calls: of the program. ERROR: of the hit that faulted. NULL for BEGIN, END,
	 * SDT and EVENT.
	 */
	struct pt_regs *regs;
	u32 kind; /* KINST_P_* */
	bool linked; /* at an instruction: the caller is in the link register, if there is one */
	u32 nargs; /* arguments in args; further ones come from regs for FBT_ENTRY */
	u32 fuel; /* steps left; KINST_HIT_FUEL at first */
	u64 args[8]; /* as many as any machine has in registers; six of system calls and tracepoints */
	/* The kernel function that called us, and its size: without registers, a stack begins below it. */
	unsigned long via, via_size;
};

static inline bool kinst_is_insn(u32 kind)
{
	return kind == KINST_P_INSN || kind == KINST_P_EDGE;
}

static inline bool kinst_is_timer(u32 kind)
{
	return kind == KINST_P_PROFILE || kind == KINST_P_TICK;
}

#endif /* _KINST_HIT_H */
