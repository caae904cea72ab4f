//! sites/cache/directory.rs: a cache of names shared by several functions, and of each function's modules.

use std::path::Path;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::file::{self, Sealed};
use kinst_debuginfo::{BuildId, Stamp};

/// Kind of these files; see [`super::image::KIND`].
pub(crate) const KIND: u32 = 0x6469_7202;

/// A directory file. Names are stored as hashes: if two names have the same hash, a name is qualified
/// needlessly, or a module is searched in vain.
pub(crate) struct Directory {
    file: Sealed,
}

/// Contents of the file.
pub(crate) struct Contents {
    /// Hashes of all function names, one for each function, in any order.
    pub names: Vec<u64>,
    /// Build id of each module's debug file.
    pub ids: Vec<Option<BuildId>>,
    /// Hash of a function's name, inlined or not, and a module that has it. `None` if not all modules were searched.
    pub knows: Option<Vec<(u64, u32)>>,
}

#[derive(Clone, Copy)]
enum Table {
    /// Hashes of the names that several functions share, sorted.
    Namesakes,
    /// [`IdRecord`]s by module.
    Ids,
    /// One word: whether the next table is valid.
    Complete,
    /// [`KnowsRecord`]s, sorted.
    Knows,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct IdRecord {
    len: u32,
    bytes: [u8; 32],
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct KnowsRecord {
    /// Upper half of the hash.
    name: u32,
    module: u32,
}

impl Directory {
    pub(crate) fn write(key: &[u8], contents: Contents) -> Option<Vec<u8>> {
        let mut names = contents.names;
        names.sort_unstable();
        let mut namesakes: Vec<u64> =
            names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        namesakes.dedup();
        let id = |id: &Option<BuildId>| {
            let mut record = IdRecord { len: 0, bytes: [0; 32] };
            if let Some(id) = id
                && let Some(room) = record.bytes.get_mut(..id.bytes().len())
            {
                room.copy_from_slice(id.bytes());
                record.len = id.bytes().len() as u32;
            }
            record
        };
        let ids: Vec<IdRecord> = contents.ids.iter().map(id).collect();
        let complete = [u32::from(contents.knows.is_some())];
        let knows = contents.knows.unwrap_or_default();
        let mut knows: Vec<KnowsRecord> =
            knows.into_iter().map(|(hash, module)| KnowsRecord { name: upper(hash), module }).collect();
        knows.sort_unstable();
        knows.dedup();
        let tables = [namesakes.as_bytes(), ids.as_bytes(), complete.as_bytes(), knows.as_bytes()];
        file::seal(KIND, key, &tables)
    }

    pub(crate) fn of(file: Sealed) -> Directory {
        Directory { file }
    }

    /// Whether several functions share the name.
    pub(crate) fn is_shared(&self, name: u64) -> bool {
        self.file.rows::<u64>(Table::Namesakes as usize).binary_search(&name).is_ok()
    }

    pub(crate) fn id(&self, module: usize) -> Option<BuildId> {
        let record = self.file.rows::<IdRecord>(Table::Ids as usize).get(module)?;
        let bytes = record.bytes.get(..record.len as usize)?;
        (!bytes.is_empty()).then(|| BuildId::new(bytes))
    }

    /// Returns the modules that may have a function of this name; `None` if not all were searched.
    pub(crate) fn knowing(&self, name: u64) -> Option<Vec<usize>> {
        if self.file.rows::<u32>(Table::Complete as usize) != [1] {
            return None;
        }
        let records = self.file.rows::<KnowsRecord>(Table::Knows as usize);
        let name = upper(name);
        let first = records.partition_point(|record| record.name < name);
        let same = records[first..].iter().take_while(|record| record.name == name);
        Some(same.map(|record| record.module as usize).collect())
    }
}

fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// FNV-1a with 64 bits, which compares names across runs.
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    #[must_use]
    pub(crate) fn with(self, bytes: &[u8]) -> Digest {
        let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Digest(bytes.iter().fold(self.0, step))
    }

    /// Adds a file's path and modification time, or that it does not exist.
    #[must_use]
    /// `seen`: its stamp, if already known.
    pub(crate) fn with_file(self, path: &Path, seen: Option<Stamp>) -> Digest {
        let this = self.with(path.as_os_str().as_encoded_bytes()).with(b"\0");
        match seen.or_else(|| std::fs::metadata(path).ok().map(|file| Stamp::of(&file))) {
            Some(file) => file.words().iter().fold(this, |this, word| this.with(&word.to_le_bytes())),
            None => this.with(b"none"),
        }
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

pub(crate) fn hash(name: &str) -> u64 {
    Digest::new().with(name.as_bytes()).value()
}
