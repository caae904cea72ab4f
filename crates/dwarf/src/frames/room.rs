//! dwarf/frames/room.rs: the space for an ftrace call at a function's start, which gcc before 13 excludes.

use std::ops::Range;

use kinst_base::machine::Room;
use kinst_debuginfo::ElfFile;

/// The start of a function, including the space before its DW_AT_low_pc, if there is any.
pub(super) fn start(image: &ElfFile, low: u64) -> u64 {
    let Some(room) = image.machine().and_then(|machine| machine.facts().room.as_ref()) else { return low };
    let size = room.nop.len() as u64;
    let nops =
        (1..=room.most).take_while(|count| is_room(room, image, low.wrapping_sub(count * size), *count));
    low.saturating_sub(nops.last().unwrap_or(0) * size)
}

/// A file with only debug information has no code to check; modules have no landing pad.
fn is_room(room: &Room, image: &ElfFile, at: u64, count: u64) -> bool {
    match image.code_at(at) {
        Some(code) => {
            code.starts_with(&room.nop) || count == room.most && code.starts_with(&room.landing_pad)
        }
        None => count < room.most && image.section_at(at).is_some_and(|section| section.executable),
    }
}

/// Extends the ranges of a function entered here by that space.
pub(super) fn with_room(image: &ElfFile, entry: Option<u64>, ranges: &mut [Range<u64>]) {
    for range in ranges.iter_mut().filter(|range| Some(range.start) == entry) {
        range.start = start(image, range.start);
    }
}
