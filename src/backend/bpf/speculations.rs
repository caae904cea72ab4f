//! backend/bpf/speculations.rs: records that wait until they are committed or discarded.

use crate::backend::records::Drain;
use kinst_bpf::memory::wrapper;
use kinst_dif::record::Record;
use std::collections::HashMap;

/// The records of undecided speculations.
#[derive(Debug, Default)]
pub(super) struct Speculations {
    /// By id and generation.
    waiting: HashMap<(u32, u64), Waiting>,
    /// The maximum bytes of one speculation, per CPU.
    limit: usize,
    /// The records that did not fit.
    pub lost: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    records: Vec<Vec<u8>>,
    /// The bytes by CPU.
    bytes: HashMap<u32, usize>,
}

impl Speculations {
    pub(super) fn new(limit: u64) -> Speculations {
        Speculations { limit: usize::try_from(limit).unwrap_or(usize::MAX), ..Speculations::default() }
    }

    /// Takes a program's message about a speculation, after the header of a record; `None` if it is invalid.
    pub(super) fn take(&mut self, payload: &[u8], timestamp: u64, into: &mut Drain) -> Option<()> {
        let (what, rest) = payload.split_first_chunk::<4>()?;
        let (number, rest) = rest.split_first_chunk::<4>()?;
        let (generation, bytes) = rest.split_first_chunk::<8>()?;
        let key = (u32::from_ne_bytes(*number), u64::from_ne_bytes(*generation));
        match i32::from_ne_bytes(*what) {
            wrapper::ADD => {
                let waiting = self.waiting.entry(key).or_default();
                let used = waiting.bytes.entry(record(bytes)?.cpu).or_default();
                if bytes.len() > self.limit - *used {
                    self.lost += 1;
                    return Some(());
                }
                *used += bytes.len();
                waiting.records.push(bytes.to_vec());
            }
            wrapper::COMMIT => {
                for bytes in self.waiting.remove(&key).unwrap_or_default().records {
                    // They are ordered by the time of the commit.
                    let mut record = record(&bytes)?;
                    record.timestamp = timestamp;
                    into.add(record);
                }
            }
            wrapper::DISCARD => drop(self.waiting.remove(&key)),
            _ => return None,
        }
        Some(())
    }
}

/// The size in bytes of a record's header.
const PREFIX: usize = 16;

/// Parses a record: the enabling, the CPU, the time, and the payload.
pub(super) fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let (prefix, payload) = bytes.split_at_checked(PREFIX)?;
    let [epid, cpu] = [0, 4].map(|at| prefix.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes));
    let timestamp = u64::from_ne_bytes(prefix.get(8..16)?.try_into().ok()?);
    Some(Record { cpu: cpu?, epid: epid?, timestamp, payload })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_not(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..8), what in 0u8..3) {
            let mut speculations = Speculations::new(100);
            let mut drain = Drain::default();
            for mut payload in payloads {
                if let Some(first) = payload.first_chunk_mut::<4>() {
                    *first = u32::from(what).to_ne_bytes();
                }
                speculations.take(&payload, 1, &mut drain);
                record(&payload);
            }
        }
    }
}
