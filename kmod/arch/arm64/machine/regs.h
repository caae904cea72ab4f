/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/arm64/machine/regs.h: accessors for the registers at a probe. Context: any, on the probe
 * path; all inline, so that nothing here can be probed.
 */
#ifndef _KINST_ARM64_REGS_H
#define _KINST_ARM64_REGS_H

#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/pointer_auth.h>
#include <machine/text.h>

/* Integer arguments in registers at a function's entry; the others are on the stack. */
#define KINST_ARCH_ARGS 8

static __always_inline void kinst_arch_args(const struct pt_regs *regs, u64 args[KINST_ARCH_ARGS])
{
	memcpy(args, regs->regs, KINST_ARCH_ARGS * sizeof(*args));
}

static __always_inline u64 kinst_arch_return_value(const struct pt_regs *regs)
{
	return regs->regs[0];
}

/* The address of argument i, after those in registers, at a function's entry. */
static __always_inline unsigned long kinst_arch_stack_arg(const struct pt_regs *regs, u64 i)
{
	return regs->sp + 8 * (i - KINST_ARCH_ARGS);
}

/* ftrace does not save all registers, and serves no probes. */
#define KINST_ARCH_FTRACE_FLAGS 0
#define kinst_arch_ftrace_regs(fregs) NULL

/* The stack pointer of a task that is not running. */
static inline unsigned long kinst_arch_task_sp(const struct task_struct *task)
{
	return READ_ONCE(task->thread.cpu_context.sp);
}

/* The value of the register with this number in an instruction's encoding; 0 for xzr and KINST_NO_REG. */
static __always_inline unsigned long kinst_arch_reg(const struct pt_regs *regs, u8 number)
{
	return number < 31 ? regs->regs[number] : 0;
}

static __always_inline bool kinst_arch_flags_hold(u8 cond, u64 pstate)
{
	bool n = pstate & PSR_N_BIT, z = pstate & PSR_Z_BIT, c = pstate & PSR_C_BIT, v = pstate & PSR_V_BIT;
	bool yes = true;

	switch (cond >> 1) {
	case 0: /* eq */
		yes = z;
		break;
	case 1: /* cs */
		yes = c;
		break;
	case 2: /* mi */
		yes = n;
		break;
	case 3: /* vs */
		yes = v;
		break;
	case 4: /* hi */
		yes = c && !z;
		break;
	case 5: /* ge */
		yes = n == v;
		break;
	case 6: /* gt */
		yes = n == v && !z;
		break;
	case 7: /* al, and nv, which means the same */
		return true;
	}
	return cond & 1 ? !yes : yes;
}

/* Whether the branch will be taken. cond: machine/text.h. */
static __always_inline bool kinst_arch_taken(u16 cond, const struct pt_regs *regs)
{
	u64 value = kinst_arch_reg(regs, cond & 31);

	switch (cond & KINST_COND_BIT) {
	case KINST_COND_FLAGS:
		return kinst_arch_flags_hold(cond & 15, regs->pstate);
	case KINST_COND_ZERO:
		if (!(cond & KINST_COND_WIDE))
			value = (u32)value;
		break;
	case KINST_COND_BIT:
		value &= 1ull << (cond >> 5 & 63);
		break;
	}
	return cond & KINST_COND_NOT ? value : !value;
}

/* The target of an indirect jump. */
static __always_inline unsigned long kinst_arch_operand_at(const struct kinst_arch_operand *op, const struct pt_regs *regs)
{
	return kinst_arch_reg(regs, op->base);
}

/* The memory at the frame pointer of a program that maintains frame pointers. */
struct kinst_arch_frame {
	unsigned long next;
	unsigned long ret;
};

/* A program's return address without its signature. */
static __always_inline unsigned long kinst_arch_user_return(unsigned long ret)
{
	return ptrauth_strip_user_insn_pac(ret);
}

/*
 * The registers of a program by their DWARF numbers (DWARF for the Arm 64-bit Architecture, section 4.1): x0 to x30, sp.
 * Returns how many: none for a 32-bit program, whose numbers differ.
 */
static __always_inline u32 kinst_arch_user_regs(const struct pt_regs *regs, u64 *to)
{
	if (compat_user_mode(regs))
		return 0;
	memcpy(to, regs->regs, sizeof(regs->regs));
	to[31] = regs->sp;
	return 32;
}

/*
 * The offset in pt_regs of element i of regs[] and uregs[], or -1: x0 to x30, sp, pc and pstate; of a system call, the
 * first argument and the number.
 */
static __always_inline int kinst_arch_reg_offset(u64 i)
{
	BUILD_BUG_ON(offsetof(struct pt_regs, syscallno) != 35 * sizeof(u64));
	return i < 36 ? offsetof(struct pt_regs, regs) + i * sizeof(u64) : -1;
}

#endif /* _KINST_ARM64_REGS_H */
