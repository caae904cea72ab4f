//! sites/programs/names.rs: the names that may follow in a description of a program, for completion.

use super::process::shown_name;
use super::set::Programs;
use kinst_base::space::Space;
use std::collections::BTreeSet;

/// The most debug information that is read for the names of inlined functions: it takes less than a second.
const MOST_DEBUG_INFO: u64 = 64 << 20;

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
}
