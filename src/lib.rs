//! kinst for Linux: a D compiler and DTrace consumer that traces any kernel instruction, and inlined functions.
//!
//! In three groups: the way of a program, what it is told of the kernel, and what all of them share.
//!
//! ```text
//! D text ─parser→ ast::Program ─sugar→ plain::Program ─typeck→ typed::Program ─codegen→ dif::Program ─driver→ /dev/dtrace/kinst
//!                                 │                       │                                                    │
//!                         sites (where to probe)     types (BTF, DWARF, D)                  records ─consumer→ text | JSON
//! ```

pub mod cli;
pub mod pipeline;

pub mod codegen;
pub mod consumer;
pub mod dif;
pub mod driver;
pub mod parser;
pub mod sugar;
pub mod typeck;

pub mod debuginfo;
pub mod dlib;
pub mod dwarf;
pub mod knowledge;
pub mod sites;
pub mod types;

pub mod attributes;
pub mod diag;
pub mod glob;
pub mod options;
pub mod probe;
pub mod source;
pub mod uapi;
pub mod vocabulary;
