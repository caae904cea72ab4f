//! analysis/counts/latency.rs: --latency: the time of calls, lap by lap, without the cost of the probes.

use super::gathered::{Gathered, Taken};
use crate::analysis::counts::counted::{Counted, Executions, Spent};
use kinst_base::space::Space;
use kinst_sites::flow::laps::Takes;

/// The cost of a probe in nanoseconds: the time from one probe to the next with only one instruction in
/// between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    pub mean: f64,
    /// The lowest and highest mean over the measured places.
    pub least: f64,
    pub most: f64,
    pub places: usize,
    pub times: u64,
    /// The possible deviation of the mean at another place.
    pub doubt: f64,
    /// The standard deviation of one time from the mean.
    pub deviation: f64,
}

/// The cost of the probes. In programs, the kernel executes some instructions below probes in a single step, which
/// costs more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Costs {
    in_programs: bool,
    /// The cost in the kernel, or where the kernel emulates the instruction of a program.
    pub usual: Option<Cost>,
    /// The cost where it steps.
    pub stepped: Option<Cost>,
}

/// Works out the cost of the probes of functions, each with its index.
pub(crate) fn costs<'a>(all: impl Iterator<Item = (usize, &'a Counted)>, gathered: &Gathered) -> Costs {
    let (mut nothing, mut memory) = (Vec::new(), Vec::new());
    let mut in_programs = false;
    for (number, counted) in all {
        in_programs |= counted.listings.first().is_some_and(|listing| listing.space != Space::Kernel);
        for lap in counted.laps.iter().filter(|lap| lap.second.is_some() || lap.is_empty) {
            let is_nothing = lap.is_empty && lap.second.is_none() || lap.takes == Takes::Nothing;
            let places = if is_nothing { &mut nothing } else { &mut memory };
            // In programs, other probes may have fired in between: those in the handler of a signal.
            let taken = gathered.taken(number, &lap.begin);
            places.extend(taken.filter(|taken| !in_programs || taken.firings == taken.times));
        }
    }
    let cost = |steps: bool| {
        let of_kind = |places: &[Taken]| {
            let places = places.iter().filter(|taken| taken.steps == if steps { taken.firings } else { 0 });
            of(&places.copied().collect::<Vec<_>>())
        };
        of_kind(&nothing).or_else(|| of_kind(&memory))
    };
    Costs { in_programs, usual: cost(false), stepped: cost(true).filter(|_| in_programs) }
}

impl Costs {
    /// The time that the probes took in a lap, and how sure that is.
    fn of(&self, taken: Taken) -> Spent {
        let mut spent = Spent { times: taken.times, measured: taken.sum, ..Spent::default() };
        let steps = taken.steps.min(taken.firings);
        // A step costs at least as much as an emulation, so that one of them limits the other.
        let unknown = |least: f64, most: f64| Cost {
            mean: f64::midpoint(least, most),
            doubt: (most - least) / 2.0,
            ..Cost::default()
        };
        let usual = self.usual.or_else(|| self.stepped.map(|cost| unknown(0.0, cost.mean)));
        let each = |taken: Taken| taken.sum.checked_div(taken.firings).unwrap_or(0) as f64;
        let stepped = self.stepped.or_else(|| {
            let usual = self.usual?;
            Some(unknown(usual.mean, each(taken).max(usual.mean)))
        });
        let mut off = 0.0;
        for (firings, cost) in [(taken.firings - steps, usual), (steps, stepped)] {
            let (Some(cost), firings) = (cost.filter(|_| firings > 0), firings as f64) else { continue };
            off += cost.mean * firings;
            spent.doubt += (cost.doubt * firings).round() as u64;
            spent.variance += (cost.deviation.powi(2) * firings).round() as u128;
        }
        spent.taken_off = (off.round() as u64).min(taken.sum);
        spent
    }
}

fn of(places: &[Taken]) -> Option<Cost> {
    // The mean of a few values is not reliable.
    const FEW: u64 = 16;
    let there: Vec<&Taken> = places.iter().filter(|taken| taken.times > 0 && taken.firings > 0).collect();
    let many: Vec<&Taken> = there.iter().copied().filter(|taken| taken.times >= FEW).collect();
    let there = if many.is_empty() { there } else { many };
    let sum = |of: fn(&Taken) -> f64| there.iter().map(|taken| of(taken)).sum::<f64>();
    let (times, firings) = (sum(|taken| taken.times as f64), sum(|taken| taken.firings as f64));
    if there.is_empty() {
        return None;
    }
    let means = || there.iter().map(|taken| taken.sum as f64 / taken.firings as f64);
    let mean = sum(|taken| taken.sum as f64) / firings;
    let variance = (sum(|taken| taken.squares as f64) / times - mean * mean).max(0.0);
    let (least, most) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
    let doubt = ((most - least) / 2.0).max((variance / times).sqrt());
    let (places, times, deviation) = (there.len(), times as u64, variance.sqrt());
    Some(Cost { mean, least, most, places, times, doubt, deviation })
}

