//! backend/bpf/load.rs: a program into the kernel, and what its verifier says.

use super::error::{EnableError, Request, request};
use kinst_bpf::asm::Code;
use kinst_bpf::btf;
use kinst_os::Errno;
use kinst_os::bpf::{self, ProgramKind};

/// Loads a program, with the descriptors of its maps.
pub(super) fn load(
    kind: ProgramKind,
    code: &Code,
    descriptor: impl Fn(u32) -> u32,
) -> Result<bpf::Program, EnableError> {
    let described = btf::describe(code);
    let types = bpf::Types { types: &described.btf, functions: &described.functions };
    bpf::Program::load(kind, &code.bytes(descriptor), types).map_err(|(errno, log)| {
        match log.is_empty() || [Errno::PERM, Errno::MFILE, Errno::NFILE].contains(&errno) {
            true => request(Request::LoadProgram)(errno),
            // A helper that the kernel does not let it have, or more instructions than it looks at.
            false if log.contains("bpf_probe_write_user") => EnableError::WriteUser,
            false if log.contains("is too large") || log.contains("is too complex") => EnableError::Strings,
            false => EnableError::Verifier { log },
        }
    })
}
