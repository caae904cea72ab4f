//! analysis/counts/latency.rs: --latency: the time of calls, lap by lap, without the cost of the probes.

use super::gathered::{Gathered, Taken};
use crate::analysis::counts::counted::{Counted, Executions, Spent};
use kinst_sites::flow::laps::Takes;

/// The cost of a probe in nanoseconds: the time from one probe to the next with only one instruction in
/// between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub mean: f64,
    /// The lowest and highest mean over the measured places.
    pub least: f64,
    pub most: f64,
    pub places: usize,
    pub times: u64,
    /// The possible deviation of the mean at another place.
    pub doubt: f64,
}

/// The cost of the probes of functions, each with its index.
pub(crate) fn cost<'a>(all: impl Iterator<Item = (usize, &'a Counted)>, gathered: &Gathered) -> Option<Cost> {
    let (mut places, mut others) = (Vec::new(), Vec::new());
    for (number, counted) in all {
        for lap in counted.laps.iter().filter(|lap| lap.second.is_some()) {
            let places = if lap.takes == Takes::Nothing { &mut places } else { &mut others };
            places.extend(gathered.taken(number, &lap.begin));
        }
    }
    of(&places).or_else(|| of(&others))
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
    Some(Cost { mean, least, most, places: there.len(), times: times as u64, doubt })
}

/// Assigns the time of each lap to the instruction that shows it.
pub(crate) fn fill(
    counted: &Counted,
    number: usize,
    gathered: &Gathered,
    cost: Option<Cost>,
    executions: &mut Executions,
) {
    for lap in &counted.laps {
        let begin = lap.second.as_ref().unwrap_or(&lap.begin);
        let taken = gathered.taken(number, begin).unwrap_or_default();
        let (part, at) = lap.shown;
        let executed = executions.parts.get_mut(part).and_then(|part| part.get_mut(at));
        if let Some(executed) = executed {
            executed.spent.get_or_insert_default().add(spent(taken, cost));
        }
    }
}

fn spent(taken: Taken, cost: Option<Cost>) -> Spent {
    let of = |each: f64| (each * taken.firings as f64).round() as u64;
    Spent {
        times: taken.times,
        measured: taken.sum,
        taken_off: cost.map_or(0, |cost| of(cost.mean).min(taken.sum)),
        doubt: cost.map_or(0, |cost| of(cost.doubt)),
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
    let each = calls.filter(|calls| *calls > 0).map(|calls| total.rest() / calls);
    let each = each.map(|each| format!(", {} each", time(each))).unwrap_or_default();
    let taken = match total.taken_off {
        0 => String::new(),
        taken => {
            let (measured, taken) = (time(total.measured), share(taken, total.measured));
            format!("; of {measured} measured the probes took {taken}, which is subtracted")
        }
    };
    format!("{} in calls{each}{taken}", time(total.rest()))
}

/// Describes the cost of the probes.
pub(crate) fn measured(cost: Option<Cost>) -> String {
    let Some(cost) = cost else {
        return "the cost of the probes could not be measured: all times include it".to_owned();
    };
    let [mean, least, most] = [cost.mean, cost.least, cost.most].map(|each| time(each.round() as u64));
    let spread = match cost.places {
        1 => "in one place".to_owned(),
        places => format!("{least} to {most} in {places} places"),
    };
    format!("a probe costs {mean}, measured here {} times ({spread})", cost.times)
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
    use super::{Cost, Taken, of, share, spent, time};

    fn taken(times: u64, each: u64) -> Taken {
        Taken {
            times,
            sum: times * each,
            squares: u128::from(times) * u128::from(each).pow(2),
            firings: times,
        }
    }

    #[test]
    fn the_cost_is_the_mean_and_its_doubt_the_spread() {
        let Cost { mean, least, most, places, times, doubt } =
            of(&[taken(100, 400), taken(300, 440), taken(1, 90_000)]).unwrap();
        assert_eq!((mean, least, most, places, times), (430.0, 400.0, 440.0, 2, 400));
        assert!((doubt - 20.0).abs() < 1e-9);
        // One place with few values is better than none.
        assert_eq!(of(&[taken(2, 70)]).map(|cost| cost.mean), Some(70.0));
        assert_eq!(of(&[taken(0, 0)]), None);
    }

    #[test]
    fn no_more_is_taken_off_than_there_is() {
        let cost = of(&[taken(100, 400)]);
        let slow = spent(taken(10, 1000), cost);
        assert_eq!((slow.measured, slow.taken_off, slow.rest()), (10_000, 4000, 6000));
        assert_eq!(spent(taken(10, 300), cost).rest(), 0);
        // Probes in nested calls fire too.
        let around = spent(Taken { firings: 50, ..taken(10, 3000) }, cost);
        assert_eq!(around.rest(), 10_000);
        assert_eq!(spent(taken(10, 300), None).rest(), 3000);
    }

    #[test]
    fn an_execution_has_all_of_its_laps() {
        let mut line = spent(taken(20, 1000), None);
        line.add(spent(taken(20, 500), None));
        assert_eq!((line.times, line.rest()), (40, 30_000));
        assert_eq!(line.each(Some(20)), 1500);
        assert_eq!((line.each(None), spent(taken(0, 0), None).each(Some(0))), (750, 0));
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [0, 999, 1000, 12_345, 999_499, 999_999, 61_000_000, 2_500_000_000].map(time);
        assert_eq!(shown, ["0 ns", "999 ns", "1.00 us", "12.3 us", "999 us", "1.00 ms", "61.0 ms", "2.50 s"]);
        assert_eq!((share(61, 100).as_str(), share(1, 0).as_str()), ("61.0 %", ""));
    }
}
