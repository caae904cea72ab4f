//! sites/listing/verdict.rs: determines from the kernel's file which instructions of a function can be traced.

use crate::code::decode::{self, Insn};
use crate::code::refusal::{Refusal, overlap};
use crate::code::tables::Rewriting;
use crate::image::Image;
use crate::symtab::Symbol;
use kinst_base::machine::Machine;

/// Properties of one instruction according to the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why it cannot be traced; `None` if it can.
    pub refused: Option<Refusal>,
    /// Set if the kernel rewrites it at boot.
    pub rewritten: Option<Rewriting>,
    /// Whether it is ftrace's call or precedes it: it is then traced through ftrace.
    pub fentry: bool,
}

impl Image<'_> {
    /// Returns one verdict for each instruction of the function.
    pub(crate) fn verdicts(self, symbol: &Symbol, insns: &[Insn]) -> Vec<Verdict> {
        let name = self.symbols().map(|symbols| symbols.name(symbol)).unwrap_or_default();
        let tables = self.tables();
        let start = self.in_code(symbol.address).map_or(symbol.address, |(_, address)| address);
        let machine = insns.first().map_or_else(Machine::default, |insn| insn.machine);
        let whole = self.whole(symbol, name, start, machine);
        let code: Vec<u8> = insns.iter().flat_map(|insn| insn.bytes.iter().copied()).collect();
        let set = decode::of(machine);
        let around = start.saturating_sub(set.ftrace_before())..start.saturating_add(symbol.size.max(1));
        let fentry = tables.fentry(around).map(|listed| set.ftrace_site(&code, start, listed));
        let judge = |insn: &Insn| {
            let at = start.saturating_add(insn.offset.into());
            let covered = at..at.saturating_add(insn.len.into());
            let rewritten = tables.rewriting(&covered);
            if whole.is_some() {
                return Verdict { refused: whole, rewritten, fentry: false };
            }
            // The module has ftrace report the hit at its site, and at the endbr64 before it.
            let site = fentry.as_ref().map(|site| site.start).filter(|_| machine.facts().has_module);
            if site == Some(at) || site == Some(covered.end) && insn.offset == 0 {
                return Verdict { fentry: true, ..Verdict::default() };
            }
            let rest = code.get(insn.offset as usize..).unwrap_or(&insn.bytes);
            let class = set.refusal(rest, at).filter(|refusal| *refusal != Refusal::Endbr);
            let refused = class.or_else(|| {
                let of_ftrace = fentry.as_ref().is_some_and(|site| overlap(&covered, site));
                if of_ftrace { Some(Refusal::Ftrace) } else { tables.refusal(&covered) }
            });
            Verdict { refused, rewritten, fentry: false }
        };
        insns.iter().map(judge).collect()
    }

    /// Returns why nothing of the function can be traced.
    fn whole(self, symbol: &Symbol, name: &str, start: u64, machine: Machine) -> Option<Refusal> {
        let tables = self.tables();
        let of_module = machine.facts().has_module;
        // A compiler-made copy or part is blacklisted together with the function.
        let listed = |address: u64| tables.is_blacklisted(address);
        let origin = name.split_once('.').filter(|_| !listed(start)).and_then(|(origin, _)| {
            let symbol = **self.symbols()?.named(origin).first()?;
            self.in_code(symbol.address).map(|(_, address)| address)
        });
        let last = start.saturating_add(symbol.size.saturating_sub(1));
        if symbol.gone() {
            Some(Refusal::Init)
        } else if of_module && is_trap_path(name) {
            Some(Refusal::TrapPath)
        } else if of_module && is_listed(NO_TRAP, name) {
            Some(Refusal::NoTrap)
        } else if listed(start) || listed(last) || origin.is_some_and(listed) {
            Some(Refusal::Blacklist)
        } else if tables.is_static_call(start) || name.starts_with("__SCT__") || name.starts_with("__SCK__") {
            Some(Refusal::StaticCall)
        } else if name.starts_with("bpf_dispatcher_") {
            Some(Refusal::Foreign)
        } else {
            None
        }
    }
}

