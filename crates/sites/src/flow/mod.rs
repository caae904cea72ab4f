//! sites/flow/: the control flow graph of one function: basic blocks, the edges between them, and dominators.

mod block;
mod building;
mod bypassed;
pub mod callers;
mod copy;
pub mod counts;
pub mod covered;
pub mod doubts;
pub(super) mod entered;
pub mod exits;
mod graph;
pub mod laps;
pub(super) mod marks;
mod part;
pub mod points;
pub mod routes;
pub(super) mod scratch;

pub use graph::Flow;
pub use part::{Marks, Part, Undecodable};
