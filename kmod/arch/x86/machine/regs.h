/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/machine/regs.h: accessors for the registers at a probe. Context: any, on the probe
 * path; all inline, so that nothing here can be probed.
 */
#ifndef _KINST_X86_REGS_H
#define _KINST_X86_REGS_H

#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>

/* Integer arguments in registers at a function's entry; the others are on the stack. */
#define KINST_ARCH_ARGS 6

static __always_inline void kinst_arch_args(const struct pt_regs *regs, u64 args[KINST_ARCH_ARGS])
{
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->cx;
	args[4] = regs->r8;
	args[5] = regs->r9;
}

static __always_inline u64 kinst_arch_return_value(const struct pt_regs *regs)
{
	return regs->ax;
}

/* The address of argument i, after those in registers, at a function's entry: above the return address. */
static __always_inline unsigned long kinst_arch_stack_arg(const struct pt_regs *regs, u64 i)
{
	return regs->sp + 8 * (i - KINST_ARCH_ARGS + 1);
}

/* Makes ftrace save all registers. */
#define KINST_ARCH_FTRACE_FLAGS FTRACE_OPS_FL_SAVE_REGS
#define kinst_arch_ftrace_regs(fregs) ftrace_get_regs(fregs)

/* The stack pointer of a task that is not running. */
static inline unsigned long kinst_arch_task_sp(const struct task_struct *task)
{
	return READ_ONCE(task->thread.sp);
}

/*
 * Whether the branch will be taken. cond is its opcode: 0x70..0x7f for jcc (both
 * sizes), 0xe0..0xe3 for loopne, loope, loop and jrcxz.
 */
static __always_inline bool kinst_arch_taken(u16 cond, const struct pt_regs *regs)
{
	unsigned long f = regs->flags;
	bool less = !(f & X86_EFLAGS_SF) != !(f & X86_EFLAGS_OF);
	bool yes = false;

	switch (cond) {
	case 0xe0: /* loopne */
		return regs->cx - 1 != 0 && !(f & X86_EFLAGS_ZF);
	case 0xe1: /* loope */
		return regs->cx - 1 != 0 && (f & X86_EFLAGS_ZF);
	case 0xe2: /* loop */
		return regs->cx - 1 != 0;
	case 0xe3: /* jrcxz */
		return regs->cx == 0;
	}
	switch (cond & 0xe) {
	case 0x0:
		yes = f & X86_EFLAGS_OF;
		break;
	case 0x2:
		yes = f & X86_EFLAGS_CF;
		break;
	case 0x4:
		yes = f & X86_EFLAGS_ZF;
		break;
	case 0x6:
		yes = f & (X86_EFLAGS_CF | X86_EFLAGS_ZF);
		break;
	case 0x8:
		yes = f & X86_EFLAGS_SF;
		break;
	case 0xa:
		yes = f & X86_EFLAGS_PF;
		break;
	case 0xc:
		yes = less;
		break;
	case 0xe:
		yes = (f & X86_EFLAGS_ZF) || less;
		break;
	}
	return (cond & 1) ? !yes : yes;
}

/* The value of the register with this number in an instruction's encoding; 0 for KINST_NO_REG. */
static __always_inline unsigned long kinst_arch_reg(const struct pt_regs *regs, u8 number)
{
	switch (number) {
	case 0:
		return regs->ax;
	case 1:
		return regs->cx;
	case 2:
		return regs->dx;
	case 3:
		return regs->bx;
	case 4:
		return regs->sp;
	case 5:
		return regs->bp;
	case 6:
		return regs->si;
	case 7:
		return regs->di;
	case 8:
		return regs->r8;
	case 9:
		return regs->r9;
	case 10:
		return regs->r10;
	case 11:
		return regs->r11;
	case 12:
		return regs->r12;
	case 13:
		return regs->r13;
	case 14:
		return regs->r14;
	case 15:
		return regs->r15;
	}
	return 0;
}

/*
 * The target of an indirect jump, or 0 if the memory that it would read is not mapped.
 * Reading memory calls functions outside the module: only with the guard taken.
 */
static __always_inline unsigned long kinst_arch_operand_at(const struct kinst_arch_operand *op, const struct pt_regs *regs)
{
	unsigned long value = kinst_arch_reg(regs, op->base) + op->disp;
	unsigned long to;

	if (!op->memory)
		return value;
	value += kinst_arch_reg(regs, op->index) << op->shift;
	return copy_from_kernel_nofault(&to, (const void *)value, sizeof(to)) ? 0 : to;
}

/* The memory at the frame pointer of a program that maintains frame pointers. */
struct kinst_arch_frame {
	unsigned long next;
	unsigned long ret;
};

/* A program's return address as it is. */
static __always_inline unsigned long kinst_arch_user_return(unsigned long ret)
{
	return ret;
}

/*
 * The registers of a program by their DWARF numbers (System V ABI for x86-64, figure 3.36). Returns how many: none for
 * a 32-bit program, whose numbers differ.
 */
static __always_inline u32 kinst_arch_user_regs(const struct pt_regs *regs, u64 *to)
{
	if (regs->cs == __USER32_CS)
		return 0;
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
	return 16;
}

/* The offset in pt_regs of element i of regs[] and uregs[], or -1: illumos's R_* constants for amd64, in order. */
static __always_inline int kinst_arch_reg_offset(u64 i)
{
#define REG(name) offsetof(struct pt_regs, name)
	static const s16 offsets[] = {
		REG(r15), REG(r14), REG(r13), REG(r12), REG(r11), REG(r10), REG(r9), REG(r8), REG(di), REG(si),
		REG(bp), REG(bx), REG(dx), REG(cx), REG(ax),
		-1, /* R_TRAPNO */
		REG(orig_ax), /* R_ERR */
		REG(ip), REG(cs), REG(flags), REG(sp), REG(ss),
	};
#undef REG

	return i < ARRAY_SIZE(offsets) ? offsets[i] : -1;
}

#endif /* _KINST_X86_REGS_H */
