//! dlib/: the D libraries that come with the compiler, and the order in which libraries are loaded.

use std::collections::HashSet;

/// A source file of declarations, such as translators over the kernel's types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library {
    pub name: &'static str,
    pub text: &'static str,
    /// A program that contains none of these words does not need the library.
    pub words: &'static [&'static str],
}

macro_rules! library {
    ($name:literal, $words:expr) => {
        Library { name: $name, text: include_str!($name), words: $words }
    };
}

/// The words of the libraries that read requests of the block layer. One of two libraries with the same
/// names is left out, so no other library can depend on either.
const IO_WORDS: &[&str] =
    &["bufinfo_t", "devinfo_t", "bufinfo", "devinfo", "io:", "vminfo:", "bio", "fileinfo_t"];

/// The libraries, each after its dependencies.
pub(crate) const LIBRARIES: &[Library] = &[
    library!("fcntl.d", &["O_*"]),
    library!("path.d", &["cwd", "root"]),
    library!("files.d", &["fds", "fileinfo_t", "fileinfo"]),
    library!("procflags.d", &["PR_*", "SSLEEP", "SRUN", "SZOMB", "SSTOP", "SIDL", "SONPROC", "SWAIT"]),
    library!("procfs.d", &["curpsinfo", "curlwpsinfo", "psinfo_t", "lwpsinfo_t", "psinfo", "lwpsinfo"]),
    library!(
        "sched.d",
        &[
            "curcpu",
            "pset",
            "chip",
            "lgrp",
            "cpuinfo_t",
            "cpuinfo",
            "processorid_t",
            "psetid_t",
            "chipid_t",
            "lgrp_id_t",
        ]
    ),
    library!("schedprov.d", &["sched:"]),
    library!("proc.d", &["proc:"]),
    library!("bufflags.d", &["B_*"]),
    library!("fsmount.d", IO_WORDS),
    library!("fsmount_none.d", IO_WORDS),
    library!("blockdev.d", IO_WORDS),
    library!("blockdev_none.d", IO_WORDS),
    library!("io.d", IO_WORDS),
    library!("iodentry.d", IO_WORDS),
    library!("iodentry_union.d", IO_WORDS),
    library!("iofile.d", IO_WORDS),
    library!("ioprov.d", &["io:"]),
    library!(
        "socket.d",
        &["AF_*", "PF_*", "SOCK_*", "SOL_*", "SO_*", "IPPROTO_*", "MSG_*", "SHUT_*", "ARPHRD_*"]
    ),
    library!("tcpstate.d", &["TCP_STATE_*", "tcp_state_string", "TH_*"]),
    library!(
        "inet.d",
        &[
            "pktinfo_t",
            "csinfo_t",
            "ipinfo_t",
            "ifinfo_t",
            "ipv4info_t",
            "ipv6info_t",
            "ipaddr_t",
            "in6_addr_t",
            "ipha_t",
            "ip6_t",
            "tcph_t",
            "udph_t",
            "netstackid_t",
            "zoneid_t",
            "IPH_*"
        ]
    ),
    library!("tcp.d", &["tcpinfo_t", "tcpsinfo_t", "tcplsinfo_t"]),
    library!("udp.d", &["udpinfo_t", "udpsinfo_t"]),
    library!("ipprov.d", &["ip:"]),
    library!("tcpprov.d", &["tcp:"]),
    library!("udpprov.d", &["udp:"]),
    library!("vminfo.d", &["vminfo:"]),
    library!("sysinfo.d", &["sysinfo:"]),
    library!("mib.d", &["mib:"]),
    library!("lockstat.d", &["lockstat:"]),
];

/// The libraries with a word that the sources use, and their dependencies, in loading order.
pub(crate) fn wanted<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'static Library> {
    let words: HashSet<String> = texts.flat_map(words).collect();
    let mut wanted = [false; LIBRARIES.len()];
    for (wanted, library) in wanted.iter_mut().zip(LIBRARIES) {
        *wanted = words.iter().any(|word| is_word_of(library, word));
    }
    // Dependencies precede the libraries that need them.
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

/// Whether a word is in the table: `io:` names a provider; `O_*` matches all words that begin with `O_`.
fn is_word_of(library: &Library, word: &str) -> bool {
    library.words.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => word.strip_prefix(start).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        }),
        None => word == *known,
    })
}

/// The words of a source. A word before a colon may name a provider, and so may the first one, as after -P:
/// these are returned a second time, with the colon.
fn words(text: &str) -> impl Iterator<Item = String> {
    let split = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let words = text.split(split).filter(|word| !word.is_empty());
    words.enumerate().flat_map(move |(number, word)| {
        let end = word.as_ptr() as usize + word.len() - text.as_ptr() as usize;
        let provider = number == 0 || text[end..].starts_with(':');
        [Some(word.to_owned()), provider.then(|| format!("{word}:"))].into_iter().flatten()
    })
}

/// The names of `#pragma D depends_on library NAME`.
pub(crate) fn dependencies(text: &str) -> Vec<&str> {
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

/// The order in which to load a directory's libraries: each after the libraries of the directory that it
/// depends on.
pub(crate) fn order(files: &[(String, String)]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; files.len()];
    // An explicit stack, since a chain of files has no length limit.
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
        let of_io = [
            "path.d",
            "files.d",
            "bufflags.d",
            "fsmount.d",
            "fsmount_none.d",
            "blockdev.d",
            "blockdev_none.d",
            "io.d",
            "iodentry.d",
            "iodentry_union.d",
            "iofile.d",
            "ioprov.d",
        ];
        assert_eq!(names("BEGIN, io:::start { trace(args[0]->b_bcount); }"), of_io);
        assert_eq!(names("io"), of_io, "-P io");
        assert!(names("BEGIN { this->io = 1; tcp = ip + 1; }").is_empty(), "no provider is named");
        assert_eq!(names("BEGIN { trace(AF_INET); }"), ["socket.d"]);
    }

    #[test]
    fn providers_of_aliases_have_a_library() {
        for provider in kinst_base::attributes::ALIASES {
            assert_eq!(names(&format!("{provider}:::")).last(), Some(&format!("{provider}.d").as_str()));
        }
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
        // A cycle is loaded in some order; unmet dependencies are reported later.
        assert_eq!(order(&[file("a.d", "b.d"), file("b.d", "a.d")]).len(), 2);
    }
}