/// A copy of the list in kmod/arch/x86/trappath.c, which explains how the names were determined.
const TRAP_PATH: &[&str] = &[
    "asm_exc_int3",
    "exc_int3",
    "do_int3",
    "do_int3_user",
    "poke_int3_handler",
    "irqentry_nmi_enter",
    "irqentry_nmi_exit",
    "trace_hwlat_callback",
    "trace_osnoise_callback",
    "kgdb_ll_trap",
    "kprobe_int3_handler",
    "get_kprobe",
    "kprobe_exceptions_notify",
    "notify_die",
    "atomic_notifier_call_chain",
    "notifier_call_chain",
    "hw_breakpoint_exceptions_notify",
    "arch_uprobe_exception_notify",
    "__rcu_read_lock",
    "__rcu_read_unlock",
    "rcu_read_unlock_special",
    "rcu_lockdep_current_cpu_online",
    "rcu_is_watching",
    "debug_lockdep_rcu_enabled",
    "rcu_read_lock_held",
    "__fentry__",
    "ftrace_caller",
    "ftrace_regs_caller",
    "ftrace_call",
    "ftrace_regs_call",
    "ftrace_stub",
    "ftrace_stub_direct_tramp",
    "arch_ftrace_ops_list_func",
    "ftrace_ops_list_func",
    "ftrace_ops_assist_func",
    "ftrace_ops_test",
    "function_trace_call",
    "function_stack_trace_call",
    "function_no_repeats_trace_call",
    "function_stack_no_repeats_trace_call",
    "ftrace_graph_caller",
    "ftrace_graph_call",
    "ftrace_graph_func",
    "prepare_ftrace_return",
    "function_graph_enter",
    "function_graph_enter_regs",
    "return_to_handler",
    "ftrace_return_to_handler",
    "fprobe_handler",
    "fprobe_kprobe_handler",
    "fprobe_entry",
    "fprobe_ftrace_entry",
    "kprobe_ftrace_handler",
    "klp_ftrace_handler",
    "rethook_trampoline_handler",
    "arch_rethook_trampoline",
    "fred_entry_from_kernel",
    "fred_hwexc",
    "fred_exc",
];

/// A copy of the list in kmod/arch/x86/trappath.c.
const NO_TRAP: &[&str] = &[
    "secondary_startup_64",
    "secondary_startup_64_no_verify",
    "common_startup_64",
    "verify_cpu",
    "sev_verify_cbit",
    "startup_64_load_idt",
    "early_setup_idt",
    "set_bringup_idt_handler",
    "start_secondary",
    "cr4_init",
    "cpu_init_exception_handling",
    "native_load_tr_desc",
    "native_write_cr4",
    "native_write_msr",
    "native_write_gdt_entry",
    "cpu_init_secondary",
    "cr4_set_bits",
    "cr4_update_irqsoff",
    "setup_ghcb",
    "cc_platform_has",
    "memset",
    "__memset",
    "memset_erms",
    "memset_orig",
    "load_current_idt",
    "native_write_cr0",
    "native_write_cr3",
    "do_trace_write_msr",
    "load_percpu_segment",
    "wakeup_long64",
    "do_suspend_lowlevel",
    "restore_processor_state",
    "restore_registers",
    "restore_image",
    "core_restore_code",
    "machine_kexec",
    "idt_invalidate",
    "native_idt_invalidate",
    "gdt_invalidate",
    "native_gdt_invalidate",
    "ftrace_caller_op_ptr",
    "ftrace_caller_end",
    "ftrace_regs_caller_op_ptr",
    "ftrace_regs_caller_jmp",
    "ftrace_regs_caller_end",
    "relocate_kernel",
    "relocate_range",
    "identity_mapped",
    "virtual_mapped",
    "swap_pages",
];

/// Whether a list has the name, without the suffix of a compiler-made copy or part.
fn is_listed(list: &[&str], name: &str) -> bool {
    list.contains(&name.split('.').next().unwrap_or(name))
}

fn is_trap_path(name: &str) -> bool {
    is_listed(TRAP_PATH, name)
        || ["__x86_indirect_", "__x86_return_", "srso_", "retbleed_", "zen_untrain_ret"]
            .iter()
            .any(|thunk| name.starts_with(thunk))
        || name.contains("return_thunk")
}

#[cfg(test)]
mod tests {
    use super::{NO_TRAP, TRAP_PATH, is_trap_path};

    #[test]
    fn the_lists_are_those_of_the_module() {
        assert_eq!(module_list("kinst_arch_no_trap"), NO_TRAP);
        assert_eq!(module_list("kinst_arch_trap_path"), TRAP_PATH);
        for name in ["exc_int3", "notify_die.cold", "__x86_return_thunk", "its_return_thunk", "srso_safe_ret"]
        {
            assert!(is_trap_path(name), "{name}");
        }
        assert!(!is_trap_path("vfs_read"));
    }

    fn module_list(list: &str) -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kmod/arch/x86/trappath.c");
        let text = std::fs::read_to_string(path).expect("the module's list");
        let text = text.split_once(&format!("{list}[] = {{")).expect("a list").1;
        let text = text.split_once("};").expect("its end").0;
        text.split('"').skip(1).step_by(2).map(Into::into).collect()
    }
}
