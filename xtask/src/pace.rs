//! The pace of this machine under its current load, relative to the machine that time limits are written for.

use std::hint::black_box;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The reference machine when idle: the time of [`work`] on all processors at once, and of a guest's boot. Time
/// limits are in its seconds.
const WORK: Duration = Duration::from_millis(150);
const BOOT: Duration = Duration::from_millis(4000);

/// The pace measured by guests' boots, in thousandths; it never falls.
static SEEN: AtomicU64 = AtomicU64::new(1000);
/// The number of guests that have booted, and the total milliseconds.
static BOOTS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static HOST: LazyLock<f64> = LazyLock::new(|| {
    let begin = Instant::now();
    let processors = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| (0..processors).for_each(|_| drop(scope.spawn(work))));
    begin.elapsed().as_secs_f64() / WORK.as_secs_f64()
});

/// A time limit for this machine.
pub(crate) fn limit(seconds: Duration) -> Duration {
    seconds.mul_f64(pace())
}

/// The factor for time limits, at least 1.
pub(crate) fn pace() -> f64 {
    HOST.max(SEEN.load(Ordering::Relaxed) as f64 / 1000.0).max(1.0)
}

/// The number of guests that have booted, and their total time.
pub(crate) fn boots() -> (u64, Duration) {
    let [number, time] = BOOTS.each_ref().map(|count| count.load(Ordering::Relaxed));
    (number, Duration::from_millis(time))
}

/// Records the boot time of a guest with Debian's usual kernel.
pub(crate) fn booted(time: Duration) {
    BOOTS[0].fetch_add(1, Ordering::Relaxed);
    BOOTS[1].fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    let thousandths = (time.as_secs_f64() / BOOT.as_secs_f64() * 1000.0) as u64;
    SEEN.fetch_max(thousandths, Ordering::Relaxed);
}

/// Work of a fixed size that the compiler cannot optimise away.
fn work() {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..black_box(WORK_ROUNDS) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

const WORK_ROUNDS: u64 = 20_000_000;
