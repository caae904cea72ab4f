//! tests/oracle/uprobes/armed.rs: the instructions at which the running kernel writes a breakpoint.
//!
//! All forms of instructions are in a file, each with a probe. The kernel decides when a process maps the
//! file: it then has a breakpoint at each instruction that can have one. Nothing is executed.

use super::events::{Events, can_probe};
use super::forms;
use kinst::machine::Machine;
use kinst::sites::uprobe::{Nop5, Refused, judge};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Reasons for which instructions are refused that the kernel takes.
const TAKEN: [Refused; 15] = [
    // The kernel's decoder takes more than the processor.
    Refused::Undecodable,
    // The kernel decodes another instruction than the processor.
    Refused::Prefixes,
    // The kernel takes all opcodes after 0f.
    Refused::Privileged,
    Refused::SystemCall,
    Refused::System,
    // The kernel fixes a call's return address up in the format of near calls.
    Refused::Far,
    // `lss` is not in the kernel's list.
    Refused::StackSegment,
    // Returns and loops with 16 bits.
    Refused::Word,
    Refused::Transaction,
    Refused::Flags,
    Refused::Repeated,
    // Encodings of AMD alone, which the kernel decodes as other instructions.
    Refused::Vector,
    Refused::Mistaken,
    Refused::Relative,
    Refused::RedZone,
];

/// The breakpoint.
const INT3: u8 = 0xcc;

/// Maps the file as code and returns the first byte of each form.
fn mapped(path: &Path, len: usize) -> Vec<u8> {
    let file = File::open(path).expect("the file");
    let (protection, kind) = (ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE);
    // SAFETY: the kernel chooses the address.
    let at = unsafe { mmap(std::ptr::null_mut(), len, protection, kind, &file, 0) }.expect("a mapping");
    // SAFETY: the mapping has that length, and only the kernel writes to it, before mmap returns.
    let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len) };
    let first = bytes.chunks(forms::SIZE).map(|form| form[0]).collect();
    // SAFETY: the bytes are no longer used.
    unsafe { munmap(at, len) }.expect("unmapped");
    first
}

/// Returns the first byte of each form while all have probes. The time that the kernel takes to define a probe
/// grows with the number of those that it has.
fn armed(forms: &[forms::Form]) -> Vec<u8> {
    const TOGETHER: usize = 2000;
    let folder = tempfile::tempdir().expect("a directory");
    let mut armed = Vec::new();
    for (number, forms) in forms.chunks(TOGETHER).enumerate() {
        let path = folder.path().join(number.to_string());
        std::fs::write(&path, forms.concat()).expect("the file");
        let offsets: Vec<usize> = (0..forms.len()).map(|form| form * forms::SIZE).collect();
        let _events = Events::new("armed", &path, &offsets, TOGETHER);
        armed.extend(mapped(&path, forms.len() * forms::SIZE));
    }
    armed
}

#[test]
fn what_is_accepted_can_be_armed() {
    if !can_probe() {
        return;
    }
    // The first byte of a form shows whether there is a breakpoint.
    let forms: Vec<_> = forms::all().into_iter().filter(|form| form[0] != INT3).collect();
    let armed = armed(&forms);
    let (mut wrong, mut accepted) = (Vec::new(), 0);
    let mut taken: BTreeMap<Refused, usize> = BTreeMap::new();
    for (form, first) in forms.iter().zip(&armed) {
        match judge(Machine::X86_64, form, Nop5::Overwritten) {
            Ok(_) if *first == INT3 => accepted += 1,
            Ok(way) => wrong.push((form, way)),
            Err(refused) if *first == INT3 => *taken.entry(refused).or_default() += 1,
            Err(_) => {}
        }
    }
    println!("{} forms, {accepted} accepted; taken by the kernel alone: {taken:?}", forms.len());
    assert!(
        wrong.is_empty(),
        "{} are refused by the kernel: {:02x?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    assert!(accepted > forms.len() / 8, "{accepted}");
    let reasons: Vec<Refused> = taken.into_keys().collect();
    let mut expected = TAKEN;
    expected.sort_unstable();
    assert_eq!(reasons, expected, "the reasons why the kernel takes more");
}
