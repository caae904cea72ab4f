//! backend/bpf/last_records.rs: the last records of each CPU; new ones overwrite old ones (bufpolicy=ring).

use crate::backend::records::Drain;
use kinst_dif::record::Record;
use std::collections::{BTreeMap, VecDeque};

/// Keeps as many records as the module's rings would.
#[derive(Debug)]
pub(super) struct LastRecords {
    /// The size of a ring in bytes, a power of two.
    size: u64,
    rings: BTreeMap<u32, Ring>,
}

/// Positions correspond to the module's ring, in which no record wraps around.
#[derive(Debug, Default)]
struct Ring {
    end: u64,
    used: u64,
    /// Each record with its size in bytes; padding before the end of the ring has no record.
    entries: VecDeque<(u64, Option<Owned>)>,
}

#[derive(Debug)]
struct Owned {
    epid: u32,
    timestamp: u64,
    payload: Vec<u8>,
}

/// The size in bytes of a record's header.
const HEADER: u64 = 16;

impl LastRecords {
    pub(super) fn new(bufsize: u64) -> LastRecords {
        LastRecords { size: bufsize.max(HEADER).next_power_of_two(), rings: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, record: &Record<'_>) {
        let bytes = HEADER + (record.payload.len() as u64).next_multiple_of(8);
        let ring = self.rings.entry(record.cpu).or_default();
        let left = self.size - ring.end % self.size;
        let fill = if left < bytes { left } else { 0 };
        if fill + bytes > self.size {
            return;
        }
        while fill + bytes > self.size - ring.used {
            let Some((old, _)) = ring.entries.pop_front() else { break };
            ring.used -= old;
        }
        let &Record { epid, timestamp, payload, .. } = record;
        let owned = Owned { epid, timestamp, payload: payload.to_vec() };
        if fill > 0 {
            ring.entries.push_back((fill, None));
        }
        ring.entries.push_back((bytes, Some(owned)));
        ring.used += fill + bytes;
        ring.end += fill + bytes;
    }

    /// Moves all records to the buffer that is printed.
    pub(super) fn give(&mut self, into: &mut Drain) {
        for (cpu, ring) in std::mem::take(&mut self.rings) {
            for Owned { epid, timestamp, payload } in ring.entries.into_iter().filter_map(|(_, owned)| owned)
            {
                into.add(Record { cpu, epid, timestamp, payload: &payload });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(sizes: &[usize]) -> Vec<u64> {
        let mut kept = LastRecords::new(128);
        for (payload, timestamp) in sizes.iter().map(|size| vec![0; *size]).zip(1..) {
            kept.add(&Record { cpu: 0, epid: 1, timestamp, payload: &payload });
        }
        let mut drain = Drain::default();
        kept.give(&mut drain);
        drain.records().map(|record| record.timestamp).collect()
    }

    #[test]
    fn new_records_take_the_place_of_old_ones() {
        assert_eq!(left(&[16; 4]), [1, 2, 3, 4]);
        assert_eq!(left(&[16; 6]), [3, 4, 5, 6]);
        // A record that does not fit before the end goes to the beginning.
        assert_eq!(left(&[32, 32, 32]), [2, 3]);
        assert_eq!(left(&[16, 200, 16]), [1, 3]);
        assert_eq!(left(&[]), [0; 0]);
    }
}
