//! backend/bpf/aggregations.rs: the values that BPF programs aggregated, as snapshots in the module's format.

use crate::backend::tracing::RequestError;
use kinst_base::uapi::{AggEntry, Plain as _};
use kinst_bpf::Image;
use kinst_bpf::program::{CPU_NUMBER, Entries, Lanes};
use kinst_os::bpf::Map;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

/// The maps come in halves: programs write to one half while the other is read and emptied.
#[derive(Debug)]
pub(super) struct Aggregations {
    entries: Vec<Entries>,
    lanes: Lanes,
    /// The half that programs were still using when it was due to be read.
    left: Option<u64>,
}

/// The time to wait for programs that are still using a half.
const PATIENCE: Duration = Duration::from_millis(500);

impl Aggregations {
    pub(super) fn new(image: &Image) -> Aggregations {
        Aggregations { entries: image.entries.clone(), lanes: image.lanes, left: None }
    }

    /// Returns a snapshot for each CPU of the values since the last one; each of the entries has two maps.
    pub(super) fn snapshot(
        &mut self,
        maps: &[Map],
        half: &AtomicU64,
        busy: &[&AtomicU64],
    ) -> Result<Vec<Vec<u8>>, RequestError> {
        let mut snapshots = vec![Vec::new(); self.lanes.cpus as usize];
        if self.entries.is_empty() {
            return Ok(snapshots);
        }
        if let Some(left) = self.left {
            if !are_done(busy) {
                return Ok(snapshots);
            }
            self.left = None;
            self.empty(maps, left, &mut snapshots)?;
        }
        let old = half.load(Ordering::Relaxed);
        half.store(old ^ 1, Ordering::SeqCst);
        if are_done(busy) {
            self.empty(maps, old, &mut snapshots)?;
        } else {
            self.left = Some(old);
        }
        Ok(snapshots)
    }

    /// Takes all entries out of a half that no program uses any more.
    fn empty(&self, maps: &[Map], half: u64, snapshots: &mut [Vec<u8>]) -> Result<(), RequestError> {
        let maps = maps.iter().skip(half as usize).step_by(2);
        for (entries, map) in self.entries.iter().zip(maps) {
            if !entries.has_key() {
                self.empty_array(entries, map, snapshots)?;
                continue;
            }
            let taken = map.take(|key, value| {
                let Some((number, key)) = key.split_at_checked(CPU_NUMBER as usize) else { return };
                let number = number.first_chunk().map_or(0, |number| u32::from_ne_bytes(*number));
                if let Some(snapshot) = snapshots.get_mut(self.lanes.cpu(number) as usize) {
                    add(entries, key, value, snapshot);
                }
            });
            taken.map_err(RequestError::of_kernel("BPF_MAP_LOOKUP_AND_DELETE_BATCH"))?;
        }
        Ok(())
    }

    /// Takes the entry of each lane; it has no key.
    fn empty_array(
        &self,
        entries: &Entries,
        map: &Map,
        snapshots: &mut [Vec<u8>],
    ) -> Result<(), RequestError> {
        for number in 0..self.lanes.values() {
            let key = number.to_ne_bytes();
            let value = map.lookup(&key).map_err(RequestError::of_kernel("BPF_MAP_LOOKUP_ELEM"))?;
            if value.iter().any(|byte| *byte != 0) {
                map.update(&key, &vec![0; value.len()])
                    .map_err(RequestError::of_kernel("BPF_MAP_UPDATE_ELEM"))?;
                if let Some(snapshot) = snapshots.get_mut(self.lanes.cpu(number) as usize) {
                    add(entries, &[], &value, snapshot);
                }
            }
        }
        Ok(())
    }
}

/// Waits until each CPU has been seen outside a program: every program that ran at the time of the call has
/// ended.
fn are_done(busy: &[&AtomicU64]) -> bool {
    // Pairs with the exchange at the start of a program: either it sees the other half, or it is seen here.
    fence(Ordering::SeqCst);
    let begun = Instant::now();
    busy.iter().all(|busy| {
        while busy.load(Ordering::Acquire) != 0 {
            if begun.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    })
}

/// Adds an entry to the snapshot of its CPU.
fn add(entries: &Entries, key: &[u8], value: &[u8], snapshot: &mut Vec<u8>) {
    let (start, size) = (entries.layout.value.offset as usize, entries.layout.value.size as usize);
    let (value, filled) = value.split_at(size.min(value.len()));
    // Only the first word of the rest carries information, if it is not 0.
    if filled.iter().all(|byte| *byte == 0) {
        return;
    }
    let mut body = key.to_vec();
    body.resize(start, 0);
    body.extend(value);
    body.resize(entries.layout.size as usize, 0);
    snapshot.extend(((AggEntry::SIZE + body.len()) as u32).to_ne_bytes());
    snapshot.extend(entries.actions.first().copied().unwrap_or_default().to_ne_bytes());
    snapshot.extend(body);
}
