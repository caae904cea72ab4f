//! cli/complete/line.rs: the rest of the command line: the kernel, the process and the program that it names.

use std::path::{Path, PathBuf};

/// The values of other options that descriptions depend on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// --sysroot
    pub sysroot: Option<PathBuf>,
    /// -p
    pub pid: Option<u32>,
    /// The program of -c.
    pub program: Option<PathBuf>,
}

impl Line {
    /// Returns the values on the command line that is being completed.
    pub(super) fn current() -> Line {
        let arguments: Vec<String> =
            std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
        let path = std::env::var("PATH").unwrap_or_default();
        Line::of(&arguments, &path)
    }

    /// Returns the values of some arguments; `path` is the list of folders with programs.
    fn of(arguments: &[String], path: &str) -> Line {
        let process = value(arguments, Some("-p"), "--pid");
        let command = value(arguments, Some("-c"), "--command");
        Line {
            sysroot: value(arguments, None, "--sysroot").map(PathBuf::from),
            pid: process.and_then(|pid| pid.parse().ok()),
            program: command.and_then(|command| program(&command, path)),
        }
    }
}

/// Returns the value of the first option with one of these names, without quotes.
fn value(arguments: &[String], letter: Option<&str>, name: &str) -> Option<String> {
    let named = |(at, text): (usize, &String)| {
        let next = || arguments.get(at + 1).cloned();
        match text.strip_prefix(name) {
            Some("") => return next(),
            Some(value) => return value.strip_prefix('=').map(str::to_owned),
            None => {}
        }
        match text.strip_prefix(letter?)? {
            "" => next(),
            value => Some(value.to_owned()),
        }
    };
    arguments.iter().enumerate().find_map(named)
}

/// Returns the path of the program of a command. Shells pass words with their quotes.
fn program(command: &str, path: &str) -> Option<PathBuf> {
    let command = command.trim_start_matches(['\'', '"']);
    let word = command.split([' ', '\'', '"']).next().filter(|word| !word.is_empty())?;
    if word.contains('/') {
        return std::path::absolute(word).ok();
    }
    path.split(':').map(|folder| Path::new(folder).join(word)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_descriptions_depend_on() {
        let of = |words: &[&str]| {
            Line::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), "/nowhere:/bin")
        };
        assert_eq!(of(&["dtrace", "-n", "BEGIN"]), Line::default());
        assert_eq!(of(&["-p", "17", "-n"]).pid, Some(17));
        assert_eq!(of(&["-p17"]).pid, Some(17));
        assert_eq!(of(&["--pid=17"]).pid, Some(17));
        assert_eq!(of(&["--sysroot", "/x"]).sysroot, Some(PathBuf::from("/x")));
        assert_eq!(of(&["--sysroot=/x"]).sysroot, Some(PathBuf::from("/x")));
        let program = Some(PathBuf::from("/bin/sh"));
        for words in [&["-c", "sh"][..], &["-c", "'sh -c \"x\"'"], &["-c/bin/sh -x"], &["--command=sh x"]] {
            assert_eq!(of(words).program, program, "{words:?}");
        }
        assert_eq!(of(&["-c", "no-such-program"]).program, None);
        assert_eq!(of(&["-c"]), Line::default());
    }
}
