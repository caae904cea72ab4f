// SPDX-License-Identifier: GPL-2.0
/*
 * arch/x86/trappath.c: the names of the functions on the trap path (places/trappath.c).
 *
 * Functions on the path were found by reading the disassembly of supported kernels.
 * Functions that run while no trap is handled were found by arming them, and those around them,
 * while a CPU went offline and online, or the machine was suspended (a triple fault shows which),
 * by reading the calls before load_current_idt() there, and by a sweep over all
 * functions of each kernel. A walk finds what they call in the running kernel.
 */
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <asm/cpufeature.h>

#include "arch/arch.h"

const char *const kinst_arch_trap_path[] = {
	/* entry and exit of the trap */
	"asm_exc_int3", "exc_int3", "do_int3", "do_int3_user", "poke_int3_handler", "irqentry_nmi_enter",
	"irqentry_nmi_exit", "trace_hwlat_callback", "trace_osnoise_callback", "kgdb_ll_trap",
	/* kprobes */
	"kprobe_int3_handler", "get_kprobe", "kprobe_exceptions_notify",
	/* the chain of notifiers */
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
	NULL
};

const char *const kinst_arch_no_trap[] = {
	/* a CPU that comes online has no interrupt table yet, or an empty one: a triple fault */
	"secondary_startup_64", "secondary_startup_64_no_verify", "common_startup_64", "verify_cpu", "sev_verify_cbit",
	"startup_64_load_idt", "early_setup_idt", "set_bringup_idt_handler", "start_secondary", "cr4_init",
	"cpu_init_exception_handling", "native_load_tr_desc", "native_write_cr4", "native_write_msr",
	"native_write_gdt_entry", "cpu_init_secondary", "cr4_set_bits", "cr4_update_irqsoff", "setup_ghcb", "cc_platform_has",
	"memset", "__memset", "memset_erms", "memset_orig", "load_current_idt", "native_write_cr0", "native_write_cr3",
	"do_trace_write_msr",
	/* between its instructions the per-CPU base is 0: endless page faults */
	"load_percpu_segment",
	/* nor has a CPU that resumes from suspend to RAM or from hibernation */
	"wakeup_long64", "do_suspend_lowlevel", "restore_processor_state", "restore_registers",
	"restore_image", "core_restore_code",
	/* the last functions of this kernel: the table is invalidated when it hands over to the next */
	"machine_kexec", "idt_invalidate", "native_idt_invalidate", "gdt_invalidate", "native_gdt_invalidate",
	/* copied and run elsewhere: a breakpoint would be copied as well, and is unknown there */
	"ftrace_caller_op_ptr", "ftrace_caller_end", "ftrace_regs_caller_op_ptr", "ftrace_regs_caller_jmp",
	"ftrace_regs_caller_end", "relocate_kernel", "relocate_range", "identity_mapped", "virtual_mapped", "swap_pages",
	NULL
};

const char *const kinst_arch_no_trap_names[] = { NULL };

/* The path of a breakpoint in the kernel, with interrupts off and NMI-like. */
const char *const kinst_arch_walk_roots[] = {
	"poke_int3_handler", "irqentry_nmi_enter", "irqentry_nmi_exit", "do_int3", "kprobe_int3_handler",
	"kprobe_exceptions_notify", "notify_die", "atomic_notifier_call_chain", "notifier_call_chain",
	"rcu_is_watching", "ct_nmi_enter", "rcu_nmi_enter", "ct_nmi_exit", "rcu_nmi_exit",
	/* a BPF program that traces one of the above: the functions before and after its recursion check */
	"migrate_disable", "migrate_enable", "__bpf_prog_enter", "__bpf_prog_exit", "__bpf_prog_enter_recur",
	"__bpf_prog_exit_recur", "__bpf_tramp_enter", "__bpf_tramp_exit",
	NULL
};

/*
 * Functions that are called on these paths, but not followed: they handle other traps, or schedule (which needs interrupts and
 * preemption on), or return at once in such a context (lockdep is off; RCU and irq_work postpone the work).
 */
