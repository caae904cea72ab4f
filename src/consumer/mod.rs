//! consumer/: converts records to text, JSON, profiles and metrics.

mod acted;
pub(crate) mod aggregate;
pub(crate) mod clock;
pub(crate) mod consume;
pub(crate) mod event;
pub mod export;
pub(crate) mod frame;
pub(crate) mod message;
pub(crate) mod output;
pub(crate) mod places;
pub(crate) mod printf;
pub(crate) mod recent;
mod rows;
pub(crate) mod run;
pub mod sink;
mod spaces;
pub(crate) mod step;
pub(crate) mod stream;
pub mod symbols;
pub mod table;
pub(crate) mod text;
mod unwind;
pub mod value;
