//! The time to arm and to release many functions: our BPF backend next to bpftrace.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use super::guest;
use super::hits::median;
use crate::kernels::{Kernel, Name};

/// The rows of the table: the name in the script's output, and the description.
const ROWS: &[(&str, &str)] = &[
    ("bpf-entry", "BPF, fbt::vfs_*:entry"),
    ("bpftrace-kfunc", "bpftrace, kfunc:vfs_*"),
    ("bpftrace-kprobe", "bpftrace, kprobe:vfs_*"),
    ("bpf-return", "BPF, fbt::vfs_*:return"),
    ("bpftrace-kretfunc", "bpftrace, kretfunc:vfs_*"),
    ("bpftrace-kretprobe", "bpftrace, kretprobe:vfs_*"),
    ("bpf-all", "BPF, fbt:::entry"),
];

/// The number of armed places, and the seconds until they are armed, until the command has ended, and until they are
/// removed.
type Round = [f64; 4];

const LIMIT: Duration = Duration::from_secs(1800);

pub(super) fn main(kernel: Name) -> Result<()> {
    let text = guest::beside_peers(kernel, "arm.sh", LIMIT)?;
    print(&Kernel::need(kernel)?.release, &text);
    Ok(())
}

/// Prints the table, after the other lines of the script.
fn print(release: &str, text: &str) {
    let mut rounds: BTreeMap<&str, Vec<Round>> = BTreeMap::new();
    let mut reasons = BTreeMap::new();
    for line in text.lines() {
        let row = line.split_once(' ').filter(|(name, _)| ROWS.iter().any(|row| row.0 == *name));
        match row.map(|(name, value)| (name, round(value), value.strip_prefix("none "))) {
            Some((name, Some(round), _)) => rounds.entry(name).or_default().push(round),
            Some((name, _, Some(reason))) => {
                reasons.insert(name, reason);
            }
            _ => println!("{line}"),
        }
    }
    println!(
        "\n{:<28} {:>9} {:>9} {:>9} {:>9}   seconds, medians ({release}, one boot)",
        "", "places", "armed", "ended", "gone"
    );
    for (name, what) in ROWS {
        match (rounds.get(name), reasons.get(name)) {
            (Some(rounds), _) => {
                let [places, armed, ended, gone] = [0, 1, 2, 3].map(|column| middle(rounds, column));
                println!("{what:<28} {places:>9} {armed:>9.2} {ended:>9.2} {gone:>9.2}");
            }
            (None, Some(reason)) => println!("{what:<28} {:>9}   {reason}", "none"),
            (None, None) => {}
        }
    }
}

fn round(value: &str) -> Option<Round> {
    let numbers: Vec<f64> = value.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

fn middle(rounds: &[Round], column: usize) -> f64 {
    median(&rounds.iter().map(|round| round[column]).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_four_numbers() {
        assert_eq!(round("70 1.25 0.5 0.75"), Some([70.0, 1.25, 0.5, 0.75]));
        assert_eq!(round("none not armed in time"), None);
        assert_eq!(round("70 1.25 0.5"), None);
    }
}
