//! os/clock.rs: the system's clocks.

/// Returns the nanoseconds, a multiple of a second, by which the atomic time clock is ahead of the wall
/// clock.
pub fn atomic_ahead() -> u64 {
    const SECOND: i64 = 1_000_000_000;
    let ahead = nanoseconds(libc::CLOCK_TAI) - nanoseconds(libc::CLOCK_REALTIME);
    ((ahead + SECOND / 2).div_euclid(SECOND) * SECOND) as u64
}

/// Reads a clock, since rustix does not support all; 0 if the clock does not exist.
fn nanoseconds(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time lives until the call returns.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}
