//! debuginfo/root.rs: the locations of a kernel's files: the running system, or a tree under `--sysroot`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::Error;

/// A kernel release and the tree that contains its files.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: Option<PathBuf>,
    /// Whether it is the running kernel, wherever its files are.
    running: bool,
    release: String,
    /// --vmlinux
    vmlinux: Option<PathBuf>,
}

/// A module in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFile {
    /// Name as the kernel writes it: `snd_hda_intel`, whatever the file name is.
    pub name: String,
    /// `x.ko`, `x.ko.xz` …
    pub binary: Option<PathBuf>,
    /// Debug information file at the mirrored path.
    pub debug: Option<PathBuf>,
    /// Stamps of the two files at discovery.
    pub seen: [Option<Stamp>; 2],
}

/// The properties that show whether a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    len: u64,
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    /// The stamp of a file or directory, from its metadata.
    pub fn of(file: &Metadata) -> Stamp {
        let (seconds, nanoseconds) = (file.mtime(), file.mtime_nsec());
        Stamp { len: file.len(), inode: file.ino(), seconds, nanoseconds }
    }

    /// Size in bytes, inode, and time of the last change: seconds since 1970, nanoseconds.
    pub fn words(&self) -> [u64; 4] {
        [self.len, self.inode, self.seconds as u64, self.nanoseconds as u64]
    }

    /// The inverse of [`Stamp::words`].
    pub fn of_words([len, inode, seconds, nanoseconds]: [u64; 4]) -> Stamp {
        Stamp { len, inode, seconds: seconds as i64, nanoseconds: nanoseconds as i64 }
    }

    /// When the file was changed, in seconds since 1970.
    pub fn seconds(&self) -> i64 {
        self.seconds
    }
}

impl ModuleFile {
    /// A module without any known file.
    pub fn named(name: &str) -> ModuleFile {
        ModuleFile { name: name.to_owned(), binary: None, debug: None, seen: [None; 2] }
    }

    /// The stamp that one of the files had at discovery.
    pub fn seen(&self, path: &Path) -> Option<Stamp> {
        let [binary, debug] = self.seen;
        // As strings: comparing paths component by component takes ten times as long.
        let of =
            |file: &Option<PathBuf>| file.as_ref().is_some_and(|file| file.as_os_str() == path.as_os_str());
        binary.filter(|_| of(&self.binary)).or(debug.filter(|_| of(&self.debug)))
    }

    /// Whether the two files are unchanged since discovery.
    pub fn is_as_seen(&self) -> bool {
        let now = |path: &PathBuf| std::fs::metadata(path).ok().map(|file| Stamp::of(&file));
        [&self.binary, &self.debug]
            .into_iter()
            .zip(self.seen)
            .all(|(path, seen)| seen.is_none() || path.as_ref().and_then(now) == seen)
    }
}

impl Root {
    /// The running kernel, with the files of the system.
    pub fn running() -> Root {
        let release = kinst_os::release();
        Root { prefix: None, running: true, release, vmlinux: None }
    }

    /// Takes the named release, or else the only one, or else the newest (preferring one with debug
    /// information).
    pub fn sysroot(prefix: &Path, release: Option<&str>) -> Result<Root, Error> {
        let releases = Releases::below(prefix);
        let release = match release {
            Some(name) if releases.all.contains(name) => name.to_owned(),
            Some(name) if releases.all.is_empty() => {
                return Err(Error::UnknownRelease {
                    root: prefix.to_owned(),
                    release: name.to_owned(),
                    found: vec!["none".to_owned()],
                });
            }
            Some(name) => {
                let found = releases.all.iter().cloned().collect();
                return Err(Error::UnknownRelease {
                    root: prefix.to_owned(),
                    release: name.to_owned(),
                    found,
                });
            }
            None => {
                let newest = |names: &BTreeSet<String>| names.iter().max_by(|a, b| by_version(a, b)).cloned();
                newest(&releases.with_debug)
                    .or_else(|| newest(&releases.all))
                    .ok_or_else(|| Error::NoRelease { root: prefix.to_owned() })?
            }
        };
        Ok(Root { prefix: Some(prefix.to_owned()), running: false, release, vmlinux: None })
    }

    /// Like [`Root::sysroot`], but takes the running release if it is present.
    pub fn sysroot_of_running(prefix: &Path) -> Result<Root, Error> {
        let release = kinst_os::release();
        let is_there = Releases::below(prefix).all.contains(&release);
        Root::sysroot(prefix, is_there.then_some(&*release))
    }

