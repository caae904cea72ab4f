// SPDX-License-Identifier: GPL-2.0
/*
 * places/trappath.c: the functions from which no breakpoint leads to our handler, and
 * that kprobes does not know of.
 *
 * Those of the path run between a breakpoint and us, or after us on the way back;
 * kprobes is called earlier than we are. A probe in one of them would hit itself until the
 * stack is full. Two ways lead to them, as neither is sure alone: names, found by reading
 * the disassembly of supported kernels, and a walk over all calls in the text of the
 * kernel that runs, at load, as another configuration has others there (lockdep, sanitizers).
 *
 * The others run where nobody catches a trap. Found by arming them, and all around
 * them, while a processor went and came back (a triple fault says which), by reading
 * what is called before load_current_idt() there, and by sweeping over all functions of
 * each kernel. What a suspend comes back through is read, not tried.
 */
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "places/func.h"
#include "ksym.h"
#include "text/patch.h"
#include "text/sites.h"
#include "places/trappath.h"

static const char *const kinst_trap_path_names[] = {
	/* the way in and out */
	"asm_exc_int3", "exc_int3", "do_int3", "do_int3_user", "poke_int3_handler", "irqentry_nmi_enter",
	"irqentry_nmi_exit", "trace_hwlat_callback", "trace_osnoise_callback", "kgdb_ll_trap",
	/* kprobes' look at it */
	"kprobe_int3_handler", "get_kprobe", "kprobe_exceptions_notify",
	/* the chain */
	"notify_die", "atomic_notifier_call_chain", "notifier_call_chain", "hw_breakpoint_exceptions_notify",
	"arch_uprobe_exception_notify",
	"__rcu_read_lock", "__rcu_read_unlock", "rcu_read_unlock_special", "rcu_lockdep_current_cpu_online",
	"rcu_is_watching", "debug_lockdep_rcu_enabled", "rcu_read_lock_held",
	/* ftrace's part, when one of the above is traced */
	"__fentry__", "ftrace_caller", "ftrace_regs_caller", "ftrace_call", "ftrace_regs_call", "ftrace_stub",
	"ftrace_stub_direct_tramp", "arch_ftrace_ops_list_func", "ftrace_ops_list_func", "ftrace_ops_assist_func",
	"ftrace_ops_test", "function_trace_call", "function_stack_trace_call", "function_no_repeats_trace_call",
	"function_stack_no_repeats_trace_call", "ftrace_graph_caller", "ftrace_graph_call", "ftrace_graph_func",
	"prepare_ftrace_return", "function_graph_enter", "function_graph_enter_regs", "return_to_handler",
	"ftrace_return_to_handler", "fprobe_handler", "fprobe_kprobe_handler", "fprobe_entry", "fprobe_ftrace_entry",
	"kprobe_ftrace_handler", "klp_ftrace_handler", "rethook_trampoline_handler", "arch_rethook_trampoline",
	/* FRED's dispatcher */
	"fred_entry_from_kernel", "fred_hwexc", "fred_exc",
};

static const char *const kinst_no_trap_names[] = {
	/* a processor that comes up has no table of interrupts yet, or an empty one: a triple fault */
	"secondary_startup_64", "secondary_startup_64_no_verify", "common_startup_64", "verify_cpu", "sev_verify_cbit",
	"startup_64_load_idt", "early_setup_idt", "set_bringup_idt_handler", "start_secondary", "cr4_init",
	"cpu_init_exception_handling", "native_load_tr_desc", "native_write_cr4", "native_write_msr",
	"native_write_gdt_entry", "cpu_init_secondary", "cr4_set_bits", "cr4_update_irqsoff", "setup_ghcb", "cc_platform_has",
	"memset", "__memset", "load_current_idt",
	/* between its instructions the processor's own data is at address 0: page faults without an end */
	"load_percpu_segment",
	/* nor has one that wakes from suspend to RAM, or from the disk */
	"wakeup_long64", "do_suspend_lowlevel", "restore_processor_state", "restore_registers",
	"restore_image", "core_restore_code",
	/* the last of this kernel: the table is gone when it hands over to the next */
	"machine_kexec",
	/* what is copied and runs elsewhere: a breakpoint would go with it, and nobody knows it there */
	"ftrace_caller_op_ptr", "ftrace_caller_end", "ftrace_regs_caller_op_ptr", "ftrace_regs_caller_jmp",
	"ftrace_regs_caller_end", "relocate_kernel", "relocate_range", "identity_mapped", "virtual_mapped", "swap_pages",
};

