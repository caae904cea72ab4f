//! bpf/needs.rs: a program's requirements on the running kernel, except memory.

use super::tuple;
use kinst_dif::action::Ustack;
use kinst_dif::insn::{Builtin, Insn, Opcode, Subr};
use kinst_dif::{Action, ActionKind, Clause, Difo, Program};

/// Facts about the kernel that programs need before they can be generated or run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Structures of processes.
    pub tasks: bool,
    /// Registers of a process, from its task: for uregs[] and copies of stacks, except at places in programs.
    pub registers: bool,
    /// Structures of mutexes and semaphores.
    pub locks: bool,
    /// Structures of paths and mounts.
    pub paths: bool,
    /// Whether a hit is in an interrupt: for thread-local variables and `ipl`.
    pub interrupts: bool,
    /// `interrupts` is needed for `ipl`.
    pub ipl: bool,
    /// A stack of the kernel at a tracepoint, BEGIN or END.
    pub stacks: bool,
    /// The scheduler's clock.
    pub clock: bool,
    /// The time of a hit: for `timestamp`, records without data, and decisions on a speculation's records.
    pub time: bool,
    /// The probe's names and id.
    pub names: bool,
}

/// Whether a clause uses the kernel stack or the caller.
pub fn walks(program: &Program, clause: usize) -> bool {
    let asks = |difo: &Difo| {
        let mut needs = Needs::default();
        insns(difo).for_each(|insn| needs.insn(insn));
        needs.stacks
    };
    let stack = |clause: &Clause| clause.actions.iter().any(|action| action.kind == ActionKind::Stack);
    any_object(program, clause, asks) || program.clauses.get(clause).is_some_and(stack)
}

/// Whether a clause reads the kernel's registers.
pub fn reads_registers(program: &Program, clause: usize) -> bool {
    let is_registers = |insn: Insn| match insn {
        Insn::Array { var, .. } => Builtin::from_number(var.into()) == Some(Builtin::Regs),
        _ => false,
    };
    any_object(program, clause, |difo| insns(difo).any(is_registers))
}

/// Whether a clause reads the process's registers, or copies its stack.
pub fn reads_process(program: &Program, clause: usize) -> bool {
    let asks = |difo: &Difo| {
        let mut needs = Needs::default();
        insns(difo).for_each(|insn| needs.insn(insn));
        needs.registers
    };
    let copies = |clause: &Clause| clause.actions.iter().any(copies_stack);
    any_object(program, clause, asks) || program.clauses.get(clause).is_some_and(copies)
}

fn copies_stack(action: &Action) -> bool {
    action.kind == ActionKind::Ustack && Ustack::unpack(action.arg).copied > 0
}

/// The part of a hit's state that a clause can observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observed {
    /// Nothing: the hit is only counted.
    Count,
    /// Neither the registers nor the memory of the process.
    Time,
    /// Arguments, or the memory of the process.
    State,
    /// Registers or a stack, and so the place itself.
    Place,
}

/// Returns the part of a hit's state, in a program, that a clause can observe.
pub fn observed(program: &Program, clause: usize) -> Observed {
    let Some(source) = program.clauses.get(clause) else { return Observed::Place };
    let counts =
        |action: &Action| action.kind == ActionKind::Count && action.difo.is_none() && action.ntuple == 0;
    if !source.record && source.predicate.is_none() && source.actions.iter().all(counts) {
        return Observed::Count;
    }
    let walks = |action: &Action| matches!(action.kind, ActionKind::Ustack | ActionKind::Stack);
    if source.actions.iter().any(walks) {
        return Observed::Place;
    }
    let most = std::cell::Cell::new(Observed::Time);
    let note = |difo: &Difo| {
        most.set(insns(difo).map(observed_by).fold(most.get(), Observed::max));
        false
    };
    any_object(program, clause, note);
    most.get()
}

fn observed_by(insn: Insn) -> Observed {
    let variable = |number: u32| match Builtin::from_number(number) {
        Some(Builtin::Regs | Builtin::Uregs | Builtin::Ucaller | Builtin::Ustackdepth) => Observed::Place,
        Some(Builtin::Caller | Builtin::Stackdepth) => Observed::Place,
        Some(builtin) if (Builtin::Arg0.number()..=Builtin::Arg9.number()).contains(&builtin.number()) => {
            Observed::State
        }
        Some(Builtin::Args) => Observed::State,
        _ => Observed::Time,
    };
    match insn {
        Insn::LoadVar { op: Opcode::Ldgs, var, .. } => variable(var.into()),
        Insn::Array { var, .. } => variable(var.into()),
        // A load from the kernel may follow a pointer that the program has handed over.
        Insn::Load { .. } => Observed::State,
        Insn::Call { subr, .. } => match Subr::from_number(subr.into()) {
            Some(Subr::Copyin | Subr::Copyinstr | Subr::Copyinto) => Observed::State,
            _ => Observed::Time,
        },
        _ => Observed::Time,
    }
}

/// Whether a clause may use its probe's first argument.
pub fn reads_first_argument(program: &Program, clause: usize) -> bool {
    let asks = |difo: &Difo| {
        // An unknown index may be 0.
        let indices = tuple::stacks(difo).map(|stacks| stacks.indices).unwrap_or_default();
        let words = difo.insns.iter().enumerate();
        words.filter_map(|(at, word)| Some((at, Insn::decode(*word).ok()?))).any(|(at, insn)| match insn {
            Insn::LoadVar { op: Opcode::Ldgs, var, .. } => {
                Builtin::from_number(var.into()) == Some(Builtin::Arg0)
            }
            Insn::Array { var, .. } => {
                let index = indices.get(at).copied().flatten();
                Builtin::from_number(var.into()) == Some(Builtin::Args)
                    && index.is_none_or(|index| index == 0)
            }
            _ => false,
        })
    };
    any_object(program, clause, asks)
}

