//! analysis/coverage/text.rs: coverage as a summary by file and function.

use super::tally::{Called, File, Sum, Tally};
use anstyle::{AnsiColor, Style};
use kinst_base::diag::color;
use std::fmt::Write as _;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Writes the summary; `all`: including functions that were not called.
pub(crate) fn summary(tally: &Tally, all: bool, colored: bool) -> String {
    let paint = |style, text: &str| color::paint(text, style, colored);
    let title = format!("{:^20} {:^20} {:^20} {:^20}", "lines", "branches", "blocks", "functions");
    let mut out = paint(BOLD, title.trim_end()) + "\n";
    for (name, file) in &tally.files {
        let name = if name.is_empty() { "no source is known" } else { name };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{} {}", sums(file), paint(CYAN, name));
        out += &functions(file, all, &paint);
    }
    let total = tally.files.values().fold([Sum::default(); 4], |sum, file| {
        let more = all_sums(file);
        std::array::from_fn(|number| sum[number].and(more[number]))
    });
    let _ = writeln!(out, "{} {}", total.map(share).join(" "), paint(BOLD, "all"));
    let unknown = total[2].unknown;
    if unknown > 0 {
        let blocks = if unknown == 1 { "1 block is" } else { &format!("{unknown} blocks are") };
        let _ = writeln!(
            out,
            "{blocks} left out: no probe is possible, and other blocks do not determine the result"
        );
    }
    out
}

fn all_sums(file: &File) -> [Sum; 4] {
    [file.lines_sum(), file.branches_sum(), file.blocks_sum(), file.functions_sum()]
}

fn sums(file: &File) -> String {
    all_sums(file).map(share).join(" ")
}

/// `  36.4 %   1204/3310`
fn share(sum: Sum) -> String {
    match sum.known() {
        0 => format!("{:20}", ""),
        known => {
            let numbers = format!("{}/{known}", sum.yes);
            format!("{:>6.1} % {numbers:>11}", 100.0 * sum.yes as f64 / known as f64)
        }
    }
}

fn functions(file: &File, all: bool, paint: &dyn Fn(Style, &str) -> String) -> String {
    let mut out = String::new();
    let mut functions: Vec<(&String, &Called)> = file.functions.iter().collect();
    functions.sort_by_key(|(name, called)| (called.line, *name));
    let mut left = 0;
    for (name, called) in functions {
        let is_dim = called.called == Some(false) && called.blocks.yes == 0;
        if is_dim && !all {
            left += 1;
            continue;
        }
        let row = format!("{:41} {} {:20}   {name}:{}", "", share(called.blocks), "", called.line);
        let _ = writeln!(out, "{}", if is_dim { paint(DIM, &row) } else { row });
    }
    if left > 0 && left < file.functions.len() {
        let row = format!("{:85}… and {left} that {} not called", "", if left == 1 { "was" } else { "were" });
        let _ = writeln!(out, "{}", paint(DIM, &row));
    }
    out
}
