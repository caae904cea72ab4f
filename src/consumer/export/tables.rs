//! consumer/export/tables.rs: access of an output format to the aggregations.

use crate::consumer::table::Table;

/// The current aggregations; tables are made on demand.
pub trait Tables {
    /// Returns all aggregations, in program order, including those without rows.
    fn all(&self) -> Vec<Table<'_>>;
    /// Returns the aggregations that printa() has not shown and that have values since the last clear().
    fn unprinted(&self) -> Vec<Table<'_>>;
    /// Returns the aggregations with these ids, ignoring normalize().
    fn undivided(&self, ids: &[u32]) -> Vec<Table<'_>>;
    /// Returns the number of faults by fault code.
    fn faults(&self) -> Vec<(&'static str, u64)>;
    /// Returns the aggregations that are profiles (`profile::is_profile`), including empty ones, with source lines in
    /// their frames.
    fn profiles(&self) -> Vec<Table<'_>>;
    /// Returns the end of the trace, or the current time: by wall clock, and by the records' clock.
    fn ended(&self) -> (i64, i64) {
        (kinst_os::time_of_day(), kinst_os::monotonic())
    }
}
