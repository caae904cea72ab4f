// SPDX-License-Identifier: GPL-2.0
/*
 * arch/arm64/trappath.c: the names of the functions on the trap path (places/trappath.c).
 *
 * Functions on the path were found by reading the disassembly of supported kernels. Those of the entry code are on the
 * kernel's own list of functions without kprobes. The processor has a table of handlers before it runs any C
 * code, so only code that sets up or leaves the kernel's address space runs without handlers.
 */
#include <linux/string.h>

#include "arch/arch.h"

const char *const kinst_arch_trap_path[] = {
	/* entry and exit of the trap */
	"el1h_64_sync", "el1h_64_sync_handler", "el1_brk64", "el1_dbg", "do_el1_brk64", "arm64_enter_el1_dbg",
	"arm64_exit_el1_dbg", "debug_exception_enter", "debug_exception_exit", "mte_check_tfsr_el1", "mte_check_tfsr_entry",
	"mte_check_tfsr_exit", "call_el1_break_hook", "ret_to_kernel", "cortex_a76_erratum_1463225_debug_handler",
	/* the kernel's own handlers of breakpoints */
	"get_kprobe", "kprobe_brk_handler", "kprobe_ss_brk_handler", "kretprobe_brk_handler", "uprobe_brk_handler",
	"__rcu_read_lock", "__rcu_read_unlock", "rcu_read_unlock_special", "rcu_lockdep_current_cpu_online",
	"rcu_is_watching", "debug_lockdep_rcu_enabled", "rcu_read_lock_held",
	/* ftrace's part, when do_el1_brk64() is traced by others, too */
	"_mcount", "ftrace_caller", "ftrace_caller_direct_late", "ftrace_caller_direct", "ftrace_stub",
	"ftrace_stub_graph", "ftrace_stub_direct_tramp", "ftrace_call", "arch_ftrace_ops_list_func",
	"ftrace_ops_list_func", "ftrace_ops_get_func", "ftrace_ops_assist_func", "call_direct_funcs",
	"ftrace_find_rec_direct", "ftrace_ops_test", "ftrace_lookup_ip", "hash_contains_ip", "function_trace_call",
	"function_stack_trace_call", "function_no_repeats_trace_call", "function_stack_no_repeats_trace_call",
	"ftrace_graph_caller", "ftrace_graph_func", "prepare_ftrace_return", "function_graph_enter",
	"function_graph_enter_regs", "return_to_handler", "ftrace_return_to_handler", "fprobe_handler",
	"fprobe_kprobe_handler", "fprobe_entry", "fprobe_ftrace_entry", "kprobe_ftrace_handler",
	NULL
};

const char *const kinst_arch_no_trap[] = {
	/* a CPU that comes online has no handlers, or RCU does not wait for it yet */
	"secondary_entry", "secondary_holding_pen", "secondary_startup", "__secondary_switched", "secondary_start_kernel",
	"primary_entry", "__primary_switched", "init_cpu_task",
	/* nor has a CPU that resumes */
	"__cpu_suspend_enter", "cpu_do_suspend", "cpu_resume", "_cpu_resume", "cpu_do_resume", "cpu_suspend",
	"swsusp_arch_suspend", "swsusp_arch_suspend_exit", "hibernate_resume",
	/* runs by physical addresses, or from a copy */
	"__cpu_setup", "__enable_mmu", "idmap_cpu_replace_ttbr1", "idmap_kpti_install_ng_mappings", "cpu_soft_restart",
	"__cpu_soft_restart", "machine_kexec", "arm64_relocate_new_kernel",
	/* on the stack of the firmware's calls */
	"efi_rt_asm_wrapper", "__efi_rt_asm_wrapper", "__efi_rt_asm_recover",
	/* the table of another exception level, or of a guest's exits: a breakpoint there is not known */
	"__kvm_hyp_vector", "__kvm_handle_stub_hvc", "__hyp_stub_vectors", "tramp_vectors", "__bp_harden_hyp_vecs",
	"__kvm_vcpu_run_vhe", "kvm_hyp_handle_cp15_32", "kvm_hyp_handle_dabt_low", "kvm_hyp_handle_eret",
	"kvm_hyp_handle_fpsimd", "kvm_hyp_handle_iabt_low", "kvm_hyp_handle_impdef", "kvm_hyp_handle_memory_fault",
	"kvm_hyp_handle_mops", "kvm_hyp_handle_sysreg", "kvm_hyp_handle_sysreg_vhe", "kvm_hyp_handle_watchpt_low",
	NULL
};

/* A guest's accesses to its interrupt controller are made through pointers. */
const char *const kinst_arch_no_trap_names[] = { "__vgic_v3_", NULL };

/* The path of a breakpoint in the kernel, with interrupts off and NMI-like. */
const char *const kinst_arch_walk_roots[] = {
	"arm64_enter_el1_dbg", "arm64_exit_el1_dbg", "debug_exception_enter", "debug_exception_exit",
	"rcu_is_watching", "ct_nmi_enter", "ct_nmi_exit",
	/* a BPF program that traces one of the above: the functions before and after its recursion check */
	"migrate_disable", "migrate_enable", "__bpf_prog_enter", "__bpf_prog_exit", "__bpf_prog_enter_recur",
	"__bpf_prog_exit_recur", "__bpf_tramp_enter", "__bpf_tramp_exit",
	NULL
};

/*
 * Functions that are called on these paths, but not followed: they schedule, which needs interrupts and preemption on, or
 * return.
 */
const char *const kinst_arch_walk_ends[] = {
	"do_mem_abort", "__warn", "warn_", "add_taint", "__stack_chk_fail", "fortify_", "__fortify", "refcount_warn",
	"__ubsan_", "kasan_report", "kasan_save", "kcsan_report", "kmsan_report", "lockdep_rcu_suspicious", "lockdep_print",
	"debug_locks_off", "debug_show", "dynamic_preempt_schedule", "dynamic_cond_resched", "preempt_schedule", "__schedule",
	"schedule", "rcu_read_unlock_special", "__rcu_irq_enter_check_tick", "irq_work_queue", "__lock_acquire",
	"__lock_release", "verify_lock_unused", "check_flags", "lock_release_holdtime", "__asan_report", "rethook_",
	"stackdepot", "stack_depot",
	NULL
};

/*
 * Most of what these call has handlers; the rest is named above. The functions that suspend the machine are left where
 * it resumes, in assembler: cpu_do_resume() has restored the table, the per-CPU offset and the task before it
 * returns to them. That was read, not tried: QEMU does not power a processor down.
 */
const char *const kinst_arch_no_trap_ends[] = {
	"machine_kexec", "cpu_suspend", "swsusp_arch_suspend", "rcutree_report_cpu_starting", "rcu_cpu_starting",
	"efi_handle_corrupted_x18", "__traceiter_", "lockdep_",
	NULL
};

/*
 * __secondary_switched() sets the table, the task and the per-CPU offset before it calls this first function in C. RCU
 * does not wait for this CPU before the call below, and a session may end meanwhile.
 */
const char *const kinst_arch_until_handlers[] = { "secondary_start_kernel", NULL };
const char *const kinst_arch_sets_handlers[] = { "rcutree_report_cpu_starting", "rcu_cpu_starting", NULL };
const char *const kinst_arch_log_roots[] = { NULL };

bool kinst_arch_loads_handlers(const struct kinst_arch_insn *insn)
{
	return false;
}

const char *const *kinst_arch_set_up_roots(void)
{
	return NULL;
}
