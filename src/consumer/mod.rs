//! consumer/: records → text, objects, profiles, metrics.

mod acted;
pub mod aggregate;
pub mod clock;
pub mod consume;
pub mod event;
pub mod export;
pub mod frame;
pub mod message;
pub mod output;
pub mod places;
pub mod printf;
pub mod recent;
mod rows;
pub mod run;
pub mod sink;
mod spaces;
pub mod step;
pub mod stream;
pub mod symbols;
pub mod table;
pub mod text;
mod unwind;
pub mod value;
