// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/hook.c: how breakpoints in the kernel reach our handler.
 *
 * The kernel has no chain of handlers for them: a number that it does not know is an oops. So ftrace calls us at the start
 * of the kernel's handler, directly, without its own bookkeeping. ftrace cannot be switched off meanwhile, as
 * text/fentry.c keeps a permanent ftrace_ops.
 */
#include <linux/cache.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <asm/esr.h>

#include "arch/arch.h"
#include "arch/arm64/near.h"
#include "arch/ksym.h"
#include "arch/pool.h"
#include "context.h"

/* brk.S */
void kinst_brk_entry(void);
asmlinkage bool kinst_brk(unsigned long esr, struct pt_regs *regs);

static kinst_arch_trap_fn kinst_trap_fn __ro_after_init;

static __probe_path bool kinst_is_slot(unsigned long addr)
{
	return addr - (unsigned long)kinst_pool < KINST_POOL_SLOTS * KINST_SLOT_SIZE ||
	       addr - (unsigned long)kinst_fault_pool < KINST_FAULT_SLOTS * KINST_SLOT_SIZE ||
	       addr - (unsigned long)kinst_detours < KINST_DETOURS * KINST_DETOUR_LEN || kinst_is_near(addr);
}
NOKPROBE_SYMBOL(kinst_is_slot);

/* Continues where a slot or a detour ends. Context: the probe path. */
static __probe_path bool kinst_leave_slot(struct pt_regs *regs, u32 insn)
{
	unsigned long addr = regs->pc, slot = round_down(addr, KINST_SLOT_SIZE);

	if (!kinst_is_slot(addr))
		return false;
	regs->pc = READ_ONCE(*(unsigned long *)(slot + (insn == KINST_TO_NEXT ? KINST_SLOT_NEXT : KINST_SLOT_TARGET)));
	return true;
}
NOKPROBE_SYMBOL(kinst_leave_slot);

/*
 * Handles a breakpoint in the kernel. False if another tool set it. Context: the kernel's handler: interrupts off, NMI-like, on
 * the stack of the interrupted code.
 */
asmlinkage __probe_path bool kinst_brk(unsigned long esr, struct pt_regs *regs)
{
	u32 insn = KINST_BRK(esr & ESR_ELx_BRK64_ISS_COMMENT_MASK);

	switch (insn) {
	case KINST_BREAK:
		return kinst_trap_fn(regs, regs->pc);
	case KINST_TO_NEXT:
	case KINST_TO_TARGET:
		return kinst_leave_slot(regs, insn);
	}
	return false;
}
NOKPROBE_SYMBOL(kinst_brk);

static struct ftrace_ops kinst_brk_ops;

int kinst_arch_hook_traps(kinst_arch_trap_fn trap)
{
	int err = ftrace_set_filter_ip(&kinst_brk_ops, kinst_addr_do_el1_brk64, 0, 0);

	kinst_trap_fn = trap;
	if (!err)
		err = register_ftrace_direct(&kinst_brk_ops, (unsigned long)kinst_brk_entry);
	if (err)
		pr_err("kinst: cannot handle breakpoints in the kernel: ftrace refused do_el1_brk64 (%d)\n", err);
	else
		pr_notice("kinst: tested on emulated processors of arm64 only, not on hardware (docs/SECURITY.md)\n");
	return err;
}

void kinst_arch_unhook_traps(void)
{
	unregister_ftrace_direct(&kinst_brk_ops, (unsigned long)kinst_brk_entry, true);
}
