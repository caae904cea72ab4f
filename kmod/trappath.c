// SPDX-License-Identifier: GPL-2.0
/*
 * trappath.c: the functions that run between a breakpoint and our handler, or
 * after it on the way back, and that kprobes does not know of: it is called
 * earlier than we are. A probe in one of them would hit itself until the stack
 * is full.
 *
 * Found by walking all calls from exc_int3 in the disassembly of each supported
 * kernel, without what is in its kprobe blacklist and what only runs when the
 * trap is nobody's.
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
	/* the last of this kernel: the segments and the table of traps are gone when it hands over to the next */
	"machine_kexec", "relocate_kernel",
};

/* By name without what a compiler adds for a copy or a part (.cold, .isra.0). */
bool kinst_is_trap_path(const char *name)
{
	size_t len = strcspn(name, ".");
	int i;

	for (i = 0; i < ARRAY_SIZE(kinst_trap_path_names); i++) {
		const char *listed = kinst_trap_path_names[i];

		if (strlen(listed) == len && !strncmp(listed, name, len))
			return true;
	}
	/* Thunks that compilers and alternatives put in the place of returns and indirect calls, everywhere. */
	return strstarts(name, "__x86_indirect_") || strstarts(name, "__x86_return_") || strstr(name, "return_thunk") ||
	       strstarts(name, "srso_") || strstarts(name, "retbleed_") || strstarts(name, "zen_untrain_ret");
}
