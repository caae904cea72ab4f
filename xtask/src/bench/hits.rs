//! Tables of the cost of a hit, by kind of probe, next to the aims.

use std::collections::BTreeMap;

/// A kind of hit. An aim names another row, and the largest permitted ratio to its cost.
pub(super) struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub aims: &'static [(&'static str, f64)],
}

/// The measurements of a script: for each row the nanoseconds of each round, or why it has none.
#[derive(Default)]
struct Measured<'a> {
    times: BTreeMap<&'a str, Vec<f64>>,
    reasons: BTreeMap<&'a str, &'a str>,
    /// The other lines.
    said: Vec<&'a str>,
}

impl<'a> Measured<'a> {
    fn read(rows: &[Row], text: &'a str) -> Measured<'a> {
        let mut measured = Measured::default();
        for line in text.lines() {
            let Some((name, value)) =
                line.split_once(' ').filter(|(name, _)| rows.iter().any(|row| row.name == *name))
            else {
                measured.said.push(line);
                continue;
            };
            match (value.parse(), value.strip_prefix("none ")) {
                (Ok(ns), _) => measured.times.entry(name).or_default().push(ns),
                (_, Some(reason)) => {
                    measured.reasons.insert(name, reason);
                }
                _ => measured.said.push(line),
            }
        }
        measured
    }
}

/// Prints a table, after the other lines of the script.
pub(super) fn print(release: &str, rows: &[Row], text: &str) {
    let Measured { times, reasons, said } = Measured::read(rows, text);
    said.iter().for_each(|line| println!("{line}"));
    let medians: BTreeMap<&str, f64> = times.iter().map(|(name, ns)| (*name, median(ns))).collect();
    let Some(base) = medians.get("base").copied() else { return println!("nothing was measured") };
    println!("\n{:<40} {:>10} {:>8}   aim ({release}, one boot)", "a hit", "ns", "base");
    for Row { name, what, aims } in rows {
        let Some(ns) = medians.get(name) else {
            if let Some(reason) = reasons.get(name) {
                println!("{what:<40} {:>10} {:>8}   {reason}", "none", "");
            }
            continue;
        };
        let aims = aims.iter().filter_map(|(other, most)| {
            let ratio = ns / medians.get(other)?;
            Some(format!("{ratio:.2} of {other} (at most {most:.2})"))
        });
        let aims: Vec<String> = aims.collect();
        println!("{what:<40} {ns:>10.0} {:>8.2}   {}", ns / base, aims.join(", "));
    }
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_gathered_and_what_cannot_be_measured_says_why() {
        let row = |name| Row { name, what: "", aims: &[] };
        let text = "f is probed\nbase 12.5\nbase 11.0\npeer none f: no BTF\nother 3\n";
        let measured = Measured::read(&[row("base"), row("peer")], text);
        assert_eq!(measured.times, BTreeMap::from([("base", vec![12.5, 11.0])]));
        assert_eq!(measured.reasons, BTreeMap::from([("peer", "f: no BTF")]));
        assert_eq!(measured.said, ["f is probed", "other 3"]);
    }
}
