//! fuzz/src/uprobes.rs: the code of a function of a program, and the instruction that gets the probe.

use kinst::machine::Machine;
use kinst::sites::flow::{Flow, Marks, Part};
use kinst::sites::uprobe::{Around, Freedom, Nop5, Placed, Refused, Wish, judge, place};

const BASE: u64 = 0x40_1000;
/// The time for a block grows with the square of its length.
const LONGEST: usize = 512;

/// Reads an instruction from which control comes from elsewhere, and the code, and wishes for each place in it.
pub fn uprobes(data: &[u8]) {
    let Some((&[entry, kind], code)) = data.split_first_chunk() else { return };
    let code = &code[..code.len().min(LONGEST)];
    let nop5 = if kind & 1 == 0 { Nop5::Kept } else { Nop5::Overwritten };
    for start in 0..code.len() {
        let _ = judge(Machine::X86_64, &code[start..], nop5);
    }
    let Ok(flow) = Flow::cut(Part { address: BASE, code }, &Marks::default(), &[], |_| None) else { return };
    let bytes = |at: u64| code.get(usize::try_from(at.checked_sub(BASE)?).ok()?..);
    let entries = [BASE + u64::from(entry)];
    let around = Around { flow: &flow, machine: Machine::X86_64, code: &bytes, entries: &entries, nop5 };
    for at in (0..=code.len() as u64).map(|offset| BASE + offset) {
        let own = place(&around, &Wish { at, freedom: Freedom::None });
        assert!(own.is_ok_and(|placed| placed.at == at && !placed.moved) || own.is_err());
        for freedom in [Freedom::PastMark, Freedom::Next, Freedom::Block] {
            let Ok(placed) = place(&around, &Wish { at, freedom }) else { continue };
            assert_ne!(own, Err(Refused::Inside));
            assert_eq!(placed.moved, placed.at != at);
            let chosen = place(&around, &Wish { at: placed.at, freedom: Freedom::None });
            assert_eq!(chosen, Ok(Placed { moved: false, ..placed }));
        }
    }
}