const char *const kinst_arch_walk_ends[] = {
	"do_trap", "do_error_trap", "force_sig", "__warn", "warn_", "add_taint", "__stack_chk_fail",
	"fortify_", "__fortify", "refcount_warn", "__ubsan_", "kasan_report", "kasan_save", "kcsan_report",
	"kmsan_report", "lockdep_rcu_suspicious", "lockdep_print", "debug_locks_off", "debug_show",
	"__SCT__preempt_schedule", "__SCT__cond_resched", "__SCT__might_resched", "preempt_schedule", "__schedule",
	"schedule", "cond_local_irq", "rcu_read_unlock_special", "__rcu_irq_enter_check_tick", "irq_work_queue",
	"__lock_acquire", "__lock_release", "verify_lock_unused", "check_flags", "lock_release_holdtime",
	"irqentry_enter_from_user_mode", "irqentry_exit_to_user_mode", "do_int3_user", "setup_detour_execution",
	"kgdb_", "__kgdb", "mce_", "__asan_report", "rethook_", "stackdepot", "stack_depot",
	NULL
};

/*
 * More of these for the walk over code without handlers. Most of the functions called by machine_kexec() and
 * do_suspend_lowlevel() still run with handlers; the rest are named above. A tracepoint's listener is called through
 * a pointer.
 */
const char *const kinst_arch_no_trap_ends[] = {
	"machine_kexec", "do_suspend_lowlevel", "__traceiter_", "lockdep_",
	NULL
};

/* Functions that begin without handlers and install them. */
const char *const kinst_arch_until_handlers[] = {
	"start_secondary", "cpu_init_secondary", "restore_processor_state", "__restore_processor_state",
	NULL
};

/* Functions that return with handlers installed. */
const char *const kinst_arch_sets_handlers[] = {
	"cpu_init_secondary", "cpu_init_exception_handling", "load_current_idt", "native_load_idt",
	NULL
};

/* lidt */
bool kinst_arch_loads_handlers(const struct kinst_arch_insn *insn)
{
	const u8 *opcode = insn->bytes + ((insn->bytes[0] & 0xf0) == 0x40);

	return opcode[0] == 0x0f && opcode[1] == 0x01 && (opcode[2] >> 3 & 7) == 3 && opcode[2] >> 6 != 3;
}

bool kinst_arch_is_thunk_name(const char *name)
{
	return strstarts(name, "__x86_indirect_") || strstarts(name, "__x86_return_") || strstr(name, "return_thunk") ||
	       strstarts(name, "srso_") || strstarts(name, "retbleed_") || strstarts(name, "zen_untrain_ret");
}

/* ---- FRED ---- */

/*
 * These set up the handlers of a processor with FRED. From 6.9 to 6.18 the first logs a line before it does so; in 7.3
 * it does not. All functions that log then run without handlers, as do the functions they call through pointers: the
 * consoles, and the scheduler, which wakes the tasks that wait for them.
 */
#define KINST_FRED_ROOTS "cpu_init_fred_exceptions", "cpu_init_fred_rsps"

static const char *const kinst_fred_roots[] = { KINST_FRED_ROOTS, NULL };
static const char *const kinst_assumed_roots[] = { KINST_FRED_ROOTS, "_printk", NULL };

const char *const kinst_arch_log_roots[] = {
	"univ8250_console_write", "serial8250_console_write", "serial8250_console_write_thread",
	"serial8250_console_write_atomic", "vt_console_print", "hvc_console_print", "write_msg", "netconsole_write_thread",
	"select_task_rq_fair", "enqueue_task_fair", "check_preempt_wakeup", "check_preempt_wakeup_fair",
	"select_task_rq_rt", "enqueue_task_rt", "check_preempt_curr_rt", "wakeup_preempt_rt",
	NULL
};

static bool kinst_assume_fred;
module_param_named(assume_fred, kinst_assume_fred, bool, 0400);
MODULE_PARM_DESC(assume_fred, "for tests: refuse functions that a FRED processor may run without handlers");

static bool kinst_has_fred(void)
{
#ifdef X86_FEATURE_FRED
	return cpu_feature_enabled(X86_FEATURE_FRED);
#else
	return false;
#endif
}

const char *const *kinst_arch_set_up_roots(void)
{
	if (kinst_assume_fred)
		return kinst_assumed_roots;
	return kinst_has_fred() ? kinst_fred_roots : NULL;
}
