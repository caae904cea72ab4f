//! debuginfo/tree.rs: the directories of a kernel's modules below a root, and the files in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rayon::prelude::*;

use super::root::{ModuleFile, Root, Stamp, module_name};

/// All directories that may contain modules or their debug information, and those files.
#[derive(Debug, PartialEq, Eq)]
pub struct Tree {
    /// Each directory before its subdirectories.
    pub dirs: Vec<Dir>,
    /// In the order of their directories.
    pub files: Vec<File>,
}

/// A directory that may contain modules.
#[derive(Debug, PartialEq, Eq)]
pub struct Dir {
    /// Absolute, as in the installed system.
    pub path: PathBuf,
    /// `None` if the directory does not exist.
    pub stamp: Option<Stamp>,
}

/// A module, or its debug information.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// The index of its directory.
    pub dir: u32,
    /// Name in the directory: `ext4.ko.xz`.
    pub name: String,
    /// Stamp at the time of the walk.
    pub stamp: Stamp,
}

/// The directory of debug information files.
const DEBUG: &str = "/usr/lib/debug";

/// A directory that was read this soon after a change may have changed again with the same time.
const SETTLED: Duration = Duration::from_secs(2);

impl Root {
    /// Walks over the tree.
    pub fn tree(&self) -> Tree {
        let places = ["/lib/modules", "/usr/lib/modules"];
        let places = places.iter().map(|place| (*place).to_owned());
        let debug = places.clone().map(|place| format!("{DEBUG}{place}"));
        let places: Vec<String> = places.chain(debug).collect();
        let found = places.par_iter().map(|place| self.walk(&Path::new(place).join(self.release()), 0));
        let (mut dirs, mut files) = (Vec::new(), Vec::new());
        for (dir, found) in found.flatten().collect::<Vec<_>>() {
            let number = dirs.len() as u32;
            dirs.push(dir);
            files.extend(found.into_iter().map(|(name, stamp)| File { dir: number, name, stamp }));
        }
        Tree { dirs, files }
    }

    /// Reads a directory and those below it, on all cores. Links are not followed: `build` and `source` lead
    /// to the headers. A file is looked up in its open directory: by whole path, that takes longer than all
    /// the rest.
    fn walk(&self, dir: &Path, depth: usize) -> Vec<(Dir, Vec<(String, Stamp)>)> {
        const MAX_DEPTH: usize = 12;
        // Before it is read: the next check then notices a change in between.
        let stamp = self.stamp(dir);
        let (mut found, mut dirs) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(self.path_of(dir)).into_iter().flatten().flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            if kind.is_dir() && depth < MAX_DEPTH {
                dirs.push(dir.join(name));
            } else if kind.is_file()
                && module_name(Path::new(&name)).is_some()
                && let Ok(file) = entry.metadata()
            {
                found.push((name, Stamp::of(&file)));
            }
        }
        let this = (Dir { path: dir.to_owned(), stamp }, found);
        let below = dirs.par_iter().flat_map(|dir| self.walk(dir, depth + 1));
        std::iter::once(this).chain(below.collect::<Vec<_>>()).collect()
    }

    fn path_of(&self, dir: &Path) -> PathBuf {
        self.path(&dir.to_string_lossy())
    }

    fn stamp(&self, path: &Path) -> Option<Stamp> {
        std::fs::metadata(self.path_of(path)).ok().map(|file| Stamp::of(&file))
    }

    /// Whether no file was added to or removed from these directories since the walk. A file that was
    /// rewritten in place does not show.
    pub fn is_current(&self, tree: &Tree) -> bool {
        tree.dirs.par_iter().all(|dir| self.stamp(&dir.path) == dir.stamp)
    }

    /// All modules of a tree, by name; if a name occurs in several places, the first counts.
    pub fn modules_of(&self, tree: &Tree) -> BTreeMap<String, ModuleFile> {
        let mut modules = BTreeMap::new();
        let dirs: Vec<(PathBuf, bool)> =
            tree.dirs.iter().map(|dir| (self.path_of(&dir.path), dir.path.starts_with(DEBUG))).collect();
        for file in &tree.files {
            let Some((dir, is_debug)) = dirs.get(file.dir as usize) else { continue };
            let Some(name) = module_name(Path::new(&file.name)) else { continue };
            let module = modules.entry(name).or_insert_with_key(|name| ModuleFile::named(name));
            let slot = if *is_debug { &mut module.debug } else { &mut module.binary };
            if slot.is_none() {
                *slot = Some(dir.join(&file.name));
                module.seen[usize::from(*is_debug)] = Some(file.stamp);
            }
        }
        modules
    }

    /// All modules with a file in the tree, by name.
    pub fn modules(&self) -> BTreeMap<String, ModuleFile> {
        self.modules_of(&self.tree())
    }
}

impl Tree {
    /// Whether the stamps of the directories reveal later changes: none was changed a moment ago.
    pub fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let before = now.saturating_sub(SETTLED).as_secs() as i64;
        self.dirs.iter().filter_map(|dir| dir.stamp).all(|stamp| stamp.seconds() < before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(dir: &Path) -> Root {
        Root::sysroot(dir, None).expect("a root")
    }

    #[test]
    fn what_comes_and_goes_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let modules = dir.path().join("lib/modules/6.9.7/kernel");
        std::fs::create_dir_all(&modules).expect("a directory");
        std::fs::write(modules.join("ext4.ko"), "text").expect("a file");
        let walked = root(dir.path()).tree();
        assert!(root(dir.path()).is_current(&walked));
        assert!(!walked.is_settled(), "changed a moment ago");
        assert_eq!(walked.files.len(), 1);
        for change in ["kernel/xfs.ko", "new.ko", "ext4"] {
            let tree = root(dir.path()).tree();
            std::thread::sleep(Duration::from_millis(20));
            std::fs::write(dir.path().join("lib/modules/6.9.7").join(change), "text").expect("a file");
            assert!(!root(dir.path()).is_current(&tree), "{change}");
        }
        let tree = root(dir.path()).tree();
        std::fs::create_dir_all(dir.path().join("usr/lib/debug/lib/modules/6.9.7")).expect("a directory");
        assert!(!root(dir.path()).is_current(&tree), "a place that was not there");
    }

    #[test]
    fn a_file_that_changes_in_its_place_has_another_stamp() {
        let dir = tempfile::tempdir().expect("a directory");
        let module = dir.path().join("lib/modules/6.9.7/kernel/fs/ext4.ko");
        std::fs::create_dir_all(module.parent().expect("a parent")).expect("a directory");
        let seen = |text: &str| {
            std::fs::write(&module, text).expect("a file");
            let found = root(dir.path()).modules().remove("ext4").expect("it");
            let stamp = Stamp::of(&std::fs::metadata(&module).expect("a file"));
            assert_eq!(found.seen(&module), Some(stamp), "the stamp of the path");
            assert_eq!(found.seen(Path::new("ext4.ko")), None, "another file");
            assert!(found.is_as_seen());
            stamp
        };
        assert_ne!(seen("one"), seen("three"));
        let found = root(dir.path()).modules().remove("ext4").expect("it");
        std::fs::write(&module, "changed").expect("a file");
        assert!(!found.is_as_seen());
    }
}
