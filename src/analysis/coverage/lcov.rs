//! analysis/coverage/lcov.rs: coverage as an lcov file, and the inverse; geninfo(1) describes the format.
//!
//! A count is 1 or 0; unknown items are left out. The two numbers of a branch are fields of [`Way`]:
//! `BRDA:462,0,479,1` went from line 462 to line 479 of the same file.

use super::tally::{File, State, Tally, Way};
use crate::analysis::source::Sources;
use std::fmt::Write as _;

/// Writes all files.
pub(crate) fn write(tally: &Tally, sources: &mut Sources) -> String {
    let mut out = "TN:\n".to_owned();
    for (name, file) in tally.files.iter().filter(|(name, _)| !name.is_empty()) {
        let path = sources.path(name).map_or_else(|| name.clone(), |path| path.display().to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(out, "SF:{path}");
        file_records(&mut out, file);
        out += "end_of_record\n";
    }
    out
}

fn file_records(out: &mut String, file: &File) {
    let functions =
        || file.functions.iter().filter_map(|(name, called)| Some((name, called.line, called.called?)));
    for (name, line, _) in functions() {
        let _ = writeln!(out, "FN:{line},{name}");
    }
    for (name, _, called) in functions() {
        let _ = writeln!(out, "FNDA:{},{name}", u8::from(called));
    }
    totals(out, "FN", functions().map(|(_, _, called)| called));
    for (Way { line, file: other, to }, taken) in &file.branches {
        let came = file.lines.get(line).copied().flatten();
        let Some(taken) = taken else { continue };
        // The exits of a branch that was not reached are unspecified.
        let taken = if *taken || came != Some(false) { u8::from(*taken).to_string() } else { "-".to_owned() };
        let _ = writeln!(out, "BRDA:{line},{other},{to},{taken}");
    }
    totals(out, "BR", file.branches.values().filter_map(|taken| *taken));
    for (line, state) in &file.lines {
        if let Some(state) = state {
            let _ = writeln!(out, "DA:{line},{}", u8::from(*state));
        }
    }
    totals(out, "L", file.lines.values().filter_map(|state| *state));
}

fn totals(out: &mut String, what: &str, states: impl Iterator<Item = bool>) {
    let (mut found, mut hit) = (0, 0);
    for state in states {
        found += 1;
        hit += u64::from(state);
    }
    let _ = writeln!(out, "{what}F:{found}\n{what}H:{hit}");
}

/// Parses a file; an error has the line number and a description.
pub(crate) fn read(text: &str) -> Result<Tally, (usize, String)> {
    let mut tally = Tally::default();
    let mut file: Option<String> = None;
    let mut any = false;
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| (number + 1, format!("{what}: {line}"));
        let line = line.trim_end();
        any |= !line.is_empty();
        match line.split_once(':') {
            Some(("SF", path)) => file = Some(relative(path).to_owned()),
            Some(("TN" | "VER" | "FNF" | "FNH" | "LF" | "LH" | "BRF" | "BRH", _)) => {}
            Some((kind @ ("FN" | "FNDA" | "DA" | "BRDA"), fields)) => {
                let name = file.as_ref().ok_or_else(|| wrong("no SF record precedes it"))?;
                let file = tally.files.entry(name.clone()).or_default();
                record(file, kind, fields).ok_or_else(|| wrong("this is not a record of lcov"))?;
            }
            // Records of other versions, and comments.
            Some((kind, _)) if !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_uppercase()) => {}
            _ if line == "end_of_record" => file = None,
            _ if line.is_empty() || line.starts_with('#') => {}
            _ => return Err(wrong("this is not a record of lcov")),
        }
    }
    if any { Ok(tally) } else { Err((1, "the file is empty".to_owned())) }
}

