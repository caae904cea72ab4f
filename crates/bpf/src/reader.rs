//! bpf/reader.rs: a program that reads kernel memory, for text that differs from the file.

use super::asm::{AsmError, Assembler, Code};
use super::insn::Reg::{R0, R1, R2, R3, R6};
use super::insn::{Cond, Helper, Width};

/// Offsets in the only value of its only map: the address and number of bytes to read, the result (0:
/// success), and the bytes.
pub const ADDRESS: usize = 0;
/// The number of bytes to read, at most [`MOST`].
pub const LEN: usize = 8;
/// 0, or the negative error of bpf_probe_read_kernel().
pub const RESULT: usize = 16;
/// The bytes read.
pub const BYTES: usize = 24;
/// The maximum number of bytes in one run.
pub const MOST: usize = 4096;

/// Writes the program, to be executed with BPF_PROG_TEST_RUN as a raw tracepoint.
pub fn write() -> Result<Code, AsmError> {
    let mut asm = Assembler::default();
    let out = asm.label();
    asm.map_value(R6, 0, 0);
    asm.load(Width::Double, R2, R6, LEN as i16);
    asm.branch(Cond::Gt, R2, MOST as i32, out);
    asm.load(Width::Double, R3, R6, ADDRESS as i16);
    asm.mov(R1, R6);
    asm.add(R1, BYTES as i32);
    asm.call(Helper::ProbeReadKernel);
    asm.store(Width::Double, R6, RESULT as i16, R0);
    asm.bind(out);
    asm.mov(R0, 0);
    asm.exit();
    asm.finish()
}
