//! consumer/output/quantize.rs: distributions as bar graphs.

use super::text::Text;
use kinst_dif::layout::{Llquantize, Lquantize};

/// The number of buckets of quantize(): 63 negative powers of two, zero, 63 positive ones.
pub(crate) const BUCKETS: usize = 127;
const ZERO: usize = 63;

/// The scale of counts as numbers and bars.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The divisor of counts when they are printed.
    pub normal: i64,
    /// The option aggzoom: the longest bar takes 95 % of the width, whatever its share.
    pub zoom: bool,
}

/// Returns the divisor, with 1 in place of 0.
pub(crate) fn divisor(normal: i64) -> i64 {
    if normal == 0 { 1 } else { normal }
}

impl From<i64> for Scale {
    fn from(normal: i64) -> Scale {
        Scale { normal, zoom: false }
    }
}

/// The style of a distribution.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// The option aggzoom.
    pub zoom: bool,
    /// The option aggpack: draw on one line, with these marks.
    pub pack: Option<Marks>,
}

/// The characters of a distribution on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Tenths of the sum: `_` below half a tenth, then `1` to `9`, and `X`.
    Digits,
    /// Eighths, as blocks.
    Blocks,
}

impl Marks {
    fn mark(self, share: f64) -> char {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const DIGITS: [char; 11] = ['_', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'X'];
        if share <= 0.0 {
            return ' ';
        }
        match self {
            Marks::Digits => DIGITS[((share * 10.0).round() as usize).min(10)],
            Marks::Blocks => BLOCKS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1],
        }
    }
}

/// Buckets and their labels, for a distribution on one line.
#[derive(Clone, Debug)]
pub struct Packed {
    pub counts: Vec<i64>,
    labels: Vec<String>,
}

impl Packed {
    pub fn powers(counts: Vec<i64>) -> Packed {
        let labels = (0..counts.len()).map(|index| power(index).to_string()).collect();
        Packed { counts, labels }
    }

    pub fn linear(counts: Vec<i64>, parameters: Lquantize) -> Packed {
        let labels = (0..counts.len()).map(|index| linear_label(parameters, index)).collect();
        Packed { counts, labels }
    }

    pub fn log_linear(counts: Vec<i64>, parameters: Llquantize) -> Packed {
        let bounds = bounds(parameters);
        let labels = (0..counts.len()).map(|index| log_linear_label(&bounds, index)).collect();
        Packed { counts, labels }
    }

    /// Returns the range from the first to the last non-empty bucket; `None` if all are empty.
    pub fn occupied(&self) -> Option<std::ops::RangeInclusive<usize>> {
        let first = self.counts.iter().position(|count| *count != 0)?;
        Some(first..=self.counts.iter().rposition(|count| *count != 0)?)
    }

    /// Prints `       0 :  12X :        4096 | 20`: the first label, a character for each bucket, the last label, and
    /// the sum.
    pub fn row(&self, out: &mut Text, shown: &std::ops::RangeInclusive<usize>, style: Scale, marks: Marks) {
        let counts = self.counts.get(shown.clone()).unwrap_or_default();
        let bars = Bars::new(counts, style);
        let label = |index: &usize| self.labels.get(*index).map_or("", String::as_str);
        out.put(format_args!("{:>16} :", label(shown.start())));
        counts.iter().for_each(|count| out.put(format_args!("{}", marks.mark(bars.share(*count)))));
        let sum = counts.iter().fold(0i64, |sum, count| sum.wrapping_add(*count));
        let sum = sum.wrapping_div(divisor(style.normal));
        out.put(format_args!(": {:<16} | {sum}", label(shown.end())));
    }
}

/// Prints the heading above rows of [`Packed::row`], after the columns of the keys.
pub(crate) fn packed_heading(out: &mut Text, columns: usize) {
    out.put(format_args!("{:>16} .{}. {:<16} | count\n", "min", "-".repeat(columns), "max"));
}