/// The path of a source file as in the debug information: relative to the root of the kernel's source.
fn relative(path: &str) -> &str {
    const ROOTS: &[&str] = &[
        "arch", "block", "certs", "crypto", "drivers", "fs", "include", "init", "io_uring", "ipc", "kernel",
        "lib", "mm", "net", "rust", "samples", "security", "sound", "tools", "usr", "virt",
    ];
    if !path.starts_with('/') {
        return path;
    }
    // `/usr/src/linux-source-6.1/fs/open.c`: the path follows the folder named after a kernel.
    let mut at = 1;
    let mut after = None;
    for part in path[1..].split('/') {
        if part.starts_with("linux") {
            after = Some(at + part.len() + 1);
        }
        at += part.len() + 1;
    }
    let inside = after.and_then(|at| path.get(at..)).unwrap_or(path);
    let is_root = |inside: &str| ROOTS.contains(&inside.split('/').next().unwrap_or_default());
    if is_root(inside) { inside } else { path }
}

fn record(file: &mut File, kind: &str, fields: &str) -> Option<()> {
    let state = |count: &str| -> Option<State> {
        match count {
            "-" => Some(Some(false)),
            count => Some(Some(count.parse::<i128>().ok()? > 0)),
        }
    };
    match kind {
        "FN" => {
            let (line, name) = fields.split_once(',')?;
            file.functions.entry(own_name(name)).or_default().line = line.parse().ok()?;
        }
        "FNDA" => {
            let (count, name) = fields.split_once(',')?;
            let called = state(count)?;
            file.functions.entry(own_name(name)).or_default().called = called;
        }
        "DA" => {
            let mut fields = fields.split(',');
            let line = fields.next()?.parse().ok()?;
            let state = state(fields.next()?)?;
            super::tally::note(&mut file.lines, line, state);
        }
        "BRDA" => {
            let mut fields = fields.split(',');
            let line = fields.next()?.parse().ok()?;
            let (block, branch, taken) = (fields.next()?, fields.next()?, fields.next()?);
            // Newer versions mark blocks, or have expressions in place of numbers: these are not our branches.
            let (Ok(file_number), Ok(to)) = (block.parse(), branch.parse()) else { return Some(()) };
            super::tally::note(&mut file.branches, Way { line, file: file_number, to }, state(taken)?);
        }
        _ => return None,
    }
    Some(())
}

/// The name of a function: newer versions put the number of its last line in front.
fn own_name(mut name: &str) -> String {
    while let Some((number, rest)) = name.split_once(',')
        && number.parse::<u32>().is_ok()
    {
        name = rest;
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "TN:\nSF:fs/a.c\nFN:10,f\nFN:20,g\nFNDA:1,f\nFNDA:0,g\nFNF:2\nFNH:1\nBRDA:11,0,12,1\nBRDA:11,0,14,0\nBRDA:21,0,22,-\n\
                        BRF:3\nBRH:1\nDA:10,1\nDA:11,1\nDA:12,1\nDA:14,0\nDA:20,0\nDA:21,0\nLF:6\nLH:3\nend_of_record\n";

    #[test]
    fn what_is_read_is_written_as_it_was() {
        let tally = read(TEXT).expect("a file of lcov");
        assert_eq!(write(&tally, &mut Sources::new(&[], None)), TEXT);
    }

    #[test]
    fn runs_are_merged() {
        let mut tally = read(TEXT).expect("a file of lcov");
        let other = read(
            "SF:/usr/src/linux-source-6.1/fs/a.c\nDA:14,7,hash\nDA:99,0\nFN:20,29,g\nFNDA:3,g\nend_of_record\n",
        );
        tally.merge(&other.expect("a file of lcov"));
        let file = &tally.files["fs/a.c"];
        assert_eq!(
            [10, 14, 20, 99].map(|line| file.lines[&line]),
            [Some(true), Some(true), Some(false), Some(false)]
        );
        assert_eq!((file.functions["g"].called, tally.files.len()), (Some(true), 1));
    }

    #[test]
    fn what_is_no_file_of_lcov_is_refused() {
        let cases =
            [("", 1), ("hello\n", 1), ("DA:1,1\n", 1), ("SF:a\nDA:x,1\n", 2), ("SF:a\n\nBRDA:1,0\n", 3)];
        for (text, line) in cases {
            assert_eq!(read(text).expect_err("an error").0, line, "{text}");
        }
    }
}