    /// Marks this as the running kernel, with its files under this root.
    pub fn as_running(self) -> Root {
        Root { running: true, ..self }
    }

    /// Uses a vmlinux in another location.
    pub fn with_vmlinux(self, path: Option<&Path>) -> Root {
        Root { vmlinux: path.map(Path::to_owned), ..self }
    }

    /// The file given by --vmlinux, if any.
    pub fn vmlinux(&self) -> Option<&Path> {
        self.vmlinux.as_deref()
    }

    /// The kernel's release, as `uname -r` prints it.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// Whether it is the running kernel, wherever its files are.
    pub fn is_running(&self) -> bool {
        self.running
    }

    /// `path` is absolute, as in the installed system.
    pub fn path(&self, path: &str) -> PathBuf {
        match &self.prefix {
            Some(prefix) => prefix.join(path.trim_start_matches('/')),
            None => PathBuf::from(path),
        }
    }

    /// The distributions' usual locations of a vmlinux with debug information.
    pub fn vmlinux_candidates(&self) -> Vec<PathBuf> {
        let release = &self.release;
        [
            format!("/usr/lib/debug/boot/vmlinux-{release}"),
            format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
            format!("/usr/lib/debug/usr/lib/modules/{release}/vmlinux"),
            format!("/usr/lib/debug/vmlinux-{release}"),
            format!("/usr/lib/debug/boot/vmlinux-{release}.debug"),
            format!("/lib/modules/{release}/build/vmlinux"),
            format!("/lib/modules/{release}/vmlinux"),
            format!("/boot/vmlinux-{release}"),
        ]
        .iter()
        .map(|path| self.path(path))
        .collect()
    }

    /// The possible locations of the bootable kernel.
    pub fn bootable_candidates(&self) -> Vec<PathBuf> {
        let release = &self.release;
        let module = |base: &str| format!("{base}/lib/modules/{release}/vmlinuz");
        [format!("/boot/vmlinuz-{release}"), module(""), module("/usr")]
            .iter()
            .map(|path| self.path(path))
            .collect()
    }

    /// The loaded modules of the running kernel, by name, except kinst, which does not trace itself.
    pub fn loaded_modules(&self) -> Vec<ModuleFile> {
        let text = std::fs::read_to_string("/proc/modules").unwrap_or_default();
        let names = text.lines().filter_map(|line| line.split_ascii_whitespace().next());
        let names: BTreeSet<&str> = names.filter(|name| *name != OWN_MODULE).collect();
        let mut files = self.listed_modules(&names);
        // A module that depmod has not listed may still have a file.
        if names.iter().any(|name| !files.contains_key(*name)) {
            files = self.modules();
        }
        names.iter().map(|name| files.remove(*name).unwrap_or_else(|| ModuleFile::named(name))).collect()
    }

    /// The modules that may contain a function, according to depmod's lists: modules that export it, and
    /// modules whose name is a prefix of the function's name.
    pub fn suspects(&self, function: &str) -> Vec<ModuleFile> {
        let dir = self.path("/lib/modules").join(&self.release);
        let list = std::fs::read_to_string(dir.join("modules.symbols")).unwrap_or_default();
        let exported = list.lines().filter_map(|line| line.strip_prefix("alias symbol:")?.split_once(' '));
        let mut names: BTreeSet<&str> =
            exported.filter(|(symbol, _)| *symbol == function).map(|(_, module)| module).collect();
        let bare = function.trim_start_matches('_');
        names.extend(bare.match_indices('_').map(|(end, _)| &bare[..end]));
        let mut files = self.listed_modules(&names);
        if !dir.join("modules.dep").exists() {
            files = self.modules();
            files.retain(|name, _| names.contains(name.as_str()));
        }
        files.into_values().collect()
    }