/// Returns the lower bound of bucket `index` of lquantize(); bucket 0 is everything below the base.
pub(crate) fn lower(parameters: Lquantize, index: usize) -> i64 {
    i64::from(parameters.base) + (index as i64 - 1) * i64::from(parameters.step)
}

/// Returns the lower bounds of llquantize()'s buckets between the first (underflow) and the last (overflow), and the
/// lower bound of the last.
pub(crate) fn bounds(parameters: Llquantize) -> (Vec<i64>, i64) {
    const MOST: i128 = 1 << 64;
    let (factor, steps) = (i128::from(parameters.factor.max(2)), i128::from(parameters.steps.max(1)));
    let mut bounds = Vec::new();
    // The compiler limits factor^(high+1) to 64 bits, but records are checked, not trusted.
    let mut value = factor.checked_pow(parameters.low.into()).unwrap_or(MOST).min(MOST);
    for _ in parameters.low..=parameters.high {
        let next = value * factor;
        if next > MOST {
            break;
        }
        let step = if next > steps { next / steps } else { 1 };
        while value < next {
            bounds.push(value as i64);
            value += step;
        }
        value = next;
    }
    (bounds, value as i64)
}

/// Returns the value of smallest magnitude in bucket `index` of quantize().
pub(crate) fn power(index: usize) -> i64 {
    match index {
        ..ZERO => -(1 << (ZERO - 1 - index)),
        ZERO => 0,
        _ => 1 << (index - ZERO - 1).min(62),
    }
}

/// Returns the smallest value in bucket `index` of quantize(); `index` is not 0.
pub(crate) fn least(index: usize) -> i64 {
    match index {
        ..ZERO => power(index - 1) + 1,
        _ => power(index),
    }
}

/// Prints quantize(): one row per power of two.
pub(crate) fn powers(out: &mut Text, buckets: &[i64], scale: impl Into<Scale>) {
    let shown = if buckets.iter().take(BUCKETS - 1).all(|count| *count == 0) && buckets.last() == Some(&0) {
        // All counts are 0, after increments that cancel out: show the middle.
        ZERO - 1..=(ZERO + 1).min(buckets.len() - 1)
    } else {
        occupied(buckets)
    };
    graph(out, buckets, shown, scale.into(), |index| power(index).to_string());
}

/// Prints lquantize(): rows of equal width between two open ends.
pub(crate) fn linear(out: &mut Text, buckets: &[i64], parameters: Lquantize, scale: impl Into<Scale>) {
    let last = usize::from(parameters.levels) + 1;
    let shown = if buckets.iter().all(|count| *count == 0) { 0..=last.min(2) } else { occupied(buckets) };
    graph(out, buckets, shown, scale.into(), |index| linear_label(parameters, index));
}

fn linear_label(parameters: Lquantize, index: usize) -> String {
    let last = usize::from(parameters.levels) + 1;
    match index {
        0 => format!("< {}", parameters.base),
        _ if index == last => format!(">= {}", lower(parameters, last)),
        _ => lower(parameters, index).to_string(),
    }
}

/// Prints llquantize(): rows that widen with the magnitude, between two open ends.
pub(crate) fn log_linear(out: &mut Text, buckets: &[i64], parameters: Llquantize, scale: impl Into<Scale>) {
    let bounds = bounds(parameters);
    let shown = if buckets.iter().all(|count| *count == 0) { 0..=1 } else { occupied(buckets) };
    graph(out, buckets, shown, scale.into(), |index| log_linear_label(&bounds, index));
}

fn log_linear_label((bounds, end): &(Vec<i64>, i64), index: usize) -> String {
    match index {
        0 => format!("< {}", bounds.first().unwrap_or(end)),
        _ => bounds.get(index - 1).map_or_else(|| format!(">= {end}"), i64::to_string),
    }
}

