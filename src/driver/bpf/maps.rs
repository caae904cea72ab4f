//! driver/bpf/maps.rs: the maps of a session, and what is in them before it begins.

use super::error::{EnableError, request};
use crate::bpf::program::event;
use crate::bpf::{Image, Located, memory};
use crate::dif::Options;
use crate::os::bpf::{Map, MapKind};

/// Makes the maps, in the order of their numbers.
pub fn make(image: &Image, options: &Options, cpus: u32, ring_size: u32) -> Result<Vec<Map>, EnableError> {
    let words = longest(image) as u32;
    let most = |bytes: u64, each: u32| u32::try_from(bytes / u64::from(each)).unwrap_or(u32::MAX).max(16);
    let constants = image.constants.len() as u32;
    let mut wanted = vec![
        (MapKind::Array, 4, image.memory.size, cpus),
        (MapKind::Array, 4, constants, 1),
        (MapKind::Array, 4, image.memory.globals_end(), 1),
        (MapKind::RingBuffer, 0, 0, ring_size),
        (MapKind::Hash, 8, words.max(1) * 8, image.places().count().max(1) as u32),
        (MapKind::Array, 4, event::ENDED, 1),
        (MapKind::PerfEvents, 4, 4, cpus),
    ];
    // Of very many, each has less.
    const WHOLE: u64 = 4;
    let actions = image.entries.len() as u64;
    let room = options.aggsize / actions.max(WHOLE) * WHOLE;
    for entries in &image.entries {
        let (key, value) = (entries.key_size(), entries.value_size());
        let one = (MapKind::PerCpuHash, key, value, most(room, key + value));
        wanted.extend([one, one]);
    }
    let all: u32 = image.memory.dynamics().map(|dynamic| dynamic.key + dynamic.size()).sum();
    for dynamic in image.memory.dynamics() {
        wanted.push((MapKind::Hash, dynamic.key, dynamic.value(), most(options.dynvarsize, all + 64)));
    }
    let made =
        wanted.into_iter().map(|(kind, key, value, entries)| Map::new(kind, key, value, entries, cpus));
    made.collect::<Result<_, _>>().map_err(request("BPF_MAP_CREATE"))
}

pub fn fill(image: &Image, maps: &[Map]) -> Result<(), EnableError> {
    let failed = request("BPF_MAP_UPDATE_ELEM");
    maps[memory::Map::Constants as usize].update(&0u32.to_ne_bytes(), &image.constants).map_err(&failed)?;
    let places = &maps[memory::Map::Places as usize];
    let words = longest(image);
    for Located { key, entry, .. } in image.places() {
        let mut value: Vec<u8> = entry.iter().flat_map(|word| word.to_ne_bytes()).collect();
        value.resize(words * 8, 0);
        places.update(&key.to_ne_bytes(), &value).map_err(&failed)?;
    }
    Ok(())
}

/// The words of the longest entry of a place.
fn longest(image: &Image) -> usize {
    image.places().map(|place| place.entry.len()).max().unwrap_or_default()
}

/// The size of the ring: a buffer for each CPU, in one.
pub fn ring_size(options: &Options, cpus: u32) -> u32 {
    // Where the last records are kept, they are taken out of it now and then only.
    const KEPT: u64 = 4 << 20;
    let least = if options.overwrite { KEPT } else { 4096 };
    let all = options.bufsize.saturating_mul(cpus.into()).clamp(least, 1 << 30);
    (all as u32).next_power_of_two()
}
