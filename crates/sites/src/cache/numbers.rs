//! sites/cache/numbers.rs: compact numbers and strings (LEB128), and zstd-compressed blocks of them.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A block in a table of compressed bytes.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Block {
    at: u32,
    packed: u32,
    /// Length after decompression.
    len: u32,
    /// Number of elements.
    pub count: u32,
}

/// Maximum length of a block.
const LARGEST: u32 = 1 << 26;
const LEVEL: i32 = 9;

impl Block {
    /// Appends compressed bytes to the table; `None` if they exceed a block.
    pub(super) fn pack(bytes: &[u8], count: usize, table: &mut Vec<u8>) -> Option<Block> {
        let packed = zstd::bulk::compress(bytes, LEVEL).ok()?;
        let block = Block {
            at: u32::try_from(table.len()).ok()?,
            packed: u32::try_from(packed.len()).ok()?,
            len: u32::try_from(bytes.len()).ok().filter(|len| *len <= LARGEST)?,
            count: u32::try_from(count).ok()?,
        };
        table.extend(packed);
        Some(block)
    }

    pub(super) fn unpack(&self, table: &[u8]) -> Option<Vec<u8>> {
        let packed = table.get(self.at as usize..(self.at as usize).checked_add(self.packed as usize)?)?;
        let len = usize::try_from(self.len).ok().filter(|_| self.len <= LARGEST)?;
        zstd::bulk::decompress(packed, len).ok().filter(|bytes| bytes.len() == len)
    }
}

#[derive(Default)]
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Writes the signed difference of two numbers.
    pub(super) fn step(&mut self, from: u64, to: u64) {
        let step = to.wrapping_sub(from) as i64;
        self.number((step << 1 ^ step >> 63) as u64);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// The inverse of [`Writer`]; reads return `None` at the end and for invalid data.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(super) fn step(&mut self, from: u64) -> Option<u64> {
        let number = self.number()?;
        Some(from.wrapping_add((number >> 1) ^ (number & 1).wrapping_neg()))
    }

    pub(super) fn text(&mut self) -> Option<&str> {
        let len = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        str::from_utf8(text).ok()
    }

    /// Reads a number of elements that can exist: each takes at least a byte.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(numbers in proptest::collection::vec(proptest::num::u64::ANY, 1..20), text: String) {
            let mut writer = Writer::default();
            for pair in numbers.windows(2) {
                writer.number(pair[0]);
                writer.step(pair[0], pair[1]);
            }
            writer.text(&text);
            let mut table = vec![1, 2, 3];
            let block = Block::pack(&writer.0, 1, &mut table).expect("a block");
            let bytes = block.unpack(&table).expect("bytes");
            let mut reader = Reader(&bytes);
            for pair in numbers.windows(2) {
                assert_eq!(reader.number(), Some(pair[0]));
                assert_eq!(reader.step(pair[0]), Some(pair[1]));
            }
            assert_eq!(reader.text(), Some(&*text));
            assert_eq!(reader.number(), None);
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            let mut reader = Reader(&bytes);
            while reader.step(7).is_some() || reader.text().is_some() {}
            let mut all = Reader(&bytes);
            let _ = (all.count(), all.small());
        }
    }
}