/* By name without what a compiler adds for a copy or a part (.cold, .isra.0). */
static bool kinst_is_listed(const char *const *names, size_t count, const char *name)
{
	size_t len = strcspn(name, "."), i;

	for (i = 0; i < count; i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return true;
	return false;
}

bool kinst_has_no_trap(const char *name)
{
	return kinst_is_listed(kinst_no_trap_names, ARRAY_SIZE(kinst_no_trap_names), name);
}

/* ---- the walk ---- */

/* Where it begins: a breakpoint of the kernel's, with interrupts off and in the manner of an NMI. */
static const char *const kinst_walk_roots[] = {
	"poke_int3_handler", "irqentry_nmi_enter", "irqentry_nmi_exit", "do_int3", "kprobe_int3_handler",
	"kprobe_exceptions_notify", "notify_die", "atomic_notifier_call_chain", "notifier_call_chain",
	"rcu_is_watching", "ct_nmi_enter", "rcu_nmi_enter", "ct_nmi_exit", "rcu_nmi_exit",
};

/*
 * What is called there in the text, but not on our way, by the beginnings of names: what ends in a report or a
 * panic; what takes a trap for somebody else's; what gives the CPU away, where interrupts and preemption are on; what
 * such a manner of context turns back at its door (lockdep is off, RCU and irq_work leave it for later).
 */
static const char *const kinst_walk_ends[] = {
	"die", "__die", "do_trap", "do_error_trap", "force_sig", "panic", "nmi_panic", "printk", "_printk", "vprintk",
	"__printk", "__warn", "warn_", "report_bug", "dump_", "show_", "print_", "add_taint", "__stack_chk_fail",
	"fortify_", "__fortify", "refcount_warn", "__ubsan_", "kasan_report", "kasan_save", "kcsan_report",
	"kmsan_report", "lockdep_rcu_suspicious", "lockdep_print", "debug_locks_off", "debug_show", "bust_spinlocks",
	"__SCT__preempt_schedule", "__SCT__cond_resched", "__SCT__might_resched", "preempt_schedule", "__schedule",
	"schedule", "cond_local_irq", "rcu_read_unlock_special", "__rcu_irq_enter_check_tick", "irq_work_queue",
	"__lock_acquire", "__lock_release", "verify_lock_unused", "check_flags", "lock_release_holdtime",
	"irqentry_enter_from_user_mode", "irqentry_exit_to_user_mode", "do_int3_user", "setup_detour_execution",
	"kgdb_", "__kgdb", "mce_", "__asan_report", "rethook_", "stackdepot", "stack_depot",
};

#define KINST_WALK_MOST 256 /* functions; known kernels have from 20 to 90 */

/* The starts of the functions that were found; written at load only. */
static unsigned long kinst_walked[KINST_WALK_MOST];
static unsigned int kinst_nwalked;

static bool kinst_has_walked(unsigned long start)
{
	unsigned int i;

	for (i = 0; i < kinst_nwalked; i++)
		if (kinst_walked[i] == start)
			return true;
	return false;
}

/* The function at addr is one of them. False: there is no room for it. */
static bool kinst_walk_to(unsigned long addr)
{
	unsigned long size, offset;

	if (!kinst_symbol_range(addr, &size, &offset) || kinst_has_walked(addr - offset))
		return true;
	if (kinst_nwalked == KINST_WALK_MOST)
		return false;
	kinst_walked[kinst_nwalked++] = addr - offset;
	return true;
}

static bool kinst_walk_ends_at(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinst_walk_ends); i++)
		if (strstarts(name, kinst_walk_ends[i]))
			return true;
	return false;
}

/* All direct calls of the function, and its jumps to others. */
static bool kinst_walk_through(unsigned long start)
{
	struct kinst_func *f = kinst_func_get(start);
	struct kinst_arch_insn insn;
	bool ok = f;
	u32 i;

	for (i = 0; ok && !f->reason && !kinst_walk_ends_at(f->name) && i < f->ninsns; i++) {
		kinst_func_decode(f, &f->insns[i], &insn);
		if (insn.target && !kinst_func_has(f, insn.target))
			ok = kinst_walk_to(insn.target);
	}
	kinst_func_put(f);
	return ok;
}

static bool kinst_walk(void)
{
	unsigned long addr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinst_walk_roots); i++) {
		addr = kinst_sym_kallsyms_lookup_name(kinst_walk_roots[i]);
		if (addr && !kinst_walk_to(addr))
			return false;
	}
	for (i = 0; i < kinst_nwalked; i++)
		if (!kinst_walk_through(kinst_walked[i]))
			return false;
	return true;
}

int kinst_trap_path_init(void)
{
	bool told;

	mutex_lock(&kinst_sites_mutex);
	kinst_patch_lock();
	told = kinst_walk();
	kinst_patch_unlock();
	mutex_unlock(&kinst_sites_mutex);
	if (told)
		return 0;
	pr_err("kinst: on this kernel more runs between a breakpoint and its handler than can be kept free of breakpoints\n");
	return -EOPNOTSUPP;
}

static bool kinst_is_path_name(const char *name)
{
	if (kinst_is_listed(kinst_trap_path_names, ARRAY_SIZE(kinst_trap_path_names), name))
		return true;
	/* Thunks that compilers and alternatives put in the place of returns and indirect calls, everywhere. */
	return strstarts(name, "__x86_indirect_") || strstarts(name, "__x86_return_") || strstr(name, "return_thunk") ||
	       strstarts(name, "srso_") || strstarts(name, "retbleed_") || strstarts(name, "zen_untrain_ret");
}

bool kinst_is_trap_path(const struct kinst_func *f)
{
	return kinst_has_walked(f->start) || kinst_is_path_name(f->name);
}