/// Returns the range of non-empty buckets, plus an empty one on either side.
fn occupied(buckets: &[i64]) -> std::ops::RangeInclusive<usize> {
    let first = buckets.iter().position(|count| *count != 0).unwrap_or(0);
    let last = buckets.iter().rposition(|count| *count != 0).unwrap_or(0);
    first.saturating_sub(1)..=(last + 1).min(buckets.len().saturating_sub(1))
}

fn graph(
    out: &mut Text,
    buckets: &[i64],
    shown: std::ops::RangeInclusive<usize>,
    scale: Scale,
    label: impl Fn(usize) -> String,
) {
    let Some(rows) = buckets.get(shown.clone()) else { return };
    let bars = Bars::new(rows, scale);
    heading(out, "value", 16);
    for (index, count) in shown.zip(rows) {
        out.put(format_args!("{:>16} ", label(index)));
        bars.row(out, *count);
    }
}

fn heading(out: &mut Text, what: &str, width: usize) {
    const BARS: &str = "------------- Distribution -------------";
    out.put(format_args!("\n{what:>width$} {BARS:>41} {:<9}\n", "count"));
}

/// Prints the option agghist: a bar for each key.
pub(crate) fn by_key(out: &mut Text, rows: &[(String, i64)], scale: Scale) {
    const LEAST: usize = 16;
    let width = rows.iter().map(|(key, _)| key.chars().count()).fold(LEAST, usize::max);
    let values: Vec<i64> = rows.iter().map(|(_, value)| *value).collect();
    let bars = Bars::new(&values, scale);
    heading(out, "key", width);
    for (key, value) in rows {
        out.put(format_args!("{key:>width$} "));
        bars.row(out, *value);
    }
}

struct Bars {
    total: f64,
    positive: bool,
    negative: bool,
    normal: i64,
}

impl Bars {
    fn new(rows: &[i64], scale: Scale) -> Bars {
        const ZOOMED: f64 = 0.95;
        let sizes = rows.iter().map(|count| count.unsigned_abs() as f64);
        let total = if scale.zoom { sizes.fold(0.0, f64::max) / ZOOMED } else { sizes.sum() };
        let (positive, negative) = (rows.iter().any(|c| *c > 0), rows.iter().any(|c| *c < 0));
        Bars { total, positive, negative, normal: scale.normal }
    }

    fn share(&self, count: i64) -> f64 {
        if self.total > 0.0 { count.unsigned_abs() as f64 / self.total } else { 0.0 }
    }

