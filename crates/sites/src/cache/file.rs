//! sites/cache/file.rs: cache files, which are tables under a checksum, and their directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{Mmap, MmapOptions};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Format version of all cache files; changes with their contents, and with the rules that compute these.
pub(crate) const VERSION: u32 = 10;
const MAGIC: [u8; 8] = *b"KINSTIDX";
const MOST_TABLES: usize = 12;
const LONGEST_KEY: usize = 32;
/// Alignment with which any record can be read in place.
const ALIGNMENT: usize = 8;

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    kind: u32,
    /// Checksum of everything after it.
    checksum: u32,
    key_len: u32,
    len: u64,
    key: [u8; LONGEST_KEY],
    /// Start and length of each table, from the start of the file.
    tables: [[u32; 2]; MOST_TABLES],
}

/// See [`Cache::imported`].
pub(crate) const IMPORTED: &str = "imported";

/// Offset of the checksummed part.
const CHECKED_FROM: usize = 20;

/// A file with a valid header, length and checksum.
pub struct Sealed {
    bytes: Bytes,
    tables: [[u32; 2]; MOST_TABLES],
    kind: u32,
    key: Vec<u8>,
}

enum Bytes {
    Mapped(Mmap),
    Made(Aligned),
}

/// Bytes in memory, aligned for any record.
struct Aligned {
    words: Vec<u64>,
    len: usize,
}

/// Returns the bytes of a file with these tables; `None` if they are too large.
pub(crate) fn seal(kind: u32, key: &[u8], tables: &[&[u8]]) -> Option<Vec<u8>> {
    let mut header = Header {
        magic: MAGIC,
        version: VERSION,
        kind,
        checksum: 0,
        key_len: u32::try_from(key.len()).ok()?,
        len: 0,
        key: [0; LONGEST_KEY],
        tables: [[0; 2]; MOST_TABLES],
    };
    header.key.get_mut(..key.len())?.copy_from_slice(key);
    let mut bytes = vec![0; size_of::<Header>()];
    for (table, place) in tables.iter().zip(&mut header.tables) {
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        *place = [u32::try_from(bytes.len()).ok()?, u32::try_from(table.len()).ok()?];
        bytes.extend_from_slice(table);
    }
    header.len = bytes.len() as u64;
    bytes[..size_of::<Header>()].copy_from_slice(header.as_bytes());
    header.checksum = crc32fast::hash(&bytes[CHECKED_FROM..]);
    bytes[..size_of::<Header>()].copy_from_slice(header.as_bytes());
    Some(bytes)
}

impl Sealed {
    /// Accepts bytes made by [`seal`].
    pub fn made(bytes: Vec<u8>, kind: u32, key: &[u8]) -> Option<Sealed> {
        let mut words = vec![0_u64; bytes.len().div_ceil(ALIGNMENT)];
        words.as_mut_bytes()[..bytes.len()].copy_from_slice(&bytes);
        Sealed::check(Bytes::Made(Aligned { words, len: bytes.len() }), kind, key)
    }

    /// Accepts bytes from outside, of any kind and key.
    pub fn any(bytes: Vec<u8>) -> Option<Sealed> {
        let (header, _) = Header::read_from_prefix(&bytes).ok()?;
        let key = header.key.get(..header.key_len as usize)?.to_vec();
        Sealed::made(bytes, header.kind, &key)
    }

    fn check(bytes: Bytes, kind: u32, key: &[u8]) -> Option<Sealed> {
        let all = bytes.all();
        let (header, _) = Header::read_from_prefix(all).ok()?;
        let whole = header.magic == MAGIC
            && header.version == VERSION
            && header.kind == kind
            && header.len == all.len() as u64
            && header.key.get(..header.key_len as usize) == Some(key)
            && header.checksum == crc32fast::hash(all.get(CHECKED_FROM..)?);
        whole.then_some(Sealed { tables: header.tables, bytes, kind, key: key.to_vec() })
    }

    pub fn kind(&self) -> u32 {
        self.kind
    }

    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the whole file.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.all()
    }

    pub fn table(&self, number: usize) -> &[u8] {
        let [start, len] = self.tables[number];
        let start = start as usize;
        self.bytes.all().get(start..start.saturating_add(len as usize)).unwrap_or(&[])
    }

    /// Returns a table of records; empty if it does not consist of whole ones.
    pub fn rows<T: FromBytes + Immutable + KnownLayout>(&self, number: usize) -> &[T] {
        <[T]>::ref_from_bytes(self.table(number)).unwrap_or(&[])
    }
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Made(made) => &made.words.as_bytes()[..made.len],
        }
    }
}

