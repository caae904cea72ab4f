//! backend/records.rs: records taken from the kernel's rings, in order of time.

use kinst_dif::record::Record;
use std::ops::Range;

/// The ring contains invalid records: the kernel module is of another version, or broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the buffer of CPU {cpu} is damaged at {position:#x}")]
pub struct Damaged {
    /// The CPU of the ring; 0 for the single ring of the BPF back end.
    pub cpu: u32,
    /// The position of the damage in the ring, in bytes.
    pub position: u64,
}

/// Records taken from the rings of all CPUs.
#[derive(Debug, Default)]
pub struct Drain {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    cpu: u32,
    epid: u32,
    timestamp: u64,
    payload: Range<usize>,
}

impl Drain {
    /// Removes all records and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// Whether it contains no records.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a copy of a record.
    pub fn add(&mut self, record: Record<'_>) {
        let Record { cpu, epid, timestamp, payload } = record;
        let start = self.bytes.len();
        self.bytes.extend(payload);
        self.entries.push(Entry { cpu, epid, timestamp, payload: start..self.bytes.len() });
    }

    /// Adds a record whose payload comes as words.
    pub fn add_words(&mut self, cpu: u32, epid: u32, timestamp: u64, payload: impl Iterator<Item = u64>) {
        let start = self.bytes.len();
        payload.for_each(|word| self.bytes.extend_from_slice(&word.to_ne_bytes()));
        self.entries.push(Entry { cpu, epid, timestamp, payload: start..self.bytes.len() });
    }

    /// Sorts by time over all CPUs, keeping the order of the ring where times are equal.
    pub fn sort(&mut self) {
        self.entries.sort_by_key(|entry| entry.timestamp);
    }

    /// The records in the order of their addition, or by time after [`Drain::sort`].
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.entries.iter().map(|entry| Record {
            cpu: entry.cpu,
            epid: entry.epid,
            timestamp: entry.timestamp,
            payload: self.bytes.get(entry.payload.clone()).unwrap_or_default(),
        })
    }
}
