//! cli/invocation.rs: the parsed command line of dtrace.

use super::dtrace_options::Mode;
use crate::consumer::export::format::Output;
use kinst_base::source::Origin;

/// The files that --coverage writes, merges and compares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageFiles {
    /// --lcov
    pub lcov: Option<String>,
    /// --merge
    pub merged: Vec<String>,
    /// --against
    pub against: Option<String>,
}

/// The parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// -e -l -V --index; without any of them, [`Mode::Trace`].
    pub mode: Mode,
    /// -s -n -P -m -f -i, in the order of the command line.
    pub programs: Vec<ProgramArg>,
    /// -x, and the letters that set an option, in the order of the command line.
    pub settings: Vec<(String, Option<String>)>,
    /// -d
    pub desugared: bool,
    /// -v
    pub verbose: bool,
    /// -o
    pub output: Option<String>,
    /// -O
    pub outputs: Vec<Output>,
    /// -c
    pub commands: Vec<String>,
    /// -p
    pub pids: Vec<String>,
    /// --fmt
    pub formatted: Vec<String>,
    /// --disas
    pub disassembled: Vec<String>,
    /// --annotate
    pub annotated: Vec<String>,
    /// --coverage
    pub covered: Vec<String>,
    /// --lcov, --merge and --against
    pub files: CoverageFiles,
    /// --path
    pub followed: Vec<String>,
    /// --into
    pub into: Vec<String>,
    /// --calls
    pub calls: Option<u64>,
    /// --differ
    pub differ: Option<String>,
    /// --for
    pub time: Option<String>,
    /// --when
    pub when: Option<String>,
    /// --html
    pub page: Option<String>,
    /// --exact
    pub exact: bool,
    /// --latency
    pub latency: bool,
    /// --dump
    pub dump: bool,
    /// --json: -l, --disas, --annotate, --coverage and --path print one object a line.
    pub objects: bool,
    /// --export: files, or existing directories.
    pub exported: Vec<String>,
    /// --import
    pub imported: Vec<String>,
    /// $1 …
    pub operands: Vec<String>,
    /// --message-format=json
    pub json: bool,
}

impl Invocation {
    /// Whether the file of -o is a header, or an object file.
    pub(super) fn makes_file(&self) -> bool {
        matches!(self.mode, Mode::Header | Mode::Object)
    }

    /// The file of -o, if output is appended to it.
    pub(super) fn appended(&self) -> Option<&String> {
        self.output.as_ref().filter(|_| !self.makes_file())
    }
}

/// A program on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramArg {
    /// The option that it came with.
    pub origin: Origin,
    /// A file's path, or D text.
    pub text: String,
}
