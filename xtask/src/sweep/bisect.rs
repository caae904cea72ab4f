//! The search for the function and the instruction that make a batch fail.

use anyhow::Result;

use super::guest::{Bench, Ended, Request};
use super::lines::Begun;
use super::progress::Progress;
use super::state::{Finding, State};

/// The number of retries before a fault counts as not recurring.
const AGAIN: usize = 8;

/// Retries the batch, and narrows it down if it fails again. Fills in the finding.
pub(super) fn investigate(
    bench: &Bench,
    state: &State,
    begun: &Begun,
    finding: &mut Finding,
    progress: &Progress,
) -> Result<()> {
    let (first, last) = (begun.first_address()?, begun.last_address()?);
    let whole =
        Request { from: first, to: last + 1, skip: state.skip.clone(), ..Request::of(&bench.options) }
            .in_one_batch();
    let mut came_back = false;
    while finding.again < AGAIN && !came_back {
        let rest = AGAIN - finding.again;
        let runs = bench.run_each(&vec![whole.clone(); rest])?;
        finding.again += runs.len();
        came_back = runs.iter().any(|run| run.ended != Ended::Whole);
    }
    finding.failed_again = usize::from(came_back);
    progress.say(&format!("tried again {} times, failed {}", finding.again, finding.failed_again));
    finding.control = Some((bench.control(AGAIN)?, AGAIN));
    if !came_back {
        return Ok(());
    }
    let mut functions = |range: (u64, u64)| Request { from: range.0, to: range.1, ..whole.clone() };
    let (from, to, single) = narrow(bench, (first, last + 1), Unit::Function, &mut functions, progress)?;
    finding.narrowed = Some(format!("{from:#x}..{to:#x}"));
    let Some(function) = single else { return Ok(()) };
    let address = function.first_address()?;
    finding.function = Some(function.first.clone());
    finding.skip = Some((address, address + 1));
    let one = Request { from: address, to: address + 1, ..whole.clone() };
    let mut offsets = |range: (u64, u64)| Request { offsets: Some(range), ..one.clone() };
    let (from, to, single) = narrow(bench, (0, function.reach), Unit::Instruction, &mut offsets, progress)?;
    finding.offsets = Some(match single {
        Some(_) => format!("one instruction in {from:#x}..{to:#x}"),
        None => format!("{from:#x}..{to:#x}"),
    });
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Function,
    Instruction,
}

/// Halves a range that fails as long as one half of it does. Returns the last range, and its batch if that is a
/// single unit.
fn narrow(
    bench: &Bench,
    mut range: (u64, u64),
    unit: Unit,
    request: &mut dyn FnMut((u64, u64)) -> Request,
    progress: &Progress,
) -> Result<(u64, u64, Option<Begun>)> {
    while range.1 - range.0 > 1 {
        let middle = range.0 + (range.1 - range.0) / 2;
        let halves = [(range.0, middle), (middle, range.1)];
        let runs = bench.run_each(&halves.map(&mut *request))?;
        let Some(at) = runs.iter().position(|run| run.ended != Ended::Whole) else {
            // The failure needs both halves, or is random.
            return Ok((range.0, range.1, None));
        };
        range = halves[at];
        let Some(begun) = &runs[at].begun else { return Ok((range.0, range.1, None)) };
        progress.say(&format!(
            "fails in {:#x}..{:#x}: {} functions from {}, {} probes",
            range.0, range.1, begun.functions, begun.first, begun.probes
        ));
        let units = if unit == Unit::Function { begun.functions } else { begun.probes };
        if units <= 1 {
            return Ok((range.0, range.1, Some(begun.clone())));
        }
        if unit == Unit::Function {
            range = (begun.first_address()?, begun.last_address()? + 1);
        }
    }
    Ok((range.0, range.1, None))
}
