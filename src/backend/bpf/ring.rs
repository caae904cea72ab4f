//! backend/bpf/ring.rs: the ring into which BPF programs write records, one for all CPUs.

use super::speculations::{Speculations, record};
use crate::backend::records::Drain;
use kinst_bpf::memory::wrapper;
use kinst_os::Errno;
use kinst_os::device::{Access, Mapping, page_size};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// Flags in the first word of an entry, above its length in bytes.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// The header of an entry.
const HEADER: u64 = 8;

/// A mapped ring. The kernel maps its data twice in a row, so that no entry is split.
#[derive(Debug)]
pub(super) struct Ring {
    consumer: Mapping,
    /// The producer's position in the first page, then the data, mapped twice.
    producer: Mapping,
    size: u64,
}

impl Ring {
    /// Maps the ring of `size` bytes, a power of two.
    pub(super) fn new(map: BorrowedFd<'_>, size: u32) -> Result<Ring, Errno> {
        let page = page_size();
        let consumer = Mapping::new(map, page, 0, Access::ReadWrite)?;
        let producer = Mapping::new(map, page + 2 * size as usize, page as u64, Access::Read)?;
        Ok(Ring { consumer, producer, size: size.into() })
    }

    /// Takes all finished records. If the ring is damaged, empties it and returns the position.
    pub(super) fn drain(&self, into: &mut Drain, speculations: &mut Speculations) -> Result<(), u64> {
        let (Some(consumed), Some(produced)) = (self.consumer.words().first(), self.producer.words().first())
        else {
            return Err(0);
        };
        let data = self.producer.words().get(page_size() / 8..).unwrap_or_default();
        let mut position = consumed.load(Ordering::Relaxed);
        // Pairs with the kernel's release after it reserves.
        let end = produced.load(Ordering::Acquire);
        let mut result = Ok(());
        while position < end {
            match self.entry(data, position, end, (into, speculations)) {
                Entry::Busy => break,
                Entry::Taken(bytes) => position += bytes,
                Entry::Bad => {
                    result = Err(position);
                    position = end;
                }
            }
        }
        // The kernel may overwrite everything before this position, so it is stored after the copies.
        consumed.store(position, Ordering::Release);
        result
    }

    fn entry(
        &self,
        data: &[AtomicU64],
        position: u64,
        end: u64,
        (into, speculations): (&mut Drain, &mut Speculations),
    ) -> Entry {
        let at = ((position & (self.size - 1)) / 8) as usize;
        // Pairs with the kernel's release when the entry is finished.
        let Some(first) = data.get(at).map(|word| word.load(Ordering::Acquire)) else { return Entry::Bad };
        let header = first as u32;
        if header & BUSY != 0 {
            return Entry::Busy;
        }
        let length = u64::from(header & !(BUSY | DISCARDED));
        let whole = (length + HEADER).next_multiple_of(8);
        if !position.is_multiple_of(8) || whole > end - position || whole > self.size {
            return Entry::Bad;
        }
        if header & DISCARDED != 0 {
            return Entry::Taken(whole);
        }
        let Some(words) = data.get(at + 1..at + (whole / 8) as usize) else { return Entry::Bad };
        let mut bytes: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        bytes.truncate(length as usize);
        match record(&bytes) {
            Some(record) if record.epid == wrapper::EPID => {
                let taken = speculations.take(record.payload, record.timestamp, into);
                taken.map_or(Entry::Bad, |()| Entry::Taken(whole))
            }
            Some(record) => {
                into.add(record);
                Entry::Taken(whole)
            }
            None => Entry::Bad,
        }
    }
}

enum Entry {
    Busy,
    /// This many bytes of the ring were taken.
    Taken(u64),
    Bad,
}
