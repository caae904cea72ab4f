//! options/: the options of `-x`, `#pragma D option` and setopt(), as one table.

mod error;
mod help;
pub(crate) mod key;
mod parse;
mod table;
mod value;
mod values;

pub use error::Error;
pub use help::{describe, described, markdown, value_of};
pub use key::Key;
pub use parse::{D_VERSION, is_version, parse_rate, parse_size};
pub use table::{Kind, Spec, TABLE, When};
pub use values::{From, Options};
