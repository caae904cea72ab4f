//! sites/listing/programs.rs: the source functions at an address of a user program, including inlined ones.

use super::frames::{self, SourceFrame};
use crate::image::info::Info;
use crate::target::program::Program;
use kinst_debuginfo::{ElfFile, Error, debug_file_of};
use kinst_dwarf::DebugInfo;
use self_cell::self_cell;

self_cell!(
    struct Opened {
        owner: ElfFile,
        #[not_covariant]
        dependent: Info,
    }
);

/// Debug information of a program or library, in the same or a separate file.
pub struct ProgramSource {
    opened: Opened,
}

impl ProgramSource {
    /// Returns `None` without debug information.
    pub fn of(program: &Program) -> Option<ProgramSource> {
        let image = program.image();
        let image = match image.has_dwarf() {
            true => ElfFile::open(image.path()).ok()?,
            false => debug_file_of(image).found?,
        };
        Some(ProgramSource { opened: Opened::try_new(image, open).ok()? })
    }

    /// Returns the functions at an address of the file, the innermost first; the last one has the code. Empty
    /// without source information.
    pub fn at(&self, address: u64, lines: bool) -> Vec<SourceFrame> {
        self.opened.with_dependent(|_, info| frames::of(info, address, lines)).unwrap_or_default()
    }
}

fn open(image: &ElfFile) -> Result<Info<'_>, Error> {
    DebugInfo::open(image).map(|info| Info::File(Box::new(info)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The functions at each address of a program are the ones that addr2line names.
    #[test]
    fn frames_of_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let (source, program) = (dir.path().join("p.c"), dir.path().join("p"));
        let text = "static inline __attribute__((always_inline)) int inner(int x) {\n    return x * 7 + 1;\n}\n\
                    static inline __attribute__((always_inline)) int outer(int x) {\n    return inner(x) ^ 5;\n}\n\
                    int main(int argc, char **argv) {\n    return outer(argc) + (argv != 0);\n}\n";
        std::fs::write(&source, text).unwrap();
        let gcc = Command::new("gcc").args(["-O2", "-g", "-o"]).args([&program, &source]).status();
        assert!(gcc.is_ok_and(|status| status.success()));
        let opened = Program::open(&program).unwrap();
        let known = ProgramSource::of(&opened).unwrap();
        let symbols = Command::new("nm").arg("-S").arg(&program).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let main = symbols.lines().find(|line| line.ends_with(" main")).unwrap();
        let word = |index| u64::from_str_radix(main.split(' ').nth(index).unwrap(), 16).unwrap();
        let mut inlined = 0;
        for address in word(0)..word(0) + word(1) {
            let at = format!("{address:#x}");
            let out =
                Command::new("addr2line").args(["-i", "-f", "-e"]).arg(&program).arg(&at).output().unwrap();
            let theirs = String::from_utf8(out.stdout).unwrap();
            let ours = known.at(address, true);
            let names: Vec<&str> = theirs.lines().step_by(2).collect();
            assert_eq!(ours.iter().map(|frame| &*frame.function).collect::<Vec<_>>(), names, "{at}");
            inlined += usize::from(ours.len() == 3);
        }
        assert!(inlined > 0);
        let plain = dir.path().join("plain");
        let strip = Command::new("strip").arg("-o").args([&plain, &program]).status();
        assert!(strip.is_ok_and(|status| status.success()));
        assert!(ProgramSource::of(&Program::open(&plain).unwrap()).is_none());
    }
}
