//! debuginfo/lz4.rs: the legacy lz4 format, in which kernels are packed: a magic number, then sized blocks.

use lz4_flex::block;

/// The magic number at the start.
pub(crate) const MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
/// The uncompressed size of every block but the last.
const BLOCK: usize = 8 << 20;

/// Unpacks the bytes after the magic number, up to `most` bytes. Data after the last block (the kernel's own
/// note of the size) is ignored. `None` if the bytes are damaged.
pub(crate) fn unpack(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = packed;
    while let Some((size, after)) = rest.split_first_chunk() {
        let Some((block, after)) = after.split_at_checked(u32::from_le_bytes(*size) as usize) else { break };
        let before = out.len();
        out.resize(most.min(before + BLOCK), 0);
        let unpacked = block::decompress_into(block, &mut out[before..]).ok()?;
        out.truncate(before + unpacked);
        rest = after;
        if unpacked < BLOCK {
            break;
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::unpack;

    #[test]
    fn copies_and_repetitions() {
        // `ab`; 9 bytes from 2 bytes back; 16 bytes; the rest is not a block.
        let block = [&[0x25, b'a', b'b', 2, 0, 0xf0, 1][..], &[b'x'; 16]].concat();
        let packed = [&[23, 0, 0, 0][..], &block, &[9, 9, 9, 9]].concat();
        assert_eq!(unpack(&packed, 100).expect("a text"), b"abababababaxxxxxxxxxxxxxxxx");
        assert_eq!(unpack(&packed, 10), None, "larger than permitted");
        for len in 0..packed.len() - 4 {
            assert_eq!(unpack(&packed[..len], 100), None, "cut to {len}");
        }
        assert_eq!(unpack(&[5, 0, 0, 0, 0x10, b'a', 2, 0, 0], 100), None, "from before the beginning");
    }
}
