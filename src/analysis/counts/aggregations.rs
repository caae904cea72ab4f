//! analysis/counts/aggregations.rs: the names in the D program that counts.

/// The aggregations; the first key is the function's index. They hold the executions by probe id, the calls
/// that began, and the calls that ended; with --latency also the time from each probe to the next one of
/// the same call, and the number of probes that fired in between.
pub(crate) const EXECUTIONS: &str = "executions";
pub(crate) const BEGUN: &str = "begun";
pub(crate) const ENDED: &str = "ended";
pub(crate) const TIME: &str = "time";
pub(crate) const FIRINGS: &str = "firings";
/// The firings at which the kernel executes the instruction of a program in a single step, which costs more.
pub(crate) const STEPS: &str = "steps";
/// The difference between the wall clock and the monotonic clock at the start and end: minimum and maximum.
pub(crate) const EARLY: &str = "early";
pub(crate) const LATE: &str = "late";

/// A bit that keeps the thread-local variable of the calls allocated.
pub(crate) const KEEP: &str = "0x4000000000000000";