fn insns(difo: &Difo) -> impl Iterator<Item = Insn> {
    difo.insns.iter().filter_map(|word| Insn::decode(*word).ok())
}

/// Whether a predicate holds for an object of a clause.
fn any_object(program: &Program, clause: usize, is: impl Fn(&Difo) -> bool) -> bool {
    let is = |difo: &u32| program.difos.get(*difo as usize).is_some_and(&is);
    program.clauses.get(clause).is_some_and(|clause| {
        let values = |action: &Action| action.difo.iter().chain(&action.incr).any(is);
        clause.predicate.iter().any(is) || clause.actions.iter().any(values)
    })
}

impl Needs {
    /// Returns the needs of all instructions and actions of a program.
    pub fn of(program: &Program) -> Needs {
        use ActionKind as K;
        let mut needs = Needs::default();
        let words = program.difos.iter().flat_map(|difo| &difo.insns);
        words.filter_map(|word| Insn::decode(*word).ok()).for_each(|insn| needs.insn(insn));
        for action in program.clauses.iter().flat_map(|clause| &clause.actions) {
            needs.registers |= copies_stack(action);
            needs.stacks |= action.kind == K::Stack;
            needs.time |= matches!(action.kind, K::Speculate | K::Commit | K::Discard);
        }
        needs.time |= program.clauses.iter().any(|clause| clause.record);
        needs
    }

    /// Whether the kernel's types have to be read.
    pub fn types(self) -> bool {
        let Needs { tasks, registers, locks, paths, interrupts, clock, .. } = self;
        tasks || registers || locks || paths || interrupts || clock
    }

    /// Whether the count of interrupts is the only need, and an optional one.
    pub fn only_interrupts(self) -> bool {
        Needs { stacks: false, time: false, names: false, ..self }
            == Needs { interrupts: true, ..Needs::default() }
    }

    fn insn(&mut self, insn: Insn) {
        use Opcode as O;
        match insn {
            Insn::LoadVar { op: O::Ldgs, var, .. } => match Builtin::from_number(var.into()) {
                Some(Builtin::Ppid | Builtin::Execargs) => self.tasks = true,
                Some(Builtin::Ipl) => (self.interrupts, self.ipl) = (true, true),
                Some(Builtin::Caller | Builtin::Stackdepth) => self.stacks = true,
                Some(Builtin::Vtimestamp) => self.clock = true,
                Some(Builtin::Timestamp) => self.time = true,
                Some(
                    Builtin::Probeprov
                    | Builtin::Probemod
                    | Builtin::Probefunc
                    | Builtin::Probename
                    | Builtin::Inlinefunc
                    | Builtin::Id,
                ) => self.names = true,
                #[rustfmt::skip]
                Some(
                    Builtin::Args | Builtin::Regs | Builtin::Uregs | Builtin::Curthread | Builtin::Epid | Builtin::Arg0
                    | Builtin::Arg1 | Builtin::Arg2 | Builtin::Arg3 | Builtin::Arg4 | Builtin::Arg5 | Builtin::Arg6
                    | Builtin::Arg7 | Builtin::Arg8 | Builtin::Arg9 | Builtin::Pid | Builtin::Tid | Builtin::Execname
                    | Builtin::Zonename | Builtin::Walltimestamp | Builtin::Ustackdepth | Builtin::Ucaller
                    | Builtin::Uid | Builtin::Gid | Builtin::Errno | Builtin::Jid | Builtin::Jailname | Builtin::Cpu,
                )
                | None => {}
            },
            Insn::LoadVar { op: O::Ldts | O::Ldtaa, .. } | Insn::StoreVar { op: O::Stts | O::Sttaa, .. } => {
                self.interrupts = true;
            }
            Insn::Array { var, .. } => {
                self.registers |= Builtin::from_number(var.into()) == Some(Builtin::Uregs);
            }
            Insn::Call { subr, .. } => match Subr::from_number(subr.into()) {
                Some(Subr::Progenyof) => self.tasks = true,
                Some(Subr::DPath) => self.paths = true,
                Some(
                    Subr::MutexOwned
                    | Subr::MutexOwner
                    | Subr::RwReadHeld
                    | Subr::RwWriteHeld
                    | Subr::RwIswriter,
                ) => self.locks = true,
                #[rustfmt::skip]
                Some(
                    Subr::Rand | Subr::MutexTypeAdaptive | Subr::MutexTypeSpin | Subr::Copyin | Subr::Copyinstr
                    | Subr::Speculation | Subr::Strlen | Subr::Copyout | Subr::Copyoutstr | Subr::Alloca | Subr::Bcopy
                    | Subr::Copyinto | Subr::Msgdsize | Subr::Msgsize | Subr::Getmajor | Subr::Getminor
                    | Subr::DdiPathname | Subr::Strjoin | Subr::Lltostr | Subr::Basename | Subr::Dirname
                    | Subr::Cleanpath | Subr::Strchr | Subr::Strrchr | Subr::Strstr | Subr::Strtok | Subr::Substr
                    | Subr::Index | Subr::Rindex | Subr::Htons | Subr::Htonl | Subr::Htonll | Subr::Ntohs | Subr::Ntohl
                    | Subr::Ntohll | Subr::InetNtop | Subr::InetNtoa | Subr::InetNtoa6 | Subr::Toupper | Subr::Tolower
                    | Subr::Memref | Subr::SxSharedHeld | Subr::SxExclusiveHeld | Subr::SxIsexclusive | Subr::Memstr
                    | Subr::Getf | Subr::Json | Subr::Strtoll | Subr::LinkNtop,
                )
                | None => {}
            },
            _ => {}
        }
    }
}
