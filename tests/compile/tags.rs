//! tests/compile/tags.rs: programs and the tag of their first error, through the whole pipeline; every tag has a
//! rendered snapshot or a reason.
//!
//! A line of `tests/tags/*.txt` is a tag (or OK) and a program; `¶` is a newline. `E:` before the tag: the rest is
//! an expression, which is inserted in many places of a program. `A[one,two]:` are arguments of the script,
//! `X[name=value]:` an option.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kinst::diag::tags;
use kinst::options::{From as Setter, Options};
use kinst::parser::Macros;
use kinst::pipeline::{self, Given};
use kinst::sites::{NothingWanted, SiteIndex};
use kinst::source::{Origin, Source, Sources};
use kinst::types::intrinsic::Intrinsic;

use crate::snapshot::files;

/// Tags without a snapshot, with the reason.
const WITHOUT_SNAPSHOT: &[(&str, &str)] = &[
    (
        "D_NOREG",
        "the generator spills to clause-local slots; the error is for the case that no register is found even then",
    ),
    ("D_ENABLE", "only a kernel refuses places: see tests/vm/cases/refusals.case"),
    ("D_DEBUGINFO", "programs of snapshots have all files: see tests/vm/cases/badinput.case"),
];

#[test]
fn every_tag_has_a_snapshot_or_a_reason() {
    let mut shown = String::new();
    for path in files(&root().join("snapshots"), "snap") {
        let snapshot = insta::Snapshot::from_file(&path).unwrap();
        shown += snapshot.as_text().unwrap().to_string().lines().next().unwrap_or_default();
    }
    let mut report = String::new();
    for (tag, _) in tags::ALL {
        let is_shown = shown.contains(&format!("[{}]", tag.0));
        let reason = WITHOUT_SNAPSHOT.iter().find(|(name, _)| *name == tag.0);
        match (is_shown, reason) {
            (false, None) => writeln!(report, "{}: no snapshot shows it", tag.0).unwrap(),
            (true, Some((_, reason))) => writeln!(report, "{}: is shown, though {reason}", tag.0).unwrap(),
            _ => {}
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn programs_get_the_tag_of_their_first_error() {
    let (mut report, mut programs, mut seen) = (String::new(), 0, HashSet::new());
    for path in files(&root().join("tags"), "txt") {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            if line.starts_with("//") {
                continue;
            }
            let row = Row::read(line);
            for program in row.programs() {
                programs += 1;
                let found = first_tag(&program, &row);
                if found != row.tag {
                    let place = format!("{}:{}", path.file_name().unwrap().display(), number + 1);
                    writeln!(report, "{place}: {found}, not {}: {program}", row.tag).unwrap();
                }
                seen.insert(found);
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
    assert!(programs > 2000 && seen.len() > 180, "only {programs} programs and {} tags", seen.len());
}

/// A line of a table.
struct Row<'t> {
    tag: &'t str,
    program: String,
    expression: bool,
    arguments: Vec<&'t str>,
    options: Vec<&'t str>,
}

impl<'t> Row<'t> {
    fn read(line: &'t str) -> Row<'t> {
        let mut row =
            Row { tag: "", program: String::new(), expression: false, arguments: vec![], options: vec![] };
        let mut rest = line;
        loop {
            if let Some(after) = rest.strip_prefix("E:") {
                (row.expression, rest) = (true, after);
            } else if let Some((list, after)) = rest.strip_prefix("A[").and_then(|r| r.split_once("]:")) {
                (row.arguments, rest) = (list.split(',').collect(), after);
            } else if let Some((list, after)) = rest.strip_prefix("X[").and_then(|r| r.split_once("]:")) {
                (row.options, rest) = (list.split(',').collect(), after);
            } else {
                break;
            }
        }
        let (tag, program) = rest.split_once(' ').unwrap_or((rest, ""));
        (row.tag, row.program) = (tag, program.replace('¶', "\n"));
        row
    }

    /// Returns the programs of the row, with an expression wherever expressions are allowed.
    fn programs(&self) -> Vec<String> {
        if !self.expression {
            return vec![format!("{}\n", self.program)];
        }
        let places = [
            "BEGIN { x_ = #; }\n",
            "BEGIN { #; }\n",
            "BEGIN { trace(#); }\n",
            "BEGIN /(#) != 0/ { exit(0); }\n",
            "BEGIN { printf(\"%d\", #); }\n",
            "BEGIN { @[#] = count(); }\n",
            "BEGIN { @ = sum(#); }\n",
            "BEGIN { array_[#] = 1; }\n",
            "BEGIN { x_ = (#) ? 1 : 2; }\n",
            "BEGIN { if (#) { trace(1); } else { trace(2); } }\n",
            "inline int f_ = #;\nBEGIN { trace(f_); }\n",
            "struct s_ { int m; };\ntranslator struct s_ < int i_ > { m = #; };\nBEGIN { }\n",
            "BEGIN { self->y = 1, self->x = #; }\n",
            "BEGIN { trace(lltostr(#)); }\n",
        ];
        places.iter().map(|place| place.replace('#', &self.program)).collect()
    }
}

fn first_tag(program: &str, row: &Row<'_>) -> &'static str {
    let mut sources = Sources::default();
    let (name, text) = ("script.d".to_owned(), program.to_owned());
    let file = sources.add(Source { name: name.clone(), origin: Origin::Script, text });
    let arguments = row.arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let variables = kinst::vocabulary::MACRO_VARIABLES.map(|name| (name.to_owned(), 7)).to_vec();
    let macros = Macros { script: name, arguments, variables, targetless: false };
    let mut options = Options::default();
    for option in &row.options {
        let (name, value) = option.split_once('=').map_or((*option, None), |(name, v)| (name, Some(v)));
        options.set(name, value, Setter::CommandLine).unwrap();
    }
    // A description of a program's function is not looked up here.
    let index = |_| -> Result<Box<dyn SiteIndex>, _> { Ok(Box::new(NothingWanted)) };
    let given = Given {
        macros: &macros,
        kernel: &Intrinsic,
        places: &Intrinsic,
        index: &index,
        libraries: &[],
        stability: false,
    };
    match pipeline::compile(&sources, &[file], given, &mut options).result {
        Ok(_) => "OK",
        Err(errors) => errors[0].tag.0,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}
