//! fuzz/: a function for each kind of external input; it returns, unless it has found a bug.
//!
//! `fuzz_targets/` passes them to libFuzzer, and tests/outside/regressions.rs replays earlier findings.

mod compile;
mod debug;
#[path = "../../tests/support/exhaust.rs"]
mod exhaust;
mod grammar;
mod index;
#[path = "../../tests/support/kernel.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod kernel;
mod lcov;
mod locals;
mod notes;
mod options;
mod parse;
mod pclntab;
mod split;
mod stapsdt;
mod types;
mod uprobes;

pub use compile::{bpf, compile, program};
pub use debug::{callers, frames, lines, walk};
pub use index::index;
pub use lcov::lcov;
pub use locals::locals;
pub use notes::notes;
pub use options::options;
pub use parse::parse;
pub use pclntab::pclntab;
pub use split::{files, split_files};
pub use stapsdt::stapsdt;
pub use types::btf;
pub use uprobes::uprobes;

use kinst::source::{FileId, Origin, Source, Sources};

pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("parse", parse),
    ("bpf", bpf),
    ("compile", compile),
    ("program", program),
    ("btf", btf),
    ("options", options),
    ("walk", walk),
    ("frames", frames),
    ("lines", lines),
    ("callers", callers),
    ("locals", locals),
    ("index", index),
    ("notes", notes),
    ("stapsdt", stapsdt),
    ("pclntab", pclntab),
    ("lcov", lcov),
    ("split_files", split_files),
    ("uprobes", uprobes),
];

/// Makes a source as in a run of dtrace; the first byte of the input gives its origin.
fn source(data: &[u8]) -> Option<(Sources, FileId)> {
    let (kind, text) = data.split_first()?;
    let origin = match kind {
        b'P' => Origin::Provider,
        b'm' => Origin::Module,
        b'f' => Origin::Function,
        b'n' => Origin::Name,
        b'i' => Origin::Id,
        _ => Origin::Script,
    };
    let text = kinst::parser::decode(text.to_vec()).ok()?;
    let mut sources = Sources::default();
    let name = if origin == Origin::Script { "fuzz.d".to_owned() } else { text.clone() };
    let file = sources.add(Source { name, origin, text });
    Some((sources, file))
}
