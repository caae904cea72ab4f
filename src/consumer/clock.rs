//! consumer/clock.rs: wall-clock times in the formats of printf().

use jiff::{Timestamp, Zoned, tz::TimeZone};

/// `%Y`: `1973 Dec  3 17:20:00`, local time.
pub fn wall(nanoseconds: i64) -> String {
    local(nanoseconds).strftime("%Y %b %e %H:%M:%S").to_string()
}

/// `%T`: `Mon, 03 Dec 1973 17:20:00 CET`.
pub fn rfc822(nanoseconds: i64) -> String {
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
    }
}
