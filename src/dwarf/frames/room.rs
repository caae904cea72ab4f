//! dwarf/frames/room.rs: the room for a call of ftrace at the start of a function, which gcc before 13 leaves out of its range.

use std::ops::Range;

use crate::debuginfo::{Image, Machine};

/// -fpatchable-function-entry=2, and a bti.
const MOST: u64 = 3;
const LEN: u64 = 4;

/// The start of a function with the room before its DW_AT_low_pc, if there is some.
pub(super) fn start(image: &Image, low: u64) -> u64 {
    if image.machine() != Some(Machine::Aarch64) {
        return low;
    }
    let room = (1..=MOST).take_while(|count| is_room(image, low.wrapping_sub(count * LEN), *count));
    low.saturating_sub(room.last().unwrap_or(0) * LEN)
}

/// A file of debug information alone has no code to look at; modules have no bti.
fn is_room(image: &Image, at: u64, count: u64) -> bool {
    const NOP: [u8; 4] = [0x1f, 0x20, 0x03, 0xd5];
    const BTI_C: [u8; 4] = [0x5f, 0x24, 0x03, 0xd5];
    match image.code_at(at) {
        Some(code) => code.starts_with(&NOP) || count == MOST && code.starts_with(&BTI_C),
        None => count < MOST && image.section_at(at).is_some_and(|section| section.executable),
    }
}

/// The ranges of a function that is entered here, with that room.
pub(super) fn with_room(image: &Image, entry: Option<u64>, ranges: &mut [Range<u64>]) {
    for range in ranges.iter_mut().filter(|range| Some(range.start) == entry) {
        range.start = start(image, range.start);
    }
}
