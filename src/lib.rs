//! kinst for Linux: a D compiler and DTrace consumer that traces any kernel instruction, and inlined functions.
//!
//! The modules are the stages of a program, and the vocabulary of D. The layers below them are separate
//! crates (crates/), re-exported as modules under the names in docs/ARCHITECTURE.md.
//!
//! ```text
//! D text ─parser→ ast::Program ─sugar→ plain::Program ─typeck→ typed::Program ─codegen→ dif::Program ─backend→ the kernel
//!                                 │                       │                                                    │
//!                         sites (where to probe)     types (BTF, DWARF, D)                  records ─consumer→ text | JSON
//! ```
//!
//! A program compiles without a kernel as long as it names nothing that belongs to one:
//!
//! ```
//! use kinst::options::Options;
//! use kinst::parser::Macros;
//! use kinst::pipeline::{self, Given};
//! use kinst::source::{Origin, Source, Sources};
//! use kinst::types::intrinsic::Intrinsic;
//!
//! let mut sources = Sources::default();
//! let text = "tick-1s { @[execname] = count(); }".to_owned();
//! let file = sources.add(Source { name: "example.d".to_owned(), origin: Origin::Script, text });
//! let given = Given {
//!     macros: &Macros::default(),
//!     kernel: &Intrinsic,
//!     places: &Intrinsic,
//!     index: &|_| unreachable!("no inlined function is named"),
//!     libraries: &[],
//!     stability: false,
//! };
//! let compiled = pipeline::compile(&sources, &[file], given, &mut Options::default()).result.unwrap();
//! assert_eq!(compiled.program.aggregations.len(), 1);
//! assert_eq!(compiled.program.clauses[0].probes[0].to_string(), ":::tick-1s");
//! ```

pub mod cli;
pub mod pipeline;

pub mod analysis;
pub mod backend;
pub mod codegen;
pub mod consumer;
pub mod parser;
pub mod sugar;
pub mod typeck;
pub mod usdt;

mod dlib;
pub mod knowledge;
pub mod options;
pub mod vocabulary;

pub use kinst_base::{attributes, diag, glob, image, machine, probe, reason, source, space, uapi};
pub use {
    kinst_bpf as bpf, kinst_debuginfo as debuginfo, kinst_dif as dif, kinst_dwarf as dwarf,
    kinst_host as host, kinst_os as os, kinst_sites as sites, kinst_types as types,
};

#[cfg(test)]
extern crate self as kinst;
#[cfg(test)]
#[path = "../tests/support/needs.rs"]
mod needs;
#[cfg(test)]
#[path = "../tests/support/snapshot.rs"]
mod snapshot;
#[cfg(test)]
#[path = "../tests/support/tables.rs"]
mod tables;
