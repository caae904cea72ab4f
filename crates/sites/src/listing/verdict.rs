//! sites/listing/verdict.rs: determines from the kernel's file which instructions of a function can be traced.

use crate::code::decode::{self, Insn, Unhandled};
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
        let uninterrupted = set.uninterrupted(&code);
        let judge = |(index, insn): (usize, &Insn)| {
            let at = start.saturating_add(insn.offset.into());
            let covered = at..at.saturating_add(insn.len.into());
            let rewritten = tables.rewriting(&covered);
            if whole.is_some() {
                return Verdict { refused: whole, rewritten, fentry: false };
            }
            // The module has ftrace report the hit at its site, and at the endbr64 before it.
            let site = fentry.as_ref().map(|site| site.start).filter(|_| machine.facts().has_ftrace_hits);
            if site == Some(at) || site == Some(covered.end) && insn.offset == 0 {
                return Verdict { fentry: true, ..Verdict::default() };
            }
            let rest = code.get(insn.offset as usize..).unwrap_or(&insn.bytes);
            let class = set.refusal(rest, at).filter(|refusal| *refusal != Refusal::Endbr);
            let in_sequence = || uninterrupted.contains(&index).then_some(Refusal::Exclusive);
            let refused = class.or_else(in_sequence).or_else(|| {
                let of_ftrace = fentry.as_ref().is_some_and(|site| overlap(&covered, site));
                if of_ftrace { Some(Refusal::Ftrace) } else { tables.refusal(&covered) }
            });
            Verdict { refused, rewritten, fentry: false }
        };
        insns.iter().enumerate().map(judge).collect()
    }

    /// Returns why nothing of the function can be traced.
    fn whole(self, symbol: &Symbol, name: &str, start: u64, machine: Machine) -> Option<Refusal> {
        let tables = self.tables();
        let (of_module, unhandled) = (machine.facts().has_module, decode::of(machine).unhandled());
        // A compiler-made copy or part is blacklisted together with the function.
        let listed = |address: u64| tables.is_blacklisted(address);
        let origin = name.split_once('.').filter(|_| !listed(start)).and_then(|(origin, _)| {
            let symbol = **self.symbols()?.named(origin).first()?;
            self.in_code(symbol.address).map(|(_, address)| address)
        });
        let last = start.saturating_add(symbol.size.saturating_sub(1));
        if symbol.gone() {
            Some(Refusal::Init)
        } else if of_module && is_trap_path(unhandled, name) {
            Some(Refusal::TrapPath)
        } else if of_module && has_no_trap(unhandled, name) {
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

/// Whether a list has the name, without the suffix of a compiler-made copy or part.
fn is_listed(list: &[&str], name: &str) -> bool {
    list.contains(&name.split('.').next().unwrap_or(name))
}

/// Whether a function runs between a breakpoint and the module's handler.
fn is_trap_path(unhandled: &Unhandled, name: &str) -> bool {
    is_listed(unhandled.trap_path, name) || unhandled.thunks.iter().any(|thunk| thunk.names(name))
}

/// Whether a function runs while no trap is handled.
fn has_no_trap(unhandled: &Unhandled, name: &str) -> bool {
    is_listed(unhandled.no_trap, name) || unhandled.no_trap_names.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::is_trap_path;
    use crate::code::decode;
    use kinst_base::machine::Machine;

    #[test]
    fn the_lists_are_those_of_the_module() {
        for (machine, folder) in [(Machine::X86_64, "x86"), (Machine::Aarch64, "arm64")] {
            let unhandled = decode::of(machine).unhandled();
            assert_eq!(module_list(folder, "kinst_arch_no_trap"), unhandled.no_trap);
            assert_eq!(module_list(folder, "kinst_arch_no_trap_names"), unhandled.no_trap_names);
            assert_eq!(module_list(folder, "kinst_arch_trap_path"), unhandled.trap_path);
        }
        let of_x86 = decode::of(Machine::X86_64).unhandled();
        for name in ["exc_int3", "notify_die.cold", "__x86_return_thunk", "its_return_thunk", "srso_safe_ret"]
        {
            assert!(is_trap_path(of_x86, name), "{name}");
        }
        assert!(!is_trap_path(of_x86, "vfs_read"));
    }

    fn module_list(folder: &str, list: &str) -> Vec<String> {
        let kmod = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kmod/arch");
        let text = std::fs::read_to_string(format!("{kmod}/{folder}/trappath.c")).expect("the module's list");
        let text = text.split_once(&format!("{list}[] = {{")).expect("a list").1;
        let text = text.split_once("};").expect("its end").0;
        text.split('"').skip(1).step_by(2).map(Into::into).collect()
    }
}
