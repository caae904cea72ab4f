//! os/maps.rs: the mappings of a process, from /proc/PID/maps, and the files that are mapped.

use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// One mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses in the process.
    pub range: Range<u64>,
    /// File offset of the first byte.
    pub offset: u64,
    /// Device of the file, as `major:minor`.
    pub device: String,
    /// Inode of the file; 0 without one.
    pub inode: u64,
    /// Path of the file in the mount namespace of the process, or a name in brackets; empty for anonymous memory.
    pub path: String,
    /// Whether the file was removed or replaced.
    pub deleted: bool,
    /// Whether it is executable.
    pub code: bool,
    /// Whether writes go to the file: a probe cannot be placed there.
    pub shared: bool,
}

impl Mapping {
    /// Whether bytes of a file are mapped.
    pub fn is_of_file(&self) -> bool {
        self.path.starts_with('/') && self.inode != 0
    }

    /// Returns the path that opens exactly the mapped file; see [`opens`].
    pub fn opens(&self, pid: u64) -> Option<PathBuf> {
        opens(pid, &self.range, &self.path, self.inode)
    }
}

/// Returns the path that opens exactly the file with this inode that a process has mapped, even if it was removed, or is
/// in another mount namespace. `None` if there is none that this process may use.
pub fn opens(pid: u64, range: &Range<u64>, path: &str, inode: u64) -> Option<PathBuf> {
    let named = [PathBuf::from(format!("/proc/{pid}/root{path}")), PathBuf::from(path)];
    let is_same = |path: &&PathBuf| path.metadata().is_ok_and(|data| data.ino() == inode);
    // This link leads to the mapped file even if its path was deleted or replaced.
    let mapped = PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", range.start, range.end));
    let found = named.iter().find(is_same).cloned();
    found.or_else(|| mapped.exists().then_some(mapped))
}

/// Returns the link to the root directory of a process; `None` if it is that of this process.
pub fn root(pid: u64) -> Option<PathBuf> {
    let own = PathBuf::from("/proc/self/root");
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let of = |path: &PathBuf| path.metadata().map(|data| (data.dev(), data.ino())).ok();
    // The mount namespaces differ if the links do.
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let is_same = of(&own) == of(&root) && namespace("self") == namespace(&pid.to_string());
    (!is_same && root.exists()).then_some(root)
}

/// Reads the mappings of a process that are named or executable, by address.
pub fn of(pid: u64) -> std::io::Result<Vec<Mapping>> {
    std::fs::read_to_string(format!("/proc/{pid}/maps")).map(|text| parse(&text))
}

/// Parses named mappings, and anonymous ones that are executable. Other lines are left out.
pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).filter(|mapping| mapping.code || !mapping.path.is_empty()).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    let rights = words.next()?;
    let (code, shared) = (rights.contains('x'), rights.ends_with('s'));
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let device = words.next()?.to_owned();
    let inode = words.next()?.parse().ok()?;
    let path = words.next().unwrap_or_default().trim_start();
    let (path, deleted) = path.strip_suffix(" (deleted)").map_or((path, false), |path| (path, true));
    Some(Mapping { range, offset, device, inode, path: path.to_owned(), deleted, code, shared })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_files_and_of_code() {
        let maps = "55d0c0000000-55d0c0010000 r-xp 00002000 08:01 131 /usr/bin/cat\n\
                    7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n\
                    7f0000002000-7f0000003000 rwxp 00000000 00:00 0 \nbroken\n\
                    7f0000003000-7f0000004000 r--s 00000000 fd:00 7    /tmp/a b (deleted)\n";
        let found = parse(maps);
        let shown = |found: &Mapping| (found.path.clone(), found.offset, found.code, found.deleted);
        let shown: Vec<_> = found.iter().map(shown).collect();
        let expected = [
            ("/usr/bin/cat".to_owned(), 0x2000, true, false),
            (String::new(), 0, true, false),
            ("/tmp/a b".to_owned(), 0, false, true),
        ];
        assert_eq!(shown, expected);
        assert!(found[0].is_of_file() && !found[1].is_of_file());
        assert!(!found[0].shared && found[2].shared);
    }

    #[test]
    fn a_mapped_file_can_be_opened_after_it_was_removed() {
        let own = of(std::process::id().into()).unwrap();
        let path = std::env::current_exe().unwrap();
        let code = own.iter().find(|found| found.code && path.as_os_str() == &*found.path).unwrap();
        assert!(code.opens(std::process::id().into()).is_some());
        let gone = Mapping { path: "/nowhere/at/all".to_owned(), deleted: true, ..code.clone() };
        // The link of the mapping needs privileges that not every test has.
        let link = format!("/proc/self/map_files/{:x}-{:x}", code.range.start, code.range.end);
        assert_eq!(gone.opens(std::process::id().into()).is_some(), std::fs::metadata(link).is_ok());
    }
}
