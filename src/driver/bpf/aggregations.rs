//! driver/bpf/aggregations.rs: what programs have aggregated, as the snapshots that the module would give.

use crate::bpf::Image;
use crate::bpf::program::Entries;
use crate::dif::ActionKind;
use crate::os::Errno;
use crate::os::bpf::Map;
use crate::uapi::{AggEntry, Plain as _};
use std::collections::HashMap;

/// The entries that were read before. They stay in the kernel, and a snapshot has what was added since.
#[derive(Debug)]
pub struct Aggregations {
    entries: Vec<Entries>,
    cpus: u32,
    /// By entries, CPU and key.
    before: HashMap<(usize, u32, Vec<u8>), Vec<u64>>,
}

impl Aggregations {
    pub fn new(image: &Image, cpus: u32) -> Aggregations {
        Aggregations { entries: image.entries.clone(), cpus, before: HashMap::new() }
    }

    /// Returns a snapshot for each CPU, from a map for each of the entries.
    pub fn snapshot(&mut self, maps: &[Map]) -> Result<Vec<Vec<u8>>, Errno> {
        let mut snapshots = vec![Vec::new(); self.cpus as usize];
        for (index, map) in maps.iter().enumerate().take(self.entries.len()) {
            let mut key = None;
            while let Some(next) = map.next(key.as_deref())? {
                let values = map.lookup(&next)?;
                self.add(index, &next, &values, &mut snapshots);
                key = Some(next);
            }
        }
        Ok(snapshots)
    }

    /// Adds what has come to an entry on each CPU.
    fn add(&mut self, index: usize, key: &[u8], values: &[u8], snapshots: &mut [Vec<u8>]) {
        let Some(entries) = self.entries.get(index) else { return };
        let words = entries.layout.value.size as usize / 8;
        for (cpu, (value, snapshot)) in
            (0..).zip(values.chunks_exact(entries.value_size() as usize).zip(snapshots))
        {
            let mut now: Vec<u64> = value
                .chunks_exact(8)
                .filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)))
                .collect();
            // Another CPU's entry has none yet.
            if now.get(words).is_none_or(|filled| *filled == 0) {
                continue;
            }
            now.truncate(words);
            let place = (index, cpu, key.to_vec());
            let fresh = !self.before.contains_key(&place);
            let before = self.before.entry(place).or_insert_with(|| vec![0; words]);
            let new = match entries.function {
                ActionKind::Min | ActionKind::Max => now.clone(),
                function => added(function, &now, before),
            };
            if now == *before && !fresh {
                continue;
            }
            *before = now;
            let mut body = key.to_vec();
            body.resize(entries.layout.value.offset as usize, 0);
            body.extend(new.iter().flat_map(|word| word.to_ne_bytes()));
            body.resize(entries.layout.size as usize, 0);
            snapshot.extend(((AggEntry::SIZE + body.len()) as u32).to_ne_bytes());
            snapshot.extend(entries.action.to_ne_bytes());
            snapshot.extend(body);
        }
    }
}

/// Returns what was added to a value. Parameters stay; the sum of squares has two words.
fn added(function: ActionKind, now: &[u64], before: &[u64]) -> Vec<u64> {
    let mut new: Vec<u64> = now.iter().zip(before).map(|(now, before)| now.wrapping_sub(*before)).collect();
    match (function, now, before) {
        (ActionKind::Lquantize | ActionKind::Llquantize, [parameters, ..], _) => {
            new.iter_mut().take(1).for_each(|word| *word = *parameters);
        }
        (ActionKind::Stddev, [.., low, high], [.., less, least]) => {
            let word = |low: &u64, high: &u64| u128::from(*high) << 64 | u128::from(*low);
            let squares = word(low, high).wrapping_sub(word(less, least));
            new.truncate(2);
            new.extend([squares as u64, (squares >> 64) as u64]);
        }
        _ => {}
    }
    new
}
