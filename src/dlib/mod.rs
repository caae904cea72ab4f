//! dlib/: the D libraries that come with the compiler, and the order in which libraries are read.

use std::collections::HashSet;

/// A text of declarations, such as translators over the kernel's types.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    pub name: &'static str,
    pub text: &'static str,
    /// A program that writes none of these words does not need the library.
    pub words: &'static [&'static str],
}

macro_rules! library {
    ($name:literal, $words:expr) => {
        Library { name: $name, text: include_str!($name), words: $words }
    };
}

/// Each after those that it depends on.
pub const LIBRARIES: &[Library] = &[
    library!("path.d", &["cwd", "root"]),
    library!("files.d", &["fds", "fileinfo_t", "fileinfo", "O_*"]),
    library!(
        "procfs.d",
        &[
            "curpsinfo",
            "curlwpsinfo",
            "psinfo_t",
            "lwpsinfo_t",
            "psinfo",
            "lwpsinfo",
            "PR_*",
            "SSLEEP",
            "SRUN",
            "SZOMB",
            "SSTOP",
            "SIDL",
            "SONPROC"
        ]
    ),
    library!(
        "sched.d",
        &["curcpu", "cpuinfo_t", "cpuinfo", "processorid_t", "psetid_t", "chipid_t", "lgrp_id_t"]
    ),
    library!("schedprov.d", &["sched"]),
    library!("proc.d", &["proc"]),
    library!("io.d", &["io", "bufinfo_t", "devinfo_t", "bufinfo", "devinfo", "B_*"]),
    library!("net.d", &["AF_*", "SOCK_*", "IPPROTO_*", "TCP_STATE_*", "tcp_state_string", "TH_*"]),
];

/// The libraries whose words the texts write, and those that they depend on, in the order to read them.
pub fn wanted<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'static Library> {
    let words: HashSet<&str> = texts.flat_map(words).collect();
    let mut wanted = [false; LIBRARIES.len()];
    for (wanted, library) in wanted.iter_mut().zip(LIBRARIES) {
        *wanted = words.iter().any(|word| is_word_of(library, word));
    }
    // A dependency stands before what needs it.
    for index in (0..LIBRARIES.len()).rev().filter(|&index| wanted[index]).collect::<Vec<_>>() {
        mark_dependencies(index, &mut wanted);
    }
    LIBRARIES.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(library, _)| library).collect()
}

fn mark_dependencies(index: usize, wanted: &mut [bool]) {
    for name in dependencies(LIBRARIES[index].text) {
        if let Some(other) = LIBRARIES[..index].iter().position(|library| library.name == name) {
            wanted[other] = true;
            mark_dependencies(other, wanted);
        }
    }
}

/// A word of the table, or one that begins as `O_*` says.
fn is_word_of(library: &Library, word: &str) -> bool {
    library.words.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => word.strip_prefix(start).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        }),
        None => word == *known,
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The names of `#pragma D depends_on library NAME`.
pub fn dependencies(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    let dependency = |line: &'_ str| -> Option<(usize, usize)> {
        let mut words = line.split_ascii_whitespace();
        let heads = ["pragma", "D", "depends_on", "library"].iter().all(|head| words.next() == Some(head));
        let name = words.next().filter(|_| heads)?;
        let start = name.as_ptr() as usize - line.as_ptr() as usize;
        Some((start, start + name.len()))
    };
    lines.filter_map(|line| dependency(line).map(|(start, end)| &line[start..end])).collect()
}

/// Indices of the texts of a directory's libraries, each behind those of its own that it depends on.
pub fn order(files: &[(String, String)]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; files.len()];
    // A stack of our own: who makes files can chain many.
    for first in 0..files.len() {
        let mut open = vec![(first, false)];
        while let Some((index, done)) = open.pop() {
            if done {
                order.push(index);
            } else if !std::mem::replace(&mut seen[index], true) {
                open.push((index, true));
                for name in dependencies(&files[index].1) {
                    open.extend(files.iter().position(|(file, _)| file == name).map(|other| (other, false)));
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        wanted(std::iter::once(text)).iter().map(|library| library.name).collect()
    }

    #[test]
    fn a_library_is_wanted_for_its_words_and_by_those_that_depend_on_it() {
        assert!(names("BEGIN { trace(timestamp); }").is_empty());
        assert_eq!(names("BEGIN { trace(curcpu->cpu_id); }"), ["sched.d"]);
        assert_eq!(names("io:::start { trace(args[0]->b_bcount); }"), ["path.d", "files.d", "io.d"]);
        assert_eq!(names("BEGIN { trace(AF_INET); }"), ["net.d"]);
    }

    #[test]
    fn every_library_stands_behind_its_dependencies() {
        for (index, library) in LIBRARIES.iter().enumerate() {
            for name in dependencies(library.text) {
                let known = LIBRARIES[..index].iter().any(|other| other.name == name);
                assert!(known, "{} depends on {name}", library.name);
            }
        }
    }

    #[test]
    fn files_come_in_the_order_of_their_dependencies() {
        let file = |name: &str, needs: &str| {
            let text = if needs.is_empty() {
                String::new()
            } else {
                format!("#pragma D depends_on library {needs}\n")
            };
            (name.to_string(), text)
        };
        assert_eq!(order(&[file("a.d", "b.d"), file("b.d", "c.d"), file("c.d", "")]), [2, 1, 0]);
        // A circle is read in some order; what is not met is found later.
        assert_eq!(order(&[file("a.d", "b.d"), file("b.d", "a.d")]).len(), 2);
    }
}
