//! sites/programs/placing.rs: the instructions that take the probes of a program, and whether its code is the file's.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::file::ProgramFile;
use crate::uprobe::{self, Around, Freedom, Nop5, Refused, Wish};
use kinst_base::machine::Machine;
use kinst_base::probe::{Spot, When};
use kinst_os::maps::Mapping;

/// The most bytes of an instruction.
const LONGEST: usize = 15;

/// Chooses the instruction for a spot of a file.
pub(super) fn placed(
    file: &ProgramFile,
    spot: &Spot,
    freedom: Freedom,
    nop5: &dyn Fn() -> Nop5,
) -> Result<Spot, Refused> {
    let machine = file.elf().machine().unwrap_or_default();
    let code = |address: u64| file.elf().code_at(address);
    let bytes = code(spot.address).ok_or(Refused::Undecodable)?;
    // An edge is decided by the flags at the branch itself.
    let freedom = if spot.when == When::Always { freedom } else { Freedom::None };
    // Control reaches landing pads when an exception is thrown; the graph does not show it.
    let freedom =
        if file.handles_exceptions(spot.address) { freedom.min(Freedom::PastMark) } else { freedom };
    let flow = if freedom == Freedom::None { None } else { file.flow_at(spot.address) };
    let choose = |nop5: Nop5| match flow.as_deref() {
        Some(flow) => {
            let around = Around { flow, machine, code: &code, entries: &[], nop5 };
            uprobe::place(&around, &Wish { at: spot.address, freedom }).map(|placed| placed.at)
        }
        None => uprobe::judge(machine, bytes, nop5).map(|_| spot.address),
    };
    // The kernel is tested only if it matters.
    let address = match choose(Nop5::Overwritten) {
        Err(Refused::RedZone) if nop5() == Nop5::Kept => choose(Nop5::Kept)?,
        answer => answer?,
    };
    Ok(Spot { address, ..spot.clone() })
}

/// Whether the code of a process at an address is that of the file. A breakpoint in its first byte, and a call in place
/// of a nop, are other probes.
pub(super) fn is_unchanged(
    file: &ProgramFile,
    memory: &File,
    code: &[Mapping],
    address: u64,
) -> Option<bool> {
    const BREAKPOINT: u8 = 0xcc;
    const CALL: u8 = 0xe8;
    let at = run_time(file, code, address)?;
    let own = file.elf().code_at(address)?;
    let insn = crate::code::decode::step(Machine::X86_64, own, address)?;
    let own = own.get(..usize::from(insn.len).min(LONGEST))?;
    let mut there = vec![0; own.len()];
    memory.read_exact_at(&mut there, at).ok()?;
    let is_probed = there.first() == Some(&BREAKPOINT) && there.get(1..) == own.get(1..);
    let is_call = own.len() == 5 && there.first() == Some(&CALL);
    Some(there == own || is_probed || is_call)
}

/// Converts an address in the file's layout to one in the process.
pub(super) fn run_time(file: &ProgramFile, code: &[Mapping], address: u64) -> Option<u64> {
    let offset = file.elf().offset_of(address)?;
    let mapping = code.iter().find(|mapping| {
        let length = mapping.range.end - mapping.range.start;
        (mapping.offset..mapping.offset.saturating_add(length)).contains(&offset)
    })?;
    Some(mapping.range.start + (offset - mapping.offset))
}
