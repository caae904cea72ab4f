//! backend/bpf/kernel.rs: facts about the running kernel for programs, from its BTF.

use super::clock::Variables;
use super::error::TypesError;
use kinst_bpf::kernel::{Interrupts, Layout, Locks, Paths, TRACE_ARGUMENTS, Times};
use kinst_bpf::machine::Machine;
use kinst_sites::Spots;
use kinst_types::TagKind;
use kinst_types::btf::Btf;
use kinst_types::{Member, Type};
use std::path::Path;
use std::sync::{Arc, OnceLock};

const FILE: &str = "/sys/kernel/btf/vmlinux";
const DIRECTORY: &str = "/sys/kernel/btf";

/// The reason why a function cannot have a trampoline, according to its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TrampolineError {
    #[error("the kernel's types (BTF) do not have it")]
    NoTypes,
    #[error("it returns a structure")]
    ReturnsStructure,
    #[error("it takes a structure")]
    TakesStructure,
    #[error("it has more arguments than registers hold")]
    ManyArguments,
}

/// The kernel's types.
#[derive(Debug)]
pub(super) struct Types(Arc<Btf>);

impl Types {
    /// Returns the types of the running kernel, which are read once.
    pub(super) fn get() -> Result<&'static Types, TypesError> {
        static TYPES: OnceLock<Result<Types, TypesError>> = OnceLock::new();
        TYPES.get_or_init(Types::read).as_ref().map_err(TypesError::clone)
    }

    fn read() -> Result<Types, TypesError> {
        let bytes = std::fs::read(FILE).map_err(|_| TypesError::NoBtf)?;
        let parsed = Btf::parse(bytes, None, 0).map_err(|_| TypesError::Damaged(FILE))?;
        Ok(Types(Arc::new(parsed)))
    }

    /// The types of a module, which extend these.
    pub(super) fn of_module(&self, module: &str) -> Option<Types> {
        let bytes = std::fs::read(Path::new(DIRECTORY).join(module)).ok()?;
        Btf::parse(bytes, Some(Arc::clone(&self.0)), 1).ok().map(|btf| Types(Arc::new(btf)))
    }

    /// Whether a function can have a trampoline, according to its type: the arguments and the return value
    /// must be words in registers.
    pub(super) fn trampoline(&self, name: &str) -> Result<(), TrampolineError> {
        /// The number of argument registers; further arguments are on the stack, which older kernels do not
        /// copy.
        const WORDS: usize = 6;
        self.function(name).ok_or(TrampolineError::NoTypes)?;
        let prototype = self.0.prototype(name).ok_or(TrampolineError::NoTypes)?;
        let is_structure = |ty: &Type| matches!(ty.resolved(), Type::Record(_));
        match prototype {
            p if is_structure(&p.returns) => Err(TrampolineError::ReturnsStructure),
            p if p.params.iter().any(|(_, ty)| is_structure(ty)) => Err(TrampolineError::TakesStructure),
            p if p.params.len() > WORDS => Err(TrampolineError::ManyArguments),
            _ => Ok(()),
        }
    }

    /// The kernel's id of a function.
    pub(super) fn function(&self, name: &str) -> Option<u32> {
        self.0.function(name)
    }

    /// The offset of a member; `a.b` names a member of a nested structure.
    fn offset(&self, structure: &'static str, path: &'static str) -> Result<u16, TypesError> {
        let unknown = || TypesError::NoMember { structure, path };
        let mut ty = self.0.tagged(TagKind::Struct, structure).ok_or_else(unknown)?;
        let mut at = 0;
        for name in path.split('.') {
            let Type::Record(record) = ty.resolved() else { return Err(unknown()) };
            let members = self.0.members(record.id.index);
            let member: Member =
                members.into_iter().find(|member| member.name == name).ok_or_else(unknown)?;
            at += member.bit_offset / 8;
            ty = member.ty;
        }
        u16::try_from(at).map_err(|_| unknown())
    }

    pub(super) fn layout(&self, machine: &dyn Machine) -> Result<Layout, TypesError> {
        let task = |path: &'static str| self.offset("task_struct", path);
        let signal = |path: &'static str| self.offset("signal_struct", path);
        Ok(Layout {
            status: task(machine.facts().compat.0)?,
            pid: task("pid")?,
            tgid: task("tgid")?,
            signal: task("signal")?,
            exit_code: task("exit_code")?,
            leader: task("group_leader")?,
            start: task("start_boottime")?,
            thread_pid: task("thread_pid")?,
            real_parent: task("real_parent")?,
            mm: task("mm")?,
            task_flags: task("flags")?,
            arg_start: self.offset("mm_struct", "arg_start")?,
            arg_end: self.offset("mm_struct", "arg_end")?,
            live: signal("live")?,
            flags: signal("flags")?,
            group_exit_code: signal("group_exit_code")?,
            handler: self.offset("k_sigaction", "sa.sa_handler")?,
            ..Layout::default()
        })
    }

    /// Whether the event of a thread's exit shows if it is the last one of its process.
    pub(super) fn tells_last(&self) -> bool {
        self.arguments("sched_process_exit").is_some_and(|count| count > 1)
    }

    pub(super) fn locks(&self) -> Result<Locks, TypesError> {
        let owner = self.offset("mutex", "owner").or_else(|_| self.offset("mutex", "rtmutex.owner"));
        let rwsem = |member| self.offset("rw_semaphore", member).ok();
        Ok(Locks { mutex_owner: owner?, rwsem: rwsem("count").zip(rwsem("owner")) })
    }

    pub(super) fn paths(&self) -> Result<Paths, TypesError> {
        Ok(Paths {
            path_mnt: self.offset("path", "mnt")?,
            path_dentry: self.offset("path", "dentry")?,
            parent: self.offset("dentry", "d_parent")?,
            name: self.offset("dentry", "d_name.name")?,
            name_len: self.offset("dentry", "d_name.len")?,
            mnt_root: self.offset("vfsmount", "mnt_root")?,
            mount_parent: self.offset("mount", "mnt_parent")?,
            mountpoint: self.offset("mount", "mnt_mountpoint")?,
            mnt: self.offset("mount", "mnt")?,
        })
    }

    /// The times of a task. If the scheduler excludes interrupt time, it is in a per-CPU variable.
    pub(super) fn times(&self, symbols: &dyn Spots, variables: &mut Variables) -> Result<Times, TypesError> {
        let spent = symbols
            .symbol("cpu_irqtime")
            .and_then(|address| Some(address.wrapping_add(self.offset("irqtime", "total").ok()?.into())));
        variables.irq_time = spent;
        Ok(Times {
            sum_exec_runtime: self.offset("task_struct", "se.sum_exec_runtime")?,
            exec_start: self.offset("task_struct", "se.exec_start")?,
        })
    }

    /// The location of the interrupt count: in a task, or in a per-CPU variable.
    pub(super) fn interrupts(&self, symbols: &dyn Spots, variables: &mut Variables) -> Interrupts {
        let in_task = self.offset("task_struct", "thread_info.preempt_count").ok();
        let hot = self.offset("pcpu_hot", "preempt_count").ok();
        variables.interrupts = symbols.symbol(COUNT).or_else(|| {
            let address = symbols.symbol("pcpu_hot")?;
            Some(address.wrapping_add(hot?.into()))
        });
        let soft_in_task = self.offset("task_struct", "softirq_disable_cnt").ok();
        let by_cpu = interrupts(symbols, variables);
        Interrupts { unknown: by_cpu.unknown && in_task.is_none(), in_task, soft_in_task, ..by_cpu }
    }

    /// The number of a tracepoint's arguments. The function that calls its listeners has one more: their data.
    pub(super) fn arguments(&self, tracepoint: &str) -> Option<u8> {
        let function = self.0.prototype(&format!("__traceiter_{tracepoint}"))?;
        let count = u8::try_from(function.params.len().checked_sub(1)?).unwrap_or(u8::MAX);
        Some(count.min(TRACE_ARGUMENTS))
    }
}

/// The per-CPU interrupt count on x86.
const COUNT: &str = "__preempt_count";

/// The location of the interrupt count, if it is known without types. Realtime kernels also count
/// interrupts in tasks.
pub(super) fn counted_by_cpu(symbols: &dyn Spots, variables: &mut Variables) -> Option<Interrupts> {
    variables.interrupts = symbols.symbol(COUNT).filter(|_| !kinst_os::is_realtime());
    variables.interrupts.is_some().then(|| interrupts(symbols, variables))
}

/// Returns the layout of a count that is not in a task.
fn interrupts(symbols: &dyn Spots, variables: &Variables) -> Interrupts {
    // Kernels with this variable also count how often interrupts were disabled, in bits below the hard
    // interrupt count.
    let (hard, most_nmi) = if symbols.symbol("nmi_nesting").is_some() { (24, 1) } else { (16, 0xf) };
    Interrupts { unknown: variables.interrupts.is_none(), in_task: None, hard, most_nmi, soft_in_task: None }
}
