//! backend/bpf/maps.rs: the maps of a session, and their initial contents.

use super::error::{EnableError, Request, request};
use kinst_bpf::memory::LINE;
use kinst_bpf::program::{Entries, Lanes, event};
use kinst_bpf::{Home, Image, Located, memory};
use kinst_dif::Options;
use kinst_os::bpf::{Map, MapKind};
use rayon::prelude::*;

/// The overhead of a hash element in bytes, in addition to its key and value.
const ELEMENT: u32 = 48;
/// The minimum number of elements of a hash.
const FEWEST: u32 = 16;

/// The properties of a map to create.
struct Wanted {
    kind: MapKind,
    key: u32,
    value: u32,
    entries: u32,
}

impl Wanted {
    fn new(kind: MapKind, key: u32, value: u32, entries: u32) -> Wanted {
        Wanted { kind, key, value, entries }
    }

    /// The entries of an aggregation: a hash limited to `bytes` for each CPU, or an array. Each entry has
    /// separate cache lines.
    fn entries(entries: &Entries, bytes: u64, lanes: Lanes) -> Wanted {
        let (key, value) = (entries.key_size(), entries.value_size());
        if !entries.has_key() {
            return Wanted::new(MapKind::Array, key, value.next_multiple_of(LINE), lanes.values());
        }
        let before = ELEMENT + key.next_multiple_of(8);
        let size = (before + value).next_multiple_of(LINE);
        let all = (bytes / u64::from(size)).max(FEWEST.into()).saturating_mul(lanes.cpus.into());
        Wanted::new(MapKind::Hash, key, size - before, u32::try_from(all).unwrap_or(u32::MAX))
    }

    /// The approximate memory in bytes that the kernel allocates for it.
    fn bytes(&self) -> u64 {
        let each = match self.kind {
            MapKind::RingBuffer => 1,
            MapKind::Array | MapKind::PerfEvents => self.value.into(),
            MapKind::Hash => (ELEMENT + self.key + self.value).into(),
        };
        u64::from(self.entries) * each
    }
}

/// Creates the maps, in the order of their indices. Refuses maps that would take most of the machine's
/// memory: the kernel would reclaim it from everything else.
pub(super) fn make(image: &Image, options: &Options, ring_size: u32) -> Result<Vec<Map>, EnableError> {
    let wanted = wanted(image, options, ring_size);
    let bytes: u64 = wanted.iter().map(|map| map.bytes()).sum();
    if kinst_os::free_memory().is_some_and(|free| bytes > free / 2) {
        return Err(EnableError::Memory);
    }
    let made = wanted.into_par_iter().map(|map| Map::new(map.kind, map.key, map.value, map.entries));
    made.collect::<Result<_, _>>().map_err(request(Request::CreateMap))
}

fn wanted(image: &Image, options: &Options, ring_size: u32) -> Vec<Wanted> {
    let lanes = image.lanes;
    let words = longest(image) as u32;
    let constants = image.constants.len() as u32;
    let mut wanted = vec![
        Wanted::new(MapKind::Array, 4, image.memory.size, lanes.values()),
        Wanted::new(MapKind::Array, 4, constants, 1),
        Wanted::new(MapKind::Array, 4, image.memory.globals_end(), 1),
        Wanted::new(MapKind::RingBuffer, 0, 0, ring_size),
        Wanted::new(MapKind::Hash, 8, words.max(1) * 8, shared(image).count().max(1) as u32),
        Wanted::new(MapKind::Array, 4, event::ENDED, 1),
        Wanted::new(MapKind::PerfEvents, 4, 4, lanes.cpus),
        Wanted::new(MapKind::Array, 4, image.alone.max(8), 1),
    ];
    // With many keyed aggregations, each gets less: the kernel allocates all elements up front.
    const WHOLE: u64 = 2;
    let keyed = image.entries.iter().filter(|entries| entries.has_key()).count() as u64;
    let room = options.aggsize / keyed.max(WHOLE) * WHOLE;
    for entries in &image.entries {
        wanted.extend([0, 1].map(|_half| Wanted::entries(entries, room, lanes)));
    }
    // All dynamic variables have the same number of elements.
    let all: u32 = image.memory.dynamics().map(|dynamic| ELEMENT + dynamic.key + dynamic.size()).sum();
    for dynamic in image.memory.dynamics() {
        let entries = options.dynvarsize / u64::from(all);
        let entries = u32::try_from(entries).unwrap_or(u32::MAX).max(FEWEST);
        wanted.push(Wanted::new(MapKind::Hash, dynamic.key, dynamic.value(), entries));
    }
    wanted
}

pub(super) fn fill(image: &Image, maps: &[Map]) -> Result<(), EnableError> {
    let failed = request(Request::UpdateMap);
    maps[memory::Map::Constants as usize].update(&0u32.to_ne_bytes(), &image.constants).map_err(&failed)?;
    let bytes =
        |place: &Located| -> Vec<u8> { place.entry.iter().flat_map(|word| word.to_ne_bytes()).collect() };
    let size = longest(image) * 8;
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (key, place) in shared(image) {
        keys.extend(key.to_ne_bytes());
        values.extend(bytes(place));
        values.resize(keys.len() / size_of_val(&key) * size, 0);
    }
    let places = &maps[memory::Map::Places as usize];
    if !keys.is_empty() {
        places.fill(&keys, &values).map_err(request(Request::UpdateMapBatch))?;
    }
    let alone = image.places().filter(|place| matches!(place.home, Home::Alone(_)));
    let mut value: Vec<u8> = alone.flat_map(bytes).collect();
    value.resize(image.alone.max(8) as usize, 0);
    maps[memory::Map::Alone as usize].update(&0u32.to_ne_bytes(), &value).map_err(&failed)
}

/// The places in the hash, by key.
fn shared(image: &Image) -> impl Iterator<Item = (u64, &Located)> {
    image.places().filter_map(|place| match place.home {
        Home::Shared(key) => Some((key, place)),
        Home::Alone(_) => None,
    })
}

/// The words of the longest entry of a place in the hash.
fn longest(image: &Image) -> usize {
    shared(image).map(|(_, place)| place.entry.len()).max().unwrap_or_default()
}

/// The size of the ring: the buffers of all CPUs in one.
pub(super) fn ring_size(options: &Options, cpus: u32) -> Result<u32, EnableError> {
    // If only the last records are kept, the ring is drained only occasionally.
    const KEPT: u64 = 4 << 20;
    const MOST: u64 = 1 << 30;
    let least = if options.overwrite { KEPT } else { 4096 };
    let all = options.bufsize.saturating_mul(cpus.into()).max(least).checked_next_power_of_two();
    let size = all.filter(|size| *size <= MOST).and_then(|size| u32::try_from(size).ok());
    size.ok_or(EnableError::Memory)
}
