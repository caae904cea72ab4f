//! tests/support/btf.rs: the records of a BTF file, located independently of our reader.

/// Returns the position of each record's header and its second word, according to the kernel's documentation.
pub(crate) fn records(btf: &[u8]) -> Vec<(usize, u32)> {
    let word = |at: usize| u32::from_le_bytes(btf[at..at + 4].try_into().unwrap());
    let start = (word(4) + word(8)) as usize;
    let end = start + word(12) as usize;
    let (mut at, mut records) = (start, Vec::new());
    while at < end {
        let info = word(at + 4);
        let count = (info & 0xffff) as usize;
        records.push((at, info));
        at += 12
            + match info >> 24 & 0x1f {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * count,
                6 | 13 => 8 * count,
                _ => 0,
            };
    }
    records
}
