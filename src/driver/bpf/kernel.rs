//! driver/bpf/kernel.rs: what programs have to know of the running kernel, from its BTF.

use crate::bpf::kernel::{Layout, TRACE_ARGUMENTS};
use crate::bpf::machine::Machine;
use crate::parser::ast::TagKind;
use crate::types::btf::Btf;
use crate::types::{Member, Type};

const FILE: &str = "/sys/kernel/btf/vmlinux";

/// The kernel's types.
pub struct Types(Btf);

impl Types {
    /// An error is the reason why there are none.
    pub fn read() -> Result<Types, String> {
        let bytes = std::fs::read(FILE).map_err(|_| "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)")?;
        Btf::parse(bytes, None, 0).map(Types).map_err(|_| format!("{FILE} is damaged"))
    }

    /// The offset of a member, `a.b` for one of a structure in it.
    fn offset(&self, structure: &str, path: &str) -> Result<u16, String> {
        let unknown = || format!("the kernel's BTF has no struct {structure} with {path}");
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

    pub fn layout(&self, machine: &dyn Machine) -> Result<Layout, String> {
        let task = |path: &str| self.offset("task_struct", path);
        let signal = |path: &str| self.offset("signal_struct", path);
        Ok(Layout {
            status: task(machine.registers().compat.0)?,
            pid: task("pid")?,
            tgid: task("tgid")?,
            signal: task("signal")?,
            exit_code: task("exit_code")?,
            leader: task("group_leader")?,
            start: task("start_boottime")?,
            thread_pid: task("thread_pid")?,
            real_parent: task("real_parent")?,
            mm: task("mm")?,
            arg_start: self.offset("mm_struct", "arg_start")?,
            arg_end: self.offset("mm_struct", "arg_end")?,
            live: signal("live")?,
            flags: signal("flags")?,
            group_exit_code: signal("group_exit_code")?,
            handler: self.offset("k_sigaction", "sa.sa_handler")?,
            tells_last: self.arguments("sched_process_exit").is_some_and(|count| count > 1),
        })
    }

    /// The number of a tracepoint's arguments. The function that calls its listeners has one more, their data.
    pub fn arguments(&self, tracepoint: &str) -> Option<u8> {
        let function = self.0.prototype(&format!("__traceiter_{tracepoint}"))?;
        let count = u8::try_from(function.params.len().checked_sub(1)?).unwrap_or(u8::MAX);
        Some(count.min(TRACE_ARGUMENTS))
    }
}