/// Assigns the time of each lap to the instruction that shows it.
pub(crate) fn fill(
    counted: &Counted,
    number: usize,
    gathered: &Gathered,
    costs: Costs,
    executions: &mut Executions,
) {
    for lap in &counted.laps {
        let begin = lap.second.as_ref().unwrap_or(&lap.begin);
        let taken = gathered.taken(number, begin).unwrap_or_default();
        let (part, at) = lap.shown;
        let executed = executions.parts.get_mut(part).and_then(|part| part.get_mut(at));
        if let Some(executed) = executed {
            executed.spent.get_or_insert_default().add(costs.of(taken));
        }
    }
}

/// The total time of all laps of some functions or copies.
pub(crate) fn total<'a>(all: impl Iterator<Item = &'a Executions>) -> Option<Spent> {
    let each = all.flat_map(|executions| executions.parts.iter().flatten()).filter_map(|one| one.spent);
    each.reduce(|mut total, spent| {
        total.add(spent);
        total
    })
}

/// `12.3 ms in calls, 12.3 us each; of 31.5 ms measured the probes took 61.0 %, which is subtracted`
pub(crate) fn about(total: Spent, calls: Option<u64>) -> String {
    // A smaller deviation is not worth mentioning.
    const SURE: f64 = 0.02;
    let each = |of: u64| calls.filter(|calls| *calls > 0).map(|calls| time(of / calls));
    let (rest, doubt) = (total.rest(), total.doubt());
    let mut text = match rest <= doubt {
        true if doubt > 0 => {
            let each = each(rest + doubt).map(|each| format!(", {each} each")).unwrap_or_default();
            format!("less than {} in calls{each}", time(rest + doubt))
        }
        _ => {
            let each = each(rest).map(|each| format!(", {each} each")).unwrap_or_default();
            let doubt = match doubt as f64 > SURE * rest as f64 {
                true => format!(" (± {})", share(doubt, rest)),
                false => String::new(),
            };
            format!("{} in calls{each}{doubt}", time(rest))
        }
    };
    if total.taken_off > 0 {
        let (measured, taken) = (time(total.measured), share(total.taken_off, total.measured));
        text += &format!("; of {measured} measured the probes took {taken}, which is subtracted");
    }
    text
}

/// Describes the cost of the probes.
pub(crate) fn measured(costs: Costs) -> String {
    let (kinds, nothing) = match costs.in_programs {
        false => (vec![("a probe", costs.usual)], ""),
        true => (vec![("an emulated probe", costs.usual), ("a stepped one", costs.stepped)], " of all kinds"),
    };
    if kinds.iter().all(|(_, cost)| cost.is_none()) {
        return format!("the cost of the probes{nothing} could not be measured: all times include it");
    }
    let each: Vec<String> = kinds.iter().map(|(name, cost)| one_cost(name, *cost)).collect();
    each.join("; ")
}

fn one_cost(name: &str, cost: Option<Cost>) -> String {
    let Some(cost) = cost else { return format!("{name} was not measured, and is estimated by the other") };
    let [mean, least, most] = [cost.mean, cost.least, cost.most].map(|each| time(each.round() as u64));
    let spread = match cost.places {
        1 => "in one place".to_owned(),
        places => format!("{least} to {most} in {places} places"),
    };
    format!("{name} costs {mean}, measured here {} times ({spread})", cost.times)
}

pub(crate) fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return String::new();
    }
    format!("{:.1} %", 100.0 * part as f64 / all as f64)
}

