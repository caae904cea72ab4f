// SPDX-License-Identifier: GPL-2.0
/*
 * trappath.c: the functions from which no breakpoint leads to our handler, and
 * that kprobes does not know of.
 *
 * Those of the path run between a breakpoint and us, or after us on the way back;
 * kprobes is called earlier than we are. A probe in one of them would hit itself until the
 * stack is full. Found by walking all calls from exc_int3 in the disassembly of each
 * supported kernel, without what is in its kprobe blacklist and what only runs when the
 * trap is nobody's.
 *
 * The others run where nobody catches a trap. Found by arming them, and all around
 * them, while a processor went and came back (a triple fault says which), by reading
 * what is called before load_current_idt() there, and by sweeping over all functions of
 * each kernel. What a suspend comes back through is read, not tried.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "trappath.h"

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

bool kinst_is_trap_path(const char *name)
{
	if (kinst_is_listed(kinst_trap_path_names, ARRAY_SIZE(kinst_trap_path_names), name))
		return true;
	/* Thunks that compilers and alternatives put in the place of returns and indirect calls, everywhere. */
	return strstarts(name, "__x86_indirect_") || strstarts(name, "__x86_return_") || strstr(name, "return_thunk") ||
	       strstarts(name, "srso_") || strstarts(name, "retbleed_") || strstarts(name, "zen_untrain_ret");
}