/// A cache directory. Only files written by this user or root are read.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Returns the user's directory: `$XDG_CACHE_HOME/kinst/index`, or `~/.cache/kinst/index`. `None` without a home.
    pub fn of_user() -> Option<Cache> {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(Cache::at(&base.join("kinst/index")))
    }

    /// Returns the directories where packages install indices: the sysroot's and this system's.
    pub fn of_packages(sysroot: Option<&Path>) -> Vec<Cache> {
        const DIR: &str = "usr/share/kinst/index";
        sysroot.into_iter().chain([Path::new("/")]).map(|root| Cache::at(&root.join(DIR))).collect()
    }

    /// Returns the cache in a directory, which need not exist.
    pub fn at(dir: &Path) -> Cache {
        Cache { dir: dir.to_owned() }
    }

    /// Returns its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of a file that is written when indices are imported, to invalidate conclusions drawn
    /// without them.
    pub fn imported(&self) -> PathBuf {
        self.dir.join(IMPORTED)
    }

    /// Whether the directory can be written; it is created if it does not exist.
    pub fn can_be_written(&self) -> bool {
        let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        kinst_os::may_write(&self.dir) && self.is_ours()
    }

    /// Whether only this user and root can write to the directory.
    pub fn is_ours(&self) -> bool {
        fs::metadata(&self.dir).is_ok_and(|metadata| is_ours(&metadata))
    }

    /// Opens a file; `None` if none is usable, and it has to be rebuilt.
    pub fn open(&self, name: &str, kind: u32, key: &[u8]) -> Option<Sealed> {
        let file = File::open(self.dir.join(name)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() == 0 || !is_ours(&metadata) {
            return None;
        }
        // SAFETY: the map is only read. Files here are replaced by rename, never rewritten; only this user
        // could truncate a file while it is mapped.
        let map = unsafe { MmapOptions::new().populate().map(&file) }.ok()?;
        Sealed::check(Bytes::Mapped(map), kind, key)
    }

    /// Removes a file, so that it is rebuilt.
    pub fn remove(&self, name: &str) {
        if self.is_ours() {
            let _ = fs::remove_file(self.dir.join(name));
        }
    }

    /// Removes the older half of the files with an extension, if there are more than `most`.
    pub(crate) fn limit(&self, extension: &str, most: usize) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let own = entries.flatten().filter(|entry| {
            Path::new(&entry.file_name()).extension().is_some_and(|found| found == extension)
        });
        let written = |entry: &fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
        let mut files: Vec<_> = own.filter_map(|entry| written(&entry)).collect();
        if files.len() <= most || !self.is_ours() {
            return;
        }
        files.sort_unstable();
        for (_, path) in &files[..files.len() - most / 2] {
            let _ = fs::remove_file(path);
        }
    }

    /// Waits until the file being written is complete, and prevents further writes, because the process is
    /// about to end.
    pub fn close() {
        std::mem::forget(writing());
    }

    /// Writes a file atomically, even if another process writes the same one.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !self.can_be_written() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the directory is not writable, or other users can write to it",
            ));
        }
        let _writing = writing();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let beside = self.dir.join(format!(".{name}.{}.{number}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&beside, self.dir.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

/// Held while a file is written under a temporary name, which would remain if the process ended.
fn writing() -> MutexGuard<'static, ()> {
    static WRITING: Mutex<()> = Mutex::new(());
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_ours(metadata: &fs::Metadata) -> bool {
    const BY_OTHERS: u32 = 0o022;
    let user = kinst_os::identity().euid;
    (metadata.uid() == user || metadata.uid() == 0) && metadata.mode() & BY_OTHERS == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    /// From the newest to the oldest.
    const FILES: [&str; 5] = ["1.function", "2.function", "3.function", "4.function", "5.sites"];

    #[test]
    fn the_older_half_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::at(dir.path());
        for (name, age) in FILES.into_iter().zip(1..) {
            cache.write(name, b"contents").unwrap();
            let file = File::options().write(true).open(dir.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(60 * age)).unwrap();
        }
        let left = || FILES.map(|name| dir.path().join(name).exists());
        cache.limit("function", 4);
        assert_eq!(left(), [true; 5]);
        cache.limit("function", 3);
        assert_eq!(left(), [true, false, false, false, true]);
    }
}
