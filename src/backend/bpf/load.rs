//! backend/bpf/load.rs: loading of a program, and the verifier's errors.

use super::error::{EnableError, Request, request};
use kinst_bpf::asm::Code;
use kinst_bpf::btf;
use kinst_os::Errno;
use kinst_os::bpf::{self, ProgramKind};

/// Loads a program with the descriptors of its maps.
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
            // The kernel denies it a helper, or the verifier's instruction limit is exceeded.
            false if log.contains("bpf_probe_write_user") => EnableError::WriteUser,
            false if log.contains("is too large") || log.contains("is too complex") => EnableError::TooLarge,
            false => EnableError::Verifier { log },
        }
    })
}