    /// The files listed by depmod: reading a thousand directories takes longer than a whole trace.
    fn listed_modules(&self, wanted: &BTreeSet<&str>) -> BTreeMap<String, ModuleFile> {
        let release = &self.release;
        let dir = self.path("/lib/modules").join(release);
        let list = std::fs::read_to_string(dir.join("modules.dep")).unwrap_or_default();
        let paths = list.lines().filter_map(|line| line.split_once(':')).map(|(path, _)| Path::new(path));
        let named = paths.filter_map(|path| Some((module_name(path)?, path)));
        let file = |(name, path): (String, &Path)| {
            let unpacked = path.to_str().and_then(|path| path.split_once(".ko")).map(|(stem, _)| stem);
            let debug =
                ["/usr/lib/debug/lib/modules", "/usr/lib/debug/usr/lib/modules"].iter().flat_map(|base| {
                    let dir = self.path(base).join(release);
                    [".ko", ".ko.debug"].map(|end| dir.join(format!("{}{end}", unpacked.unwrap_or_default())))
                });
            let debug = debug.into_iter().find(|path| path.exists());
            let binary = Some(dir.join(path));
            (name.clone(), ModuleFile { binary, debug, ..ModuleFile::named(&name) })
        };
        named.filter(|(name, _)| wanted.contains(name.as_str())).map(file).collect()
    }
}

/// The kernel module of this program.
pub const OWN_MODULE: &str = "kinst";

/// The module's name, from a file name: the kernel has `_` where the file may have `-`.
pub(crate) fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let (stem, rest) = file.split_once(".ko")?;
    matches!(rest, "" | ".xz" | ".zst" | ".gz" | ".debug").then(|| stem.replace('-', "_"))
}

struct Releases {
    all: BTreeSet<String>,
    with_debug: BTreeSet<String>,
}

impl Releases {
    fn below(prefix: &Path) -> Releases {
        let names = |dir: &str| -> Vec<String> {
            let entries = std::fs::read_dir(prefix.join(dir)).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        };
        let files = |dir: &str, stem: &str| -> Vec<String> {
            names(dir).iter().filter_map(|name| name.strip_prefix(stem)).map(str::to_owned).collect()
        };
        let mut with_debug: BTreeSet<String> = files("usr/lib/debug/boot", "vmlinux-").into_iter().collect();
        for dir in ["usr/lib/debug/lib/modules", "usr/lib/debug/usr/lib/modules"] {
            with_debug.extend(
                names(dir).into_iter().filter(|name| prefix.join(dir).join(name).join("vmlinux").exists()),
            );
        }
        let mut all = with_debug.clone();
        for dir in
            ["lib/modules", "usr/lib/modules", "usr/lib/debug/lib/modules", "usr/lib/debug/usr/lib/modules"]
        {
            all.extend(names(dir));
        }
        all.extend(files("boot", "vmlinuz-"));
        all.extend(files("boot", "vmlinux-"));
        Releases { all, with_debug }
    }
}

/// Compares digits as numbers: 6.10 is newer than 6.9.
fn by_version(a: &str, b: &str) -> Ordering {
    let parts = |text: &str| -> Vec<(u64, String)> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = rest[..digits].parse().unwrap_or(0);
            rest = &rest[digits..];
            let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            parts.push((number, rest[..word].to_owned()));
            rest = &rest[word..];
        }
        parts
    };
    parts(a).cmp(&parts(b))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn names_of_modules() {
        assert_eq!(module_name(Path::new("a/snd-hda-intel.ko.xz")).as_deref(), Some("snd_hda_intel"));
        assert_eq!(module_name(Path::new("ext4.ko")).as_deref(), Some("ext4"));
        assert_eq!(module_name(Path::new("ext4.ko.debug")).as_deref(), Some("ext4"));
        assert_eq!(module_name(Path::new("modules.dep")), None);
        assert_eq!(module_name(Path::new("x.korea")), None);
    }

    #[test]
    fn the_newest_release_with_debug_information_is_chosen() {
        let dir = tempfile::tempdir().expect("a directory");
        let missing = Root::sysroot(dir.path(), None).expect_err("nothing there");
        assert!(matches!(missing, Error::NoRelease { .. }));
        for name in ["lib/modules/6.10.1", "lib/modules/6.9.7", "usr/lib/debug/boot"] {
            std::fs::create_dir_all(dir.path().join(name)).expect("a directory");
        }
        assert_eq!(Root::sysroot(dir.path(), None).expect("a root").release(), "6.10.1");
        std::fs::write(dir.path().join("usr/lib/debug/boot/vmlinux-6.9.7"), "").expect("a file");
        assert_eq!(Root::sysroot(dir.path(), None).expect("a root").release(), "6.9.7");
        assert_eq!(Root::sysroot(dir.path(), Some("6.10.1")).expect("a root").release(), "6.10.1");
        let unknown = Root::sysroot(dir.path(), Some("5.0")).expect_err("not there");
        assert!(matches!(unknown, Error::UnknownRelease { .. }));
    }
}
