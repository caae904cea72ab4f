//! The numbers of calls that the guest prints: the kernel's own, and dtrace's.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

use super::instrumented::Instrumented;

/// A function, and the function whose code contains it: itself, if it is not inlined.
pub(super) type Pair = (String, String);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub enters: u64,
    pub exits: u64,
}

#[derive(Default)]
pub(super) struct Calls {
    pub counts: BTreeMap<Pair, Count>,
    /// The functions with an inlined copy that has been called.
    pub inlined: BTreeSet<String>,
    /// The places that were refused.
    pub refused: BTreeSet<String>,
    /// The number of further refused places that dtrace does not name.
    pub unnamed: u64,
    /// The number of counts at places in functions that are built without the hooks.
    pub without: usize,
}

impl Calls {
    fn add(&mut self, kind: &str, number: &str, pair: Pair, inlined: bool) -> Result<()> {
        let number: u64 = number.parse().with_context(|| format!("{number} is not a count"))?;
        if inlined {
            self.inlined.insert(pair.0.clone());
        }
        let count = self.counts.entry(pair).or_default();
        *(if kind == "enter" { &mut count.enters } else { &mut count.exits }) += number;
        Ok(())
    }
}

fn address(hex: &str) -> Result<u64> {
    u64::from_str_radix(hex, 16).with_context(|| format!("{hex} is not an address"))
}

/// The kernel's counts: `enter COUNT FUNCTION ADDRESS PLACE ADDRESS`, with the module in brackets after a name.
pub(super) fn kernels(text: &str, code: &Instrumented) -> Result<Calls> {
    let mut calls = Calls::default();
    let mut lost = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().filter(|word| !word.starts_with('[')).collect();
        match *words {
            [kind @ ("enter" | "exit"), number, _, function, _, place] => {
                // The place is the hook's return address.
                match (code.function(address(function)?), code.caller(address(place)? - 1)) {
                    (Some(function), Some(caller)) => {
                        calls.add(kind, number, code.pair(function, caller), function != caller)?;
                    }
                    _ => calls.without += 1,
                }
            }
            ["lost", number] => lost = Some(number.to_owned()),
            _ => bail!("unexpected line of the kernel: {line:?}"),
        }
    }
    match lost.as_deref() {
        Some("0") => Ok(calls),
        Some(number) => bail!("the kernel's table was full: {number} calls are missing"),
        None => bail!("the kernel's counts are not complete"),
    }
}

/// The counts of dtrace (`enter COUNT FUNCTION ADDRESS`), and the places that it could not trace (`refused PLACE`).
pub(super) fn dtraces(text: &str, code: &Instrumented) -> Result<Calls> {
    let mut calls = Calls::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words {
            ["refused", number, "more"] => {
                calls.unnamed = number.parse().context("the number of refused places is not a number")?
            }
            ["refused", place] => {
                calls.refused.insert(place.to_owned());
            }
            [kind @ ("enter" | "exit"), number, function, place] => match code.caller(address(place)?) {
                Some(caller) => calls.add(kind, number, code.pair(function, caller), function != caller)?,
                None => calls.without += 1,
            },
            // Counts of `made`, in place of a kernel's own.
            ["call", ..] | [] => {}
            _ => bail!("unexpected line of dtrace: {line:?}"),
        }
    }
    Ok(calls)
}

/// The counts of the calls that functions make, which dtrace counts too (`call COUNT FUNCTION ADDRESS`), as a measure
/// of how often the functions are called.
pub(super) fn made(text: &str, code: &Instrumented) -> Result<Calls> {
    let mut calls = Calls::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["call", number, function, place] = *words
            && let Some(caller) = code.caller(address(place)?)
        {
            for kind in ["enter", "exit"] {
                calls.add(kind, number, code.pair(function, caller), true)?;
            }
        }
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `g` at 0x1000 and 0x3000, of which the first has hooks, its cold part at 0x2000, and `f` at 0x4000.
    fn code() -> Instrumented {
        let symbols = [(0x1000, "g"), (0x2000, "g.cold"), (0x3000, "g"), (0x4000, "f"), (0x5000, "h")];
        let symbols = symbols.into_iter().chain([(0x6000, "h.part.0")]);
        Instrumented::with(symbols, [0x1000])
    }

    #[test]
    fn counts_of_clones_and_of_several_places_are_added() {
        let text = "enter 2 f 4000 g 1010\nenter 3 f 4000 g.cold 2020\nexit 5 f 4000 g 1030\nlost 0\n";
        let calls = kernels(text, &code()).unwrap();
        assert_eq!(calls.counts[&code().pair("f", "g")], Count { enters: 5, exits: 5 });
        assert_eq!(calls.inlined, BTreeSet::from(["f".to_owned()]));
    }

    #[test]
    fn counts_that_are_not_complete_are_an_error() {
        assert!(kernels("enter 2 f 4000 g 1010\n", &code()).is_err());
        assert!(kernels("enter 2 f 4000 g 1010\nlost 3\n", &code()).is_err());
    }

    #[test]
    fn the_second_half_of_a_split_function_ends_calls_of_the_first() {
        let calls = kernels("enter 4 h 5000 g 1010\nexit 4 h 5000 g 1020\nlost 0\n", &code()).unwrap();
        assert_eq!(calls.counts[&("h".into(), "*".into())], Count { enters: 4, exits: 4 });
    }

    #[test]
    fn a_module_is_no_part_of_a_name() {
        let calls = kernels("exit 1 f [loop] 4000 g [loop] 1010\nlost 0\n", &code()).unwrap();
        assert_eq!(calls.counts[&code().pair("f", "g")], Count { enters: 0, exits: 1 });
    }

    #[test]
    fn what_the_same_function_of_another_file_does_is_left_out() {
        let calls =
            dtraces("enter 7 f 1000\nenter 4 f 3004\nrefused kinst::g#2:12\nrefused 3 more\n", &code())
                .unwrap();
        assert_eq!(calls.counts[&code().pair("f", "g")].enters, 7);
        assert_eq!(calls.without, 1);
        assert!(calls.refused.contains("kinst::g#2:12"));
        assert_eq!(calls.unnamed, 3);
        assert!(dtraces("enter 7 f\n", &code()).is_err());
    }
}
