//! sites/programs/process.rs: the program and the libraries that a process has mapped as code.

use std::fs::File;
use std::path::PathBuf;

use kinst_base::glob::Pattern;
use kinst_base::space::PROGRAM;
use kinst_os::maps::{self, Mapping};

/// A file that a process has mapped as code.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    /// The last part of the path.
    pub name: String,
    /// Path in the mount namespace of the process.
    pub path: PathBuf,
    /// Path through which the file can be opened here.
    pub link: PathBuf,
    /// Whether it is the program, and not a library.
    pub program: bool,
    /// Mappings with its code.
    pub code: Vec<Mapping>,
    /// Device and inode.
    pub file: (String, u64),
}

/// The code of a process.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub files: Vec<Mapped>,
    /// Files that cannot be opened.
    pub closed: Vec<PathBuf>,
    /// Whether it has code that is in no file, as a compiler at run time makes.
    pub anonymous: bool,
    /// Link to its root directory, if that is not the one of this process.
    pub root: Option<PathBuf>,
    /// Its memory; `None` if it may not be read.
    pub memory: Option<File>,
}

impl Process {
    /// Reads the mappings of a process.
    pub(super) fn read(pid: u32) -> std::io::Result<Process> {
        let mappings = maps::of(pid.into())?;
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let memory = File::open(format!("/proc/{pid}/mem")).ok();
        let mut process = Process { memory, root: maps::root(pid.into()), ..Process::default() };
        for mapping in mappings.into_iter().filter(|mapping| mapping.code) {
            if !mapping.is_of_file() {
                process.anonymous |= mapping.path.is_empty();
                continue;
            }
            let file = (mapping.device.clone(), mapping.inode);
            if let Some(known) = process.files.iter_mut().find(|known| known.file == file) {
                known.code.push(mapping);
                continue;
            }
            process.anonymous |= is_shared_memory(&mapping.path);
            let path = PathBuf::from(&mapping.path);
            let Some(link) = mapping.opens(pid.into()) else {
                if !process.closed.contains(&path) {
                    process.closed.push(path);
                }
                continue;
            };
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            // The link of a removed program ends with " (deleted)".
            let shown = program.to_str().map(|shown| shown.strip_suffix(" (deleted)").unwrap_or(shown));
            let program = shown == path.to_str();
            process.files.push(Mapped { name, path, link, program, code: vec![mapping], file });
        }
        Ok(process)
    }

    /// Returns the files that the second field of a description means: a.out, a path, a name or a glob over names.
    /// A library's name may end before `.so`: `libc` is `libc.so.6`.
    pub(super) fn matching(&self, field: &str) -> Vec<&Mapped> {
        let pattern = Pattern::new(field);
        let is_meant = |mapped: &&Mapped| match field {
            "" => true,
            PROGRAM => mapped.program,
            path if path.starts_with('/') => mapped.path.to_str() == Some(path),
            _ => pattern.matches(&mapped.name) || pattern.matches(stem(&mapped.name)),
        };
        self.files.iter().filter(is_meant).collect()
    }
}

/// Whether a mapped file is memory without a file system, which a compiler at run time may share with itself.
fn is_shared_memory(path: &str) -> bool {
    path.starts_with("/memfd:") || path.starts_with("/dev/zero")
}

/// Returns the name that descriptions print.
pub(super) fn shown_name(mapped: &Mapped) -> &str {
    if mapped.program { PROGRAM } else { &mapped.name }
}

/// Returns a library's name without its version: `libc` for `libc.so.6`.
pub(super) fn stem(name: &str) -> &str {
    name.split_once(".so").map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(files: &[(&str, bool)]) -> Process {
        let mapped = |(path, program): &(&str, bool)| Mapped {
            name: path.rsplit('/').next().unwrap_or_default().to_owned(),
            path: PathBuf::from(path),
            link: PathBuf::from(path),
            program: *program,
            code: Vec::new(),
            file: (String::new(), 0),
        };
        Process { files: files.iter().map(mapped).collect(), ..Process::default() }
    }

    #[test]
    fn modules_of_a_process() {
        let process = process(&[
            ("/usr/bin/jq", true),
            ("/usr/lib/libjq.so.1.0.4", false),
            ("/usr/lib/libc.so.6", false),
            ("/usr/lib/libcrypt.so.1", false),
        ]);
        let names =
            |field: &str| -> Vec<&str> { process.matching(field).into_iter().map(shown_name).collect() };
        assert_eq!(names("a.out"), ["a.out"]);
        assert_eq!(names("jq"), ["a.out"]);
        assert_eq!(names("libc"), ["libc.so.6"]);
        assert_eq!(names("libc.so.6"), ["libc.so.6"]);
        assert_eq!(names("libc*"), ["libc.so.6", "libcrypt.so.1"]);
        assert_eq!(names("/usr/lib/libc.so.6"), ["libc.so.6"]);
        assert_eq!(names("").len(), 4);
        assert!(names("libm").is_empty());
    }

    #[test]
    fn the_files_of_this_process() {
        let process = Process::read(std::process::id()).unwrap();
        let own = std::env::current_exe().unwrap();
        let program = process.matching("a.out");
        assert_eq!(program.iter().map(|file| file.path.clone()).collect::<Vec<_>>(), [own]);
        assert!(!process.matching("libc").is_empty());
    }
}