/// Formats a time in a suitable unit.
pub(crate) fn time(ns: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    // Avoids 1000 of a unit, which is 1 of the next.
    let unit = UNITS.iter().find(|(_, of)| ns as f64 >= 0.9995 * of);
    let Some((unit, of)) = unit else { return format!("{ns} ns") };
    let number = ns as f64 / of;
    let digits = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
    format!("{number:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{Cost, Costs, Spent, Taken, about, measured, of, share, time};

    fn taken(times: u64, each: u64) -> Taken {
        Taken {
            times,
            sum: times * each,
            squares: u128::from(times) * u128::from(each).pow(2),
            firings: times,
            steps: 0,
        }
    }

    fn usual(usual: Option<Cost>) -> Costs {
        Costs { usual, ..Costs::default() }
    }

    #[test]
    fn the_cost_is_the_mean_and_its_doubt_the_spread() {
        let Cost { mean, least, most, places, times, doubt, deviation } =
            of(&[taken(100, 400), taken(300, 440), taken(1, 90_000)]).unwrap();
        assert_eq!((mean, least, most, places, times), (430.0, 400.0, 440.0, 2, 400));
        assert!((doubt - 20.0).abs() < 1e-9);
        assert!((deviation - 300_f64.sqrt()).abs() < 1e-9);
        // One place with few values is better than none.
        assert_eq!(of(&[taken(2, 70)]).map(|cost| cost.mean), Some(70.0));
        assert_eq!(of(&[taken(0, 0)]), None);
    }

    #[test]
    fn no_more_is_taken_off_than_there_is() {
        let costs = usual(of(&[taken(100, 400)]));
        let slow = costs.of(taken(10, 1000));
        assert_eq!((slow.measured, slow.taken_off, slow.rest()), (10_000, 4000, 6000));
        assert_eq!(costs.of(taken(10, 300)).rest(), 0);
        // Probes in nested calls fire too.
        let around = costs.of(Taken { firings: 50, ..taken(10, 3000) });
        assert_eq!(around.rest(), 10_000);
        assert_eq!(usual(None).of(taken(10, 300)).rest(), 3000);
    }

    #[test]
    fn a_step_costs_more_than_an_emulation() {
        let (cheap, dear) = (of(&[taken(100, 500)]), of(&[taken(100, 5000)]));
        let costs = |usual, stepped| Costs { in_programs: true, usual, stepped };
        let lap = Taken { firings: 30, steps: 10, ..taken(10, 9000) };
        let spent = costs(cheap, dear).of(lap);
        assert_eq!((spent.taken_off, spent.rest(), spent.doubt()), (60_000, 30_000, 0));
        // An unknown cost is between zero and the other one.
        let spent = costs(None, dear).of(lap);
        assert_eq!((spent.taken_off, spent.doubt()), (90_000, 50_000));
        // A step could take all of the time.
        let spent = costs(cheap, None).of(Taken { steps: 10, ..taken(10, 9000) });
        assert_eq!((spent.taken_off, spent.doubt()), (47_500, 42_500));
        assert!(spent.rest() <= spent.doubt());
        let said = measured(costs(cheap, None));
        let expected = "an emulated probe costs 500 ns, measured here 100 times (in one place); \
                        a stepped one was not measured, and is estimated by the other";
        assert_eq!(said, expected);
    }

    #[test]
    fn a_sum_within_its_doubt_has_an_upper_limit() {
        let spent = Spent { times: 10, measured: 90_000, taken_off: 85_000, doubt: 7000, variance: 0 };
        let said = about(spent, Some(10));
        assert!(said.starts_with("less than 12.0 us in calls, 1.20 us each; of 90.0 us measured"), "{said}");
        // Independent deviations add up by their squares.
        let mut spent = Spent { doubt: 0, variance: 1_000_000, ..spent };
        (0..3).for_each(|_| spent.add(Spent { variance: 1_000_000, ..Spent::default() }));
        assert_eq!(spent.doubt(), 4000);
        assert!(about(spent, Some(10)).starts_with("5.00 us in calls, 500 ns each (± 80.0 %); of"));
    }

    #[test]
    fn an_execution_has_all_of_its_laps() {
        let mut line = usual(None).of(taken(20, 1000));
        line.add(usual(None).of(taken(20, 500)));
        assert_eq!((line.times, line.rest()), (40, 30_000));
        assert_eq!(line.each(Some(20)), 1500);
        assert_eq!((line.each(None), usual(None).of(taken(0, 0)).each(Some(0))), (750, 0));
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [0, 999, 1000, 12_345, 999_499, 999_999, 61_000_000, 2_500_000_000].map(time);
        assert_eq!(shown, ["0 ns", "999 ns", "1.00 us", "12.3 us", "999 us", "1.00 ms", "61.0 ms", "2.50 s"]);
        assert_eq!((share(61, 100).as_str(), share(1, 0).as_str()), ("61.0 %", ""));
    }
}
