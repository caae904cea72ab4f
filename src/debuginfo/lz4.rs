//! debuginfo/lz4.rs: the old format of lz4, which kernels are packed in: a number, then blocks with their sizes.

/// What the format begins with.
pub const MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
/// All blocks but the last one unpack to so much.
const BLOCK: usize = 8 << 20;
/// The shortest repetition.
const LEAST: usize = 4;

/// The bytes behind the magic number, unpacked up to `most`. What follows the last block (the kernel's own note of the
/// size) is left alone. `None`: they are damaged.
pub fn unpack(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = packed;
    while let Some((size, after)) = rest.split_first_chunk() {
        let Some((block, after)) = after.split_at_checked(u32::from_le_bytes(*size) as usize) else { break };
        let before = out.len();
        unpack_block(block, &mut out, most.min(before + BLOCK))?;
        rest = after;
        if out.len() < before + BLOCK {
            break;
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Sequences of bytes to copy from here and of bytes to repeat from what was written; the last one has only the former.
fn unpack_block(block: &[u8], out: &mut Vec<u8>, end: usize) -> Option<()> {
    let first = out.len();
    let mut rest = block;
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        let literals = length(token >> 4, &mut rest)?;
        let (literals, after) = rest.split_at_checked(literals)?;
        out.extend_from_slice(literals);
        let Some((distance, after)) = after.split_first_chunk() else { break };
        rest = after;
        let distance = usize::from(u16::from_le_bytes(*distance));
        let count = length(token & 15, &mut rest)?.checked_add(LEAST)?;
        let from = out.len().checked_sub(distance).filter(|from| *from >= first && distance > 0)?;
        if count > end.checked_sub(out.len())? {
            return None;
        }
        // What is repeated may reach into what it makes.
        for at in from..from + count {
            out.push(out[at]);
        }
    }
    (out.len() <= end).then_some(())
}

/// Four bits; if all are set, bytes follow that are added, to the first one that is not 255.
fn length(bits: u8, rest: &mut &[u8]) -> Option<usize> {
    let mut sum = usize::from(bits);
    if bits == 15 {
        loop {
            let (byte, after) = rest.split_first()?;
            *rest = after;
            sum += usize::from(*byte);
            if *byte != 255 {
                break;
            }
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::unpack;

    #[test]
    fn copies_and_repetitions() {
        // `ab`, 9 bytes from 2 before; 16 bytes; what follows is no block.
        let block = [&[0x25, b'a', b'b', 2, 0, 0xf0, 1][..], &[b'x'; 16]].concat();
        let packed = [&[23, 0, 0, 0][..], &block, &[9, 9, 9, 9]].concat();
        assert_eq!(unpack(&packed, 100).expect("a text"), b"abababababaxxxxxxxxxxxxxxxx");
        assert_eq!(unpack(&packed, 10), None, "larger than permitted");
        for len in 0..packed.len() - 4 {
            assert_eq!(unpack(&packed[..len], 100), None, "cut to {len}");
        }
        assert_eq!(unpack(&[5, 0, 0, 0, 0x10, b'a', 2, 0, 0], 100), None, "from before the beginning");
        assert_eq!(unpack(&[5, 0, 0, 0, 0x10, b'a', 0, 0, 0], 100), None, "of nothing");
    }
}
