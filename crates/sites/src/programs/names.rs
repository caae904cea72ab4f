//! sites/programs/names.rs: the names that may follow in a description of a program, for completion.

use super::process::{shown_name, stem};
use super::set::Programs;
use kinst_base::space::Space;
use kinst_debuginfo::{Dynamic, ElfFile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The most debug information that is read for the names of inlined functions: it takes less than a second.
const MOST_DEBUG_INFO: u64 = 64 << 20;

/// Folders in which the dynamic linker searches after those of the file.
const FOLDERS: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// The most libraries of a program that are followed.
const MOST_LIBRARIES: usize = 200;

/// Returns the libraries that a program will load when it starts. Their names are those of a process: a link such as
/// `libjq.so.1` has the name of its file.
pub fn libraries(program: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut next = vec![program.to_owned()];
    while let Some(path) = next.pop() {
        let Ok(file) = ElfFile::open(&path) else { continue };
        let Dynamic { needed, folders } = Dynamic::of(&file);
        let origin = path.parent().and_then(Path::to_str).unwrap_or_default();
        let own = folders.iter().map(|folder| folder.replace("$ORIGIN", origin));
        let folders: Vec<String> = own.chain(FOLDERS.map(str::to_owned)).collect();
        for needed in needed {
            let mut paths = folders.iter().map(|folder| Path::new(folder).join(&needed));
            let Some(path) = paths.find_map(|path| path.canonicalize().ok()) else { continue };
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if found.len() < MOST_LIBRARIES && found.insert(name.to_owned(), path.clone()).is_none() {
                next.push(path);
            }
        }
    }
    found
}

/// Returns the library that the second field of a description names: `libc.so.6`, or `libc`.
pub fn library<'a>(libraries: &'a BTreeMap<String, PathBuf>, field: &str) -> Option<&'a Path> {
    let is_named = |(name, _): &(&String, &PathBuf)| *name == field || stem(name) == field;
    libraries.iter().find(is_named).map(|(_, path)| path.as_path())
}

impl Programs {
    /// Returns the names of the files that a process executes: its program is `a.out`.
    pub fn module_names(&self, pid: u32) -> BTreeSet<String> {
        let process = self.process(pid);
        process
            .iter()
            .flat_map(|process| &process.files)
            .map(|mapped| shown_name(mapped).to_owned())
            .collect()
    }

    /// Returns the providers and names of the static probes of a file.
    pub fn static_names(&self, path: &str) -> BTreeSet<(String, String)> {
        let meant = self.meant(Space::File, path).unwrap_or_default();
        let probes = meant.iter().flat_map(|meant| meant.file.static_probes());
        probes.map(|probe| (probe.provider.clone(), probe.name.clone())).collect()
    }

    /// Returns the functions of the files that the second field of a description means. Those that are only inlined
    /// come from the debug information, unless there is much of it.
    pub fn function_names(&self, space: Space, module: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for meant in self.meant(space, module).unwrap_or_default() {
            names.extend(meant.file.functions().iter().map(|(name, _)| name.to_owned()));
            if meant.file.debug_file().is_some_and(|file| file.debug_info_size() <= MOST_DEBUG_INFO) {
                names.extend(meant.file.image().inline_names());
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_this_process() {
        let (programs, space) = (Programs::default(), Space::Process(std::process::id()));
        let modules = programs.module_names(std::process::id());
        assert!(modules.contains("a.out") && modules.contains("libc.so.6"), "{modules:?}");
        assert!(programs.function_names(space, "libc").contains("getpid"));
        let own = std::env::current_exe().unwrap();
        assert!(programs.function_names(Space::File, own.to_str().unwrap()).contains("main"));
        assert!(programs.function_names(Space::File, "main").is_empty());
    }

    #[test]
    fn the_libraries_of_this_program() {
        let all = libraries(&std::env::current_exe().unwrap());
        let mapped = Programs::default().module_names(std::process::id());
        assert!(all.contains_key("libc.so.6"), "{all:?}");
        assert!(
            all.keys().all(|name| mapped.contains(name) || name.starts_with("ld-")),
            "{all:?} {mapped:?}"
        );
        assert_eq!(library(&all, "libc"), all.get("libc.so.6").map(PathBuf::as_path));
        assert!(libraries(Path::new("/nowhere")).is_empty());
    }
}
