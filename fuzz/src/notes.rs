//! fuzz/src/notes.rs: the notes of drivers' static probes, in the kernel's format.

/// Reads the section at an address from the input.
pub fn notes(data: &[u8]) {
    let Some((address, section)) = data.split_first_chunk() else { return };
    kinst::sites::read_notes(section, u64::from_le_bytes(*address), Default::default());
}
