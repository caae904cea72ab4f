//! sites/catalog/profile.rs: the probes of the provider profile, whose names contain their rates.

use kinst_base::diag::{Diagnostic, tags};
use kinst_base::probe::{Fields, Place, Probe};

/// The predefined probes: the rates of illumos and FreeBSD.
pub(crate) const RATES: [&str; 13] = [
    "profile-97",
    "profile-199",
    "profile-499",
    "profile-997",
    "profile-1999",
    "profile-4001",
    "profile-4999",
    "tick-1",
    "tick-10",
    "tick-100",
    "tick-500",
    "tick-1000",
    "tick-5000",
];

/// The shortest interval in nanoseconds. The back end asserts that both limits equal the module's.
pub const MIN_INTERVAL: u64 = 200_000;
/// The longest interval in nanoseconds, 146 years.
pub const MAX_INTERVAL: u64 = 1 << 62;

const SECOND: u64 = 1_000_000_000;

/// Units in nanoseconds, without `hz`, which is a rate.
const UNITS: [(&str, u64); 14] = [
    ("ns", 1),
    ("nsec", 1),
    ("us", 1_000),
    ("usec", 1_000),
    ("ms", 1_000_000),
    ("msec", 1_000_000),
    ("s", SECOND),
    ("sec", SECOND),
    ("m", 60 * SECOND),
    ("min", 60 * SECOND),
    ("h", 3600 * SECOND),
    ("hour", 3600 * SECOND),
    ("d", 86400 * SECOND),
    ("day", 86400 * SECOND),
];

/// Why a name that begins like a probe of this provider is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Number,
    Unit,
    TooFast,
    TooSlow,
}

/// Returns the place of the named probe; `None` if the name does not begin like one of this provider.
pub(crate) fn place(name: &str) -> Option<Result<Place, Problem>> {
    let (place, rate): (fn(u64) -> Place, &str) =
        match (name.strip_prefix("profile-"), name.strip_prefix("tick-")) {
            (Some(rate), _) => (|interval| Place::Profile { interval }, rate),
            (_, Some(rate)) => (|interval| Place::Tick { interval }, rate),
            _ => return None,
        };
    Some(nanoseconds(rate).map(place))
}

/// Parses `97`, `97hz`, `1sec`: a number and a unit, in upper or lower case.
fn nanoseconds(rate: &str) -> Result<u64, Problem> {
    let digits = rate.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = rate.split_at(digits);
    if number.is_empty() {
        return Err(Problem::Number);
    }
    let hertz = unit.is_empty() || unit.eq_ignore_ascii_case("hz");
    let size = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, size)| *size);
    let Some(size) = size.or(hertz.then_some(SECOND)) else { return Err(Problem::Unit) };
    // A number that overflows is a rate that is too high or an interval that is too long.
    let number = number.parse::<u64>();
    let interval = match number {
        Ok(0) => return Err(Problem::Number),
        Ok(number) if hertz => size / number,
        Ok(number) => number.checked_mul(size).ok_or(Problem::TooSlow)?,
        Err(_) if hertz => 0,
        Err(_) => return Err(Problem::TooSlow),
    };
    match interval {
        few if few < MIN_INTERVAL => Err(Problem::TooFast),
        many if many > MAX_INTERVAL => Err(Problem::TooSlow),
        interval => Ok(interval),
    }
}

pub(crate) fn probe(id: u32, name: &str, place: Place) -> Probe {
    Probe { id, name: Fields::new("profile", "", "", name), place }
}

/// Refuses a probe that does not exist.
pub(crate) fn refusal(name: &str, problem: Problem) -> Diagnostic {
    let because = match problem {
        Problem::Number => "its rate must be a number greater than zero",
        Problem::Unit => "its unit is unknown",
        Problem::TooFast => "it would fire more often than 5000 times a second",
        Problem::TooSlow => "it would not fire in a hundred years",
    };
    let error = Diagnostic::error(tags::PDESC_ZERO, format!("invalid probe name `{name}`: {because}"));
    match problem {
        Problem::Number | Problem::Unit => {
            error.help("a rate is a number and ns, us, ms, s, m, h, d or hz (without a unit, hz): tick-5s")
        }
        Problem::TooFast => error.help("the shortest interval is 200us"),
        Problem::TooSlow => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_often() {
        let of = |name| place(name).expect("of this provider");
        assert_eq!(of("profile-97"), Ok(Place::Profile { interval: SECOND / 97 }));
        assert_eq!(of("profile-997HZ"), Ok(Place::Profile { interval: SECOND / 997 }));
        assert_eq!(of("tick-1sec"), Ok(Place::Tick { interval: SECOND }));
        assert_eq!(of("tick-05s"), Ok(Place::Tick { interval: 5 * SECOND }));
        assert_eq!(of("tick-1Day"), Ok(Place::Tick { interval: 86400 * SECOND }));
        assert_eq!(of("tick-200us"), Ok(Place::Tick { interval: 200_000 }));
        assert_eq!(of("tick-200000ns"), Ok(Place::Tick { interval: 200_000 }));
        assert_eq!(of("profile-5000"), Ok(Place::Profile { interval: 200_000 }));
        for (name, problem) in [
            ("tick-199us", Problem::TooFast),
            ("profile-5001", Problem::TooFast),
            ("profile-99999999999999999999", Problem::TooFast),
            ("tick-99999999999999999999s", Problem::TooSlow),
            ("tick-300000d", Problem::TooSlow),
            ("tick-0", Problem::Number),
            ("tick-0s", Problem::Number),
            ("tick-", Problem::Number),
            ("tick-s", Problem::Number),
            ("tick--1s", Problem::Number),
            ("tick-1fortnight", Problem::Unit),
            ("tick-1s1", Problem::Unit),
        ] {
            assert_eq!(of(name), Err(problem), "{name}");
        }
        assert_eq!(place("ticks-1"), None);
        assert_eq!(place(""), None);
    }

    #[test]
    fn those_that_exist_can_be() {
        for name in RATES {
            let timer = place(name).and_then(Result::ok);
            assert_eq!(name.starts_with("tick"), matches!(timer, Some(Place::Tick { .. })), "{name}");
            assert!(timer.is_some(), "{name}");
        }
    }
}
