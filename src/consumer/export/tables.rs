//! consumer/export/tables.rs: the aggregations that a format reads.

use crate::consumer::table::Table;

/// The aggregations as they are now; made when they are asked for.
pub trait Tables {
    /// Tables of all aggregations, in the order of the program; also those without rows.
    fn all(&self) -> Vec<Table<'_>>;
    /// Tables that printa() has not shown, and that are not empty since they were last cleared.
    fn unprinted(&self) -> Vec<Table<'_>>;
    /// Tables with these ids, as if there were no normalize().
    fn undivided(&self, ids: &[u32]) -> Vec<Table<'_>>;
    /// How many faults of each kind there were.
    fn faults(&self) -> Vec<(&'static str, u64)>;
    /// Tables that are profiles (`profile::is_profile`), empty ones too; with the source lines of their frames.
    fn profiles(&self) -> Vec<Table<'_>>;
    /// When the trace has ended, or now: the time of day, and that of the records' clock.
    fn ended(&self) -> (i64, i64) {
        (kinst_os::time_of_day(), kinst_os::monotonic())
    }
}
