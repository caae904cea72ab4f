//! sites/cache/tree.rs: a cache of the directories of a sysroot's modules, so that they need not be read again.

use std::path::{Path, PathBuf};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::file::{self, Sealed};
use kinst_debuginfo::{Dir, File, Stamp, Tree};

/// Kind of these files; see [`super::image::KIND`].
pub(crate) const KIND: u32 = 0x7472_6501;

#[derive(Clone, Copy)]
enum Table {
    /// The names, concatenated.
    Names,
    Dirs,
    Files,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Record {
    name_at: u32,
    name_len: u32,
    /// For a file, the index of its directory; for a directory, whether it exists.
    of: u64,
    stamp: [u64; 4],
}

/// Returns `None` if a path is not UTF-8.
pub(crate) fn write(key: &[u8], tree: &Tree) -> Option<Vec<u8>> {
    let mut names = String::new();
    let mut record = |name: &str, of: u64, stamp: Option<Stamp>| {
        let name_at = u32::try_from(names.len()).ok()?;
        names.push_str(name);
        let stamp = stamp.map_or([0; 4], |stamp| stamp.words());
        Some(Record { name_at, name_len: u32::try_from(name.len()).ok()?, of, stamp })
    };
    let dirs: Option<Vec<Record>> = tree
        .dirs
        .iter()
        .map(|dir| record(dir.path.to_str()?, u64::from(dir.stamp.is_some()), dir.stamp))
        .collect();
    let files: Option<Vec<Record>> =
        tree.files.iter().map(|file| record(&file.name, u64::from(file.dir), Some(file.stamp))).collect();
    file::seal(KIND, key, &[names.as_bytes(), dirs?.as_bytes(), files?.as_bytes()])
}

/// Returns `None` if the file is of another kind.
pub(crate) fn read(file: &Sealed) -> Option<Tree> {
    let names = file.table(Table::Names as usize);
    let name = |record: &Record| {
        let start = record.name_at as usize;
        let name = names.get(start..start.checked_add(record.name_len as usize)?)?;
        std::str::from_utf8(name).ok()
    };
    let dir = |record: &Record| {
        let path = Path::new(name(record)?);
        let stamp = (record.of != 0).then(|| Stamp::of_words(record.stamp));
        path.is_absolute().then(|| Dir { path: PathBuf::from(path), stamp })
    };
    let dirs: Option<Vec<Dir>> = file.rows::<Record>(Table::Dirs as usize).iter().map(dir).collect();
    let dirs = dirs.filter(|dirs| !dirs.is_empty())?;
    let of = |record: &Record| {
        let name = name(record)?.to_owned();
        let dir = u32::try_from(record.of).ok().filter(|dir| (*dir as usize) < dirs.len())?;
        (!name.contains('/')).then(|| File { dir, name, stamp: Stamp::of_words(record.stamp) })
    };
    let files: Option<Vec<File>> = file.rows::<Record>(Table::Files as usize).iter().map(of).collect();
    Some(Tree { files: files?, dirs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let stamp = |word: u64| Stamp::of_words([word, word + 1, word + 2, word + 3]);
        let dir = |path: &str, stamp| Dir { path: PathBuf::from(path), stamp };
        let file = |dir, name: &str, word| File { dir, name: name.to_owned(), stamp: stamp(word) };
        Tree {
            dirs: vec![dir("/lib/modules/6.6.6", Some(stamp(1))), dir("/usr/lib/modules/6.6.6", None)],
            files: vec![file(0, "a.ko", 7), file(0, "b.ko.xz", 9)],
        }
    }

    fn opened(bytes: Vec<u8>) -> Option<Tree> {
        read(&Sealed::made(bytes, KIND, b"key")?)
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = write(b"key", &tree()).expect("text");
        assert_eq!(opened(bytes), Some(tree()));
    }

    #[test]
    fn a_file_of_no_directory_is_refused() {
        for (dir, name) in [(2, "a.ko"), (0, "../a.ko")] {
            let mut tree = tree();
            tree.files.push(File { dir, name: name.to_owned(), stamp: Stamp::of_words([0; 4]) });
            assert_eq!(opened(write(b"key", &tree).expect("text")), None, "{dir} {name}");
        }
    }
}
