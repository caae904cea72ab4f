//! consumer/clock.rs: wall-clock times of records, and their formats in printf() and in JSON.
use jiff::{Timestamp, Zoned, tz::TimeZone};

/// The difference between the records' monotonic clock and wall-clock time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    offset: i64,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { offset: kinst_os::time_of_day().saturating_sub(kinst_os::monotonic()) }
    }

    /// Returns the nanoseconds since 1970 at a record's timestamp.
    pub(crate) fn wall(self, timestamp: u64) -> i64 {
        self.offset.saturating_add_unsigned(timestamp)
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

/// `2026-11-25T04:20:56.123456789Z`
pub(crate) fn rfc3339(nanoseconds: i64) -> String {
    let time = Timestamp::from_nanosecond(nanoseconds.into()).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.9}")
}

/// `%Y`: `1973 Dec  3 17:20:00`, local time.
pub(crate) fn wall(nanoseconds: i64) -> String {
    local(nanoseconds).strftime("%Y %b %e %H:%M:%S").to_string()
}

/// `%T`: `Mon, 03 Dec 1973 17:20:00 CET`.
pub(crate) fn rfc822(nanoseconds: i64) -> String {
    local(nanoseconds).strftime("%a, %d %b %Y %H:%M:%S %Z").to_string()
}

fn local(nanoseconds: i64) -> Zoned {
    // Every i64 of nanoseconds is within the range of a Timestamp.
    Timestamp::from_nanosecond(nanoseconds.into())
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .to_zoned(TimeZone::system())
}

#[cfg(test)]
mod tests {
    #[test]
    fn shapes() {
        let wall = super::wall(123_780_000_000_000_000);
        assert_eq!(wall.len(), "1973 Dec  3 17:20:00".len());
        assert!(wall.starts_with("1973 Dec  "));
        assert!(super::rfc822(i64::MIN).contains("1677"));
        assert_eq!(super::rfc3339(1_700_000_000_000_000_001), "2023-11-14T22:13:20.000000001Z");
        assert_eq!(super::rfc3339(0), "1970-01-01T00:00:00.000000000Z");
    }
}
