//! bpf/support.rs: the D actions, variables and subroutines that BPF supports, and why it does not support the others.

use kinst_dif::ActionKind;
use kinst_dif::insn::{Builtin, Subr};

/// The support for an action, variable or subroutine in BPF programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Fully supported.
    Whole,
    /// Supported except for this.
    Except(&'static str),
    /// Supported only by the module, for this reason.
    Without(&'static str),
    /// Not supported by any DTrace for Linux.
    Nowhere,
}

/// A copy to a process is refused where the kernel does not permit one.
pub const COPYOUT: &str = "copyout() in an interrupt or at an instruction";
/// An element of registers is refused if its index is known only at run time.
pub const REGISTERS: &str = "regs[] with a variable index";

/// Returns the support for an action.
#[rustfmt::skip]
pub fn action(kind: ActionKind) -> Support {
    use ActionKind as A;
    match kind {
        A::DifExpr | A::Exit | A::Printf | A::Printa | A::Libact | A::Tracemem | A::TracememDyn | A::Printm | A::Usym
        | A::Umod | A::Uaddr | A::Stop | A::Raise | A::System | A::Freopen | A::Stack | A::Ustack | A::Sym | A::Mod | A::Speculate
        | A::Commit | A::Discard | A::Count | A::Min | A::Max | A::Avg | A::Sum | A::Stddev | A::Quantize
        | A::Lquantize | A::Llquantize => Support::Whole,
        A::Breakpoint => Support::Without("no helper function enters the kernel's debugger"),
        A::Panic => Support::Without("no helper function stops the machine"),
        A::Chill => Support::Without("the kernel's verifier does not accept such a long loop"),
    }
}

/// Returns the support for a built-in variable.
#[rustfmt::skip]
pub fn builtin(builtin: Builtin) -> Support {
    use Builtin as B;
    match builtin {
        B::Args | B::Curthread | B::Timestamp | B::Vtimestamp | B::Epid | B::Id | B::Arg0 | B::Arg1 | B::Arg2 | B::Arg3
        | B::Arg4 | B::Arg5 | B::Arg6 | B::Arg7 | B::Arg8 | B::Arg9 | B::Stackdepth | B::Caller | B::Probeprov
        | B::Probemod | B::Probefunc | B::Probename | B::Pid | B::Tid | B::Execname | B::Zonename | B::Walltimestamp
        | B::Ustackdepth | B::Ucaller | B::Ppid | B::Uid | B::Gid | B::Errno | B::Execargs | B::Inlinefunc
        | B::Cpu => Support::Whole,
        B::Regs | B::Uregs => Support::Except(REGISTERS),
        B::Ipl => Support::Except("kernels that do not show where they count interrupts"),
        B::Jid | B::Jailname => Support::Nowhere,
    }
}

/// Returns the support for a subroutine.
#[rustfmt::skip]
pub fn subroutine(subr: Subr) -> Support {
    use Subr as S;
    match subr {
        S::Rand | S::MutexOwned | S::MutexOwner | S::MutexTypeAdaptive | S::MutexTypeSpin | S::RwReadHeld
        | S::RwWriteHeld | S::RwIswriter | S::Copyin | S::Copyinstr | S::Speculation | S::Progenyof | S::Strlen
        | S::Alloca | S::Bcopy | S::Copyinto | S::Getmajor | S::Getminor | S::Strjoin | S::Lltostr | S::Basename
        | S::Dirname | S::Cleanpath | S::Strchr | S::Strrchr | S::Strstr | S::Strtok | S::Substr | S::Index | S::Rindex
        | S::Htons | S::Htonl | S::Htonll | S::Ntohs | S::Ntohl | S::Ntohll | S::InetNtop | S::InetNtoa | S::InetNtoa6
        | S::Toupper | S::Tolower | S::Memref | S::Memstr | S::Json | S::Strtoll | S::DPath
        | S::LinkNtop => Support::Whole,
        S::Copyout | S::Copyoutstr => Support::Except(COPYOUT),
        S::Msgdsize | S::Msgsize | S::DdiPathname | S::SxSharedHeld | S::SxExclusiveHeld | S::SxIsexclusive
        | S::Getf => Support::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::Assembler;
    use crate::library::Functions;
    use crate::memory::{Memory, Sizes};
    use crate::missing::Missing;
    use crate::object::{Object, ProbeKind, Shared};
    use crate::program::Refusal;
    use crate::{Found, Image, Unable};
    use kinst_base::probe::{Fields, Place, Probe};
    use kinst_dif::enabled::Enabled;
    use kinst_dif::insn::{Insn, Opcode};
    use kinst_dif::{Action, Clause, Difo, Options, Program};
    use std::collections::BTreeSet;

    fn is_there(support: Support) -> bool {
        matches!(support, Support::Whole | Support::Except(_))
    }

    /// All names without full support, with the reason.
    fn lines() -> Vec<String> {
        let actions =
            ActionKind::ALL.iter().map(|kind| (format!("{kind:?}").to_ascii_lowercase(), action(*kind)));
        let variables = Builtin::ALL.iter().map(|known| (known.name().to_owned(), builtin(*known)));
        let subroutines = Subr::ALL.iter().map(|known| (known.name().to_owned(), subroutine(*known)));
        let line = |(name, support)| match support {
            Support::Whole => None,
            Support::Except(what) => Some(format!("{name}: yes, except {what}")),
            Support::Without(why) => Some(format!("{name}: no: {why}")),
            Support::Nowhere => Some(format!("{name}: no, nor with the module")),
        };
        actions.chain(variables).chain(subroutines).filter_map(line).collect()
    }

    #[test]
    fn what_is_not_whole_without_the_module() {
        assert_eq!(
            lines(),
            [
                "breakpoint: no: no helper function enters the kernel's debugger",
                "panic: no: no helper function stops the machine",
                "chill: no: the kernel's verifier does not accept such a long loop",
                "regs: yes, except regs[] with a variable index",
                "uregs: yes, except regs[] with a variable index",
                "ipl: yes, except kernels that do not show where they count interrupts",
                "jid: no, nor with the module",
                "jailname: no, nor with the module",
                "copyout: yes, except copyout() in an interrupt or at an instruction",
                "copyoutstr: yes, except copyout() in an interrupt or at an instruction",
                "msgdsize: no, nor with the module",
                "msgsize: no, nor with the module",
                "ddi_pathname: no, nor with the module",
                "sx_shared_held: no, nor with the module",
                "sx_exclusive_held: no, nor with the module",
                "sx_isexclusive: no, nor with the module",
                "getf: no, nor with the module",
            ]
        );
    }

    /// The guide's page names everything that is missing, and nothing that is supported.
    #[test]
    fn the_page_of_limits_agrees() {
        let page = include_str!("../../../docs/guide/src/limits.md");
        let (_, rest) =
            page.split_once("is refused by name before anything is armed: ").expect("the sentence");
        let (sentence, _) = rest.split_once('.').expect("its end");
        let named: BTreeSet<&str> =
            sentence.split('`').skip(1).step_by(2).filter_map(|name| name.strip_suffix("()")).collect();
        let all = lines();
        let of = |is: &str| {
            let line =
                |line: &'_ String| line.split_once(": ").is_some_and(|(_, support)| support.starts_with(is));
            let lines = all.iter().filter(move |text| line(text));
            lines.filter_map(|line| Some(line.split_once(':')?.0)).collect::<BTreeSet<&str>>()
        };
        let (missing, partly) = (of("no: "), of("yes, except"));
        assert_eq!(missing.difference(&named).count(), 0, "{named:?} lacks some of {missing:?}");
        let listed = &missing | &partly;
        assert_eq!(named.difference(&listed).count(), 0, "{named:?} has what is not in {listed:?}");
    }

    /// Returns the error of one object at a function's entry. The constant 0 is in %r1.
    fn object(insns: &[Insn]) -> Option<Missing> {
        let mut words = vec![Insn::Int { index: 0, rd: 1 }.encode()];
        words.extend(insns.iter().map(|insn| insn.encode()));
        words.push(Insn::Ret { rd: 1 }.encode());
        let difo = Difo { insns: words, ints: vec![0], ..Difo::default() };
        let program = Program { difos: vec![difo.clone()], ..Program::default() };
        let memory = Memory::new(&program, &Options::default(), Sizes::default()).expect("memory");
        let mut asm = Assembler::default();
        let start = asm.label();
        let (probe, functions) = (ProbeKind::Entry, &Functions::default());
        let shared = Shared { memory: &memory, probe, context: probe, functions };
        Object::write(&mut asm, &shared, start, 0, &difo).err()
    }

    #[test]
    fn objects_have_what_they_are_said_to_have() {
        for known in Builtin::ALL {
            let var = known.number() as u16;
            let insn = match known {
                Builtin::Args | Builtin::Regs | Builtin::Uregs => {
                    Insn::Array { op: Opcode::Ldga, var: var as u8, index: 1, rd: 1 }
                }
                _ => Insn::LoadVar { op: Opcode::Ldgs, var, rd: 1 },
            };
            let expected = (!is_there(builtin(*known))).then_some(Missing::Builtin(*known));
            assert_eq!(object(&[insn]), expected, "{}", known.name());
        }
        for known in Subr::ALL {
            let push = Insn::PushVal { ty: 0, size: 0, rs: 1 };
            let call = Insn::Call { subr: *known as u16, rd: 1 };
            let expected = (!is_there(subroutine(*known))).then_some(Missing::Subroutine(*known));
            assert_eq!(object(&[push, push, push, call]), expected, "{}", known.name());
        }
    }

    #[test]
    fn programs_have_the_actions_that_they_are_said_to_have() {
        let insns = vec![Insn::Int { index: 0, rd: 1 }.encode(), Insn::Ret { rd: 1 }.encode()];
        let rtype = kinst_dif::Type { size: 8, ..kinst_dif::Type::default() };
        let difo = Difo { insns, ints: vec![0], rtype, ..Difo::default() };
        for kind in ActionKind::ALL {
            let value = kind.takes() != kinst_dif::action::Takes::Nothing;
            let action_of =
                Action { kind: *kind, difo: value.then_some(0), ntuple: 0, incr: None, agg: 1, arg: 0 };
            let clause = Clause {
                probes: vec![],
                predicate: None,
                actions: vec![action_of],
                statements: vec![],
                record: true,
                part: false,
            };
            let program = Program { difos: vec![difo.clone()], clauses: vec![clause], ..Program::default() };
            let begin = Probe { id: 1, place: Place::Begin, name: Fields::new("dtrace", "", "", "BEGIN") };
            let enabled = Enabled { probes: vec![begin], ecbs: vec![(0, 0).into()] };
            let found = Found { spots: vec![Some(Vec::new())], ..Found::default() };
            let refused = match Image::new(&program, &enabled, &Options::default(), &found) {
                Err(Unable::Clauses { why: Refusal::Missing(Missing::Action(refused)), .. }) => Some(refused),
                _ => None,
            };
            assert_eq!(refused, (!is_there(action(*kind))).then_some(*kind), "{kind:?}");
        }
    }
}