    /// Prints a bar: forty columns if all counts have one sign, else twenty for each sign.
    fn row(&self, out: &mut Text, count: i64) {
        let width = if self.positive && self.negative { 20 } else { 40 };
        let marks = ((self.share(count) * width as f64 + 0.5) as usize).min(width);
        let (bar, rest) = ("@".repeat(marks), " ".repeat(width - marks));
        match (self.positive, self.negative) {
            (true, true) if count <= 0 => out.put(format_args!("{rest}{bar}|{:20}", "")),
            (true, true) => out.put(format_args!("{:20}|{bar}{rest}", "")),
            (false, true) => out.put(format_args!("{rest}{bar}|")),
            _ => out.put(format_args!("|{bar}{rest}")),
        }
        out.put(format_args!(" {:<9}\n", count.wrapping_div(divisor(self.normal))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    fn text(draw: impl Fn(&mut Text)) -> String {
        let mut out = Text::new();
        draw(&mut out);
        String::from_utf8(out.as_bytes().to_vec()).unwrap()
    }

    fn counts(len: usize, filled: &[(usize, i64)]) -> Vec<i64> {
        let mut buckets = vec![0; len];
        for (index, count) in filled {
            buckets[*index] = *count;
        }
        buckets
    }

    #[test]
    fn graphs() {
        let mixed = counts(BUCKETS, &[(60, -3), (63, 2), (66, 5)]);
        let linear_word = 10 << 48 | 5 << 32;
        let log_word = 10 << 48 | 1 << 32 | 2 << 16 | 10;
        let drawn = [
            ("powers of two", text(|out| powers(out, &counts(BUCKETS, &[(64, 1), (67, 30), (68, 9)]), 1))),
            ("both signs", text(|out| powers(out, &mixed, 1))),
            ("negative only", text(|out| powers(out, &counts(BUCKETS, &[(0, -8), (1, -2)]), 1))),
            ("nothing", text(|out| powers(out, &counts(BUCKETS, &[]), 1))),
            ("normalised", text(|out| powers(out, &counts(BUCKETS, &[(64, 1000)]), 10))),
            (
                "linear",
                text(|out| {
                    linear(out, &counts(7, &[(0, 1), (3, 4), (6, 2)]), Lquantize::unpack(linear_word), 1)
                }),
            ),
            ("linear, nothing", text(|out| linear(out, &counts(7, &[]), Lquantize::unpack(linear_word), 1))),
            (
                "log-linear",
                text(|out| {
                    log_linear(
                        out,
                        &counts(20, &[(0, 1), (1, 4), (10, 7), (19, 2)]),
                        Llquantize::unpack(log_word),
                        1,
                    )
                }),
            ),
            (
                "on one line",
                text(|out| {
                    let packed = Packed::powers(counts(BUCKETS, &[(64, 1), (65, 2), (67, 30), (68, 9)]));
                    let shown = packed.occupied().unwrap();
                    for (normal, zoom) in [(1, false), (10, true)] {
                        for marks in [Marks::Digits, Marks::Blocks] {
                            out.str("\n");
                            packed.row(out, &shown, Scale { normal, zoom }, marks);
                        }
                    }
                    out.str("\n");
                    packed_heading(out, shown.count());
                }),
            ),
            (
                "on one line, others",
                text(|out| {
                    let counts = vec![0, -4, 4, 0, 0, 0, 1];
                    let packed = Packed::linear(counts, Lquantize::unpack(linear_word));
                    out.str("\n");
                    packed.row(out, &(0..=6), Scale::from(1), Marks::Digits);
                    let packed = Packed::log_linear(vec![5; 20], Llquantize::unpack(log_word));
                    out.str("\n");
                    packed.row(out, &(0..=19), Scale::from(1), Marks::Blocks);
                    out.str("\n");
                }),
            ),
        ]
        .map(|(name, graph)| format!("{name}:{graph}"));
        snapshot::settings("consumer").bind(|| insta::assert_snapshot!("graphs", drawn.join("\n")));
    }

    #[test]
    fn bucket_counts() {
        for (low, high, steps) in [(1, 2, 10), (0, 1, 20), (0, 5, 100), (2, 2, 10)] {
            let parameters = Llquantize { factor: 10, low, high, steps };
            assert_eq!(bounds(parameters).0.len() as u64 + 2, parameters.buckets());
        }
        assert_eq!(power(0), -(1 << 62));
        assert_eq!(power(126), 1 << 62);
    }

    proptest::proptest! {
        #[test]
        fn any_word_and_any_counts_draw(word: u64, counts: Vec<i64>, normal: i64) {
            let mut out = Text::new();
            powers(&mut out, &counts, normal);
            linear(&mut out, &counts, Lquantize::unpack(word), normal);
            let parameters = Llquantize::unpack(word);
            if parameters.steps < 1000 {
                log_linear(&mut out, &counts, parameters, normal);
                for packed in [
                    Packed::powers(counts.clone()),
                    Packed::linear(counts.clone(), Lquantize::unpack(word)),
                    Packed::log_linear(counts, parameters),
                ] {
                    let shown = packed.occupied().unwrap_or(0..=200);
                    packed.row(&mut out, &shown, Scale { normal, zoom: word & 1 == 1 }, Marks::Blocks);
                }
            }
        }
    }
}
