//! Calls by the source: a function whose text calls another one exactly once executes exactly one call instruction
//! for it in each call.

mod sites;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use anyhow::Result;

use super::calls::{self, Pair};
use super::instrumented::{ALL, Instrumented};
use super::{Options, Run, WHEN};
use crate::kernels::Name;
use crate::setup;
use crate::steps;

/// The calls that are counted in place of the calls of functions.
#[derive(Default)]
struct Calling {
    /// The places of calls, by function.
    places: BTreeMap<String, Vec<String>>,
    /// The pairs in which all copies of the function make such calls.
    pairs: BTreeSet<Pair>,
}

pub(super) fn main(options: &Options) -> Result<ExitCode> {
    let source = setup::source::ensure()?;
    let run = Run::prepare(Name::V6_1, options)?;
    let code = Instrumented::all_of(run.vmlinux()?)?;
    let sites = steps::step("the calls of inlined copies", |_| sites::find(run.vmlinux()?, &source))?;
    let calling = Calling::of(&sites, &code);
    let number = |name: &str| calling.places.get(name).map_or(0, |places| 3 * places.len());
    let names = calling.places.keys().map(|name| &**name).filter(|name| options.wants(name, number(name)));
    let program = |names: &[&str]| calling.program(names);
    let counts = |text: &str| {
        let (mut ours, mut theirs) = (calls::dtraces(text, &code)?, calls::made(text, &code)?);
        for calls in [&mut ours, &mut theirs] {
            calls.counts.retain(|pair, _| calling.pairs.contains(pair));
        }
        Ok((ours, theirs))
    };
    run.batches(names.collect(), &number, &program, counts, &code)
}

impl Calling {
    fn of(sites: &sites::Sites, code: &Instrumented) -> Calling {
        let mut calling = Calling::default();
        let mut without = BTreeSet::new();
        for ((function, caller), starts) in sites {
            let pair = code.pair(function, caller);
            let place = |start: &u64| code.place(*start);
            let places: Option<Vec<String>> =
                starts.as_ref().and_then(|starts| starts.iter().map(place).collect());
            match places {
                // Calls of a split function and of its unsplit code have the same callers.
                Some(places) if function != caller && pair.1 != ALL => {
                    calling.places.entry(function.clone()).or_default().extend(places);
                    calling.pairs.insert(pair);
                }
                _ => {
                    without.insert(pair);
                }
            }
        }
        calling.pairs.retain(|pair| !without.contains(pair));
        calling
    }

    /// The program that counts the entries and returns of these functions, and the calls that they make.
    fn program(&self, names: &[&str]) -> String {
        let mut text = String::new();
        for name in names {
            let places: Vec<String> =
                self.places[*name].iter().map(|place| format!("kinst::{place}")).collect();
            text += &format!("{} {WHEN} {{ @c[\"{name}\", regs[R_PC]] = count(); }}\n", places.join(",\n"));
        }
        text + &super::program(names) + "END { printa(\"call %@d %s %x\\n\", @c); }\n"
    }
}
