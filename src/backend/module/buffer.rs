//! backend/module/buffer.rs: reads the rings: one per CPU, which the kernel writes concurrently.

use crate::backend::records::{Damaged, Drain};
use kinst_base::uapi;
use std::sync::atomic::{AtomicU64, Ordering};

/// One CPU's ring. The kernel writes it at any time, so every word of it is read atomically.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring<'a> {
    /// Written by us: everything before it is consumed.
    pub consumed: &'a AtomicU64,
    /// Written by the kernel: everything before it is reserved.
    pub produced: &'a AtomicU64,
    /// The data; its number of words is a power of two.
    pub data: &'a [AtomicU64],
}

/// The header of a record, in words.
const HEADER: u64 = 2;

impl Ring<'_> {
    /// Takes all finished records. Empties an invalid ring, so that tracing can continue.
    pub(crate) fn drain(&self, cpu: u32, into: &mut Drain) -> Result<(), Damaged> {
        let mut position = self.consumed.load(Ordering::Relaxed);
        // Pairs with the kernel's release after it reserves.
        let end = self.produced.load(Ordering::Acquire);
        let mut damage = None;
        while position != end {
            match self.next(position, end) {
                Some(Next::Busy) => break,
                Some(Next::Pad(words)) => position = position.wrapping_add(words * 8),
                Some(Next::Record { epid, timestamp, words }) => {
                    let payload = (HEADER..words).map(|index| self.word(position, index));
                    into.add_words(cpu, epid, timestamp, payload);
                    position = position.wrapping_add(words * 8);
                }
                None => {
                    damage = Some(Damaged { cpu, position });
                    position = end;
                }
            }
        }
        // The kernel may overwrite everything before this position, so it is stored after the copies.
        self.consumed.store(position, Ordering::Release);
        damage.map_or(Ok(()), Err)
    }

    /// Returns the record at `position`; `None` if it cannot be valid.
    fn next(&self, position: u64, end: u64) -> Option<Next> {
        let size = self.data.len() as u64 * 8;
        let reserved = end.wrapping_sub(position);
        if !position.is_multiple_of(8) || reserved > size || reserved < 8 {
            return None;
        }
        // Pairs with the kernel's release when it clears BUSY: its earlier writes are then visible.
        let [length, epid] = halves(self.data[self.index(position, 0)].load(Ordering::Acquire));
        if length & uapi::REC_BUSY != 0 {
            return Some(Next::Busy);
        }
        let bytes = u64::from(length & uapi::REC_LEN);
        let to_the_end = size - (position & (size - 1));
        if bytes < 8 || !bytes.is_multiple_of(8) || bytes > reserved.min(to_the_end) {
            return None;
        }
        let words = bytes / 8;
        if length & uapi::REC_PAD != 0 {
            return Some(Next::Pad(words));
        }
        (words >= HEADER).then(|| Next::Record { epid, timestamp: self.word(position, 1), words })
    }

    fn word(&self, position: u64, index: u64) -> u64 {
        self.data[self.index(position, index)].load(Ordering::Relaxed)
    }

    /// Returns an index; the mask keeps it within the data for any position.
    fn index(&self, position: u64, word: u64) -> usize {
        ((position / 8 + word) & (self.data.len() as u64 - 1)) as usize
    }
}

enum Next {
    Busy,
    Pad(u64),
    Record { epid: u32, timestamp: u64, words: u64 },
}

/// Returns the two 32-bit fields of a word, in memory order.
fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory {
        consumed: AtomicU64,
        produced: AtomicU64,
        data: Vec<AtomicU64>,
    }

    /// The program, time and payload of a record.
    type Drained = (u32, u64, Vec<u8>);

    impl Memory {
        fn new(words: &[u64], produced: u64) -> Memory {
            let data = words.iter().map(|word| AtomicU64::new(*word)).collect();
            Memory { consumed: AtomicU64::new(0), produced: AtomicU64::new(produced), data }
        }

        fn drain(&self) -> (Vec<Drained>, Result<(), Damaged>) {
            let ring = Ring { consumed: &self.consumed, produced: &self.produced, data: &self.data };
            let mut drain = Drain::default();
            let result = ring.drain(0, &mut drain);
            (drain.records().map(|r| (r.epid, r.timestamp, r.payload.to_vec())).collect(), result)
        }
    }

    fn header(length: u32, epid: u32) -> u64 {
        let ([a, b, c, d], [e, f, g, h]) = (length.to_ne_bytes(), epid.to_ne_bytes());
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }

    #[test]
    fn records_pads_and_busy() {
        let words = [
            header(24, 1),
            100,
            7,
            header(16, 2),
            90,
            header(uapi::REC_PAD | 8, 0),
            header(uapi::REC_BUSY | 16, 3),
            0,
        ];
        let memory = Memory::new(&words, 64);
        let (records, result) = memory.drain();
        assert_eq!(records, [(1, 100, 7u64.to_ne_bytes().to_vec()), (2, 90, Vec::new())]);
        assert_eq!(result, Ok(()));
        assert_eq!(memory.consumed.load(Ordering::Relaxed), 48);
        memory.data[6].store(header(16, 3), Ordering::Relaxed);
        memory.data[7].store(110, Ordering::Relaxed);
        assert_eq!(memory.drain().0, [(3, 110, Vec::new())]);
        // A second round over the same words.
        memory.data[0].store(header(16, 4), Ordering::Relaxed);
        memory.data[1].store(120, Ordering::Relaxed);
        memory.produced.store(80, Ordering::Relaxed);
        assert_eq!(memory.drain().0, [(4, 120, Vec::new())]);
    }

    #[test]
    fn a_damaged_ring_is_emptied() {
        for bad in [header(0, 1), header(12, 1), header(8, 1), header(4096, 1)] {
            let memory = Memory::new(&[bad, 0, 0, 0], 32);
            assert_eq!(memory.drain().1, Err(Damaged { cpu: 0, position: 0 }));
            assert_eq!(memory.consumed.load(Ordering::Relaxed), 32);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_words_are_read_without_panic(
            words in proptest::collection::vec(proptest::num::u64::ANY, 8),
            lengths in proptest::collection::vec(0u32..80, 8),
            consumed: u64,
            produced in 0u64..200,
        ) {
            let words: Vec<u64> =
                words.iter().zip(&lengths).map(|(w, l)| if l % 3 == 0 { header(*l, 1) } else { *w }).collect();
            let memory = Memory::new(&words, consumed.wrapping_add(produced));
            memory.consumed.store(consumed, Ordering::Relaxed);
            let _ = memory.drain();
        }
    }
}
