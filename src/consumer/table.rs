//! consumer/table.rs: aggregations as typed rows, for output formats other than text.

use super::aggregate::Shown;
use super::output::quantize::{self, divisor};
use super::value::Value;
use kinst_dif::ActionKind;
use kinst_dif::layout::{Llquantize, Lquantize};

/// One aggregation.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<'p> {
    /// Without the `@`; empty for `@` itself.
    pub name: &'p str,
    /// The aggregating function: `ActionKind::Count`.
    pub function: ActionKind,
    /// The D text of each key component, which serves as its name.
    pub keys: &'p [String],
    /// The divisor of normalize(); the values are already divided.
    pub normal: i64,
    /// The rows, in the order of the options aggsort…
    pub rows: Vec<Entry>,
}

/// A row: one key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The components of the key, parallel to [`Table::keys`].
    pub key: Vec<Value>,
    /// The value for that key.
    pub value: Aggregate,
}

/// An aggregated value.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate {
    /// count(), sum(), min() and max().
    Number(i128),
    /// avg() and stddev().
    Moment {
        /// The average or deviation, divided by normalize().
        shown: i128,
        /// The number of values, not divided.
        count: u64,
        /// Their sum, not divided.
        sum: i128,
        /// The sum of their squares, not divided; 0 for avg().
        squares: u128,
    },
    /// The buckets from the first non-empty one to the last.
    Distribution(Vec<Bucket>),
}

/// A bucket for values from `min` to `max`, both inclusive; `None` means unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value in the bucket.
    pub min: Option<i64>,
    /// The largest value in the bucket.
    pub max: Option<i64>,
    /// The number of values, or the sum of their weights, divided by normalize().
    pub count: i64,
}

/// Converts the value of one row.
pub fn aggregate(shown: &Shown<'_>) -> Aggregate {
    let function = shown.aggregation.function;
    let word = |index: usize| shown.value.get(index).copied().unwrap_or(0);
    match (shown.number(), function) {
        (Some(number), ActionKind::Avg | ActionKind::Stddev) => {
            let squares = u128::from(word(2)) | u128::from(word(3)) << 64;
            Aggregate::Moment { shown: number, count: word(0), sum: (word(1) as i64).into(), squares }
        }
        (Some(number), _) => Aggregate::Number(number),
        (None, _) => Aggregate::Distribution(buckets(shown)),
    }
}

/// Returns the smallest values of a distribution's buckets, without the first bucket, which is unbounded below.
/// `arg`: the packed parameters of lquantize and llquantize.
pub fn starts(function: ActionKind, arg: u64) -> Vec<i64> {
    match function {
        ActionKind::Lquantize => {
            let parameters = Lquantize::unpack(arg);
            (1..=usize::from(parameters.levels) + 1).map(|i| quantize::lower(parameters, i)).collect()
        }
        ActionKind::Llquantize => {
            let (mut starts, end) = quantize::bounds(Llquantize::unpack(arg));
            starts.push(end);
            starts
        }
        _ => (1..quantize::BUCKETS).map(quantize::least).collect(),
    }
}

fn buckets(shown: &Shown<'_>) -> Vec<Bucket> {
    let normal = divisor(shown.normal);
    let counts =
        |skip: usize| shown.value.iter().skip(skip).map(move |word| (*word as i64).wrapping_div(normal));
    let function = shown.aggregation.function;
    let starts = starts(function, shown.value.first().copied().unwrap_or(0));
    // The parameters come before the counts.
    let counts: Vec<i64> = counts(usize::from(function != ActionKind::Quantize)).collect();
    // Bucket 0 has all values below the first start.
    let bucket = |(index, count)| Bucket {
        min: usize::checked_sub(index, 1).and_then(|before| starts.get(before).copied()),
        max: starts.get(index).map(|next| next.saturating_sub(1)),
        count,
    };
    let all: Vec<Bucket> = counts.into_iter().enumerate().map(bucket).collect();
    let first = all.iter().position(|bucket| bucket.count != 0);
    let last = all.iter().rposition(|bucket| bucket.count != 0);
    first.zip(last).map(|(first, last)| all[first..=last].to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_dif::Aggregation;

    fn distribution(function: ActionKind, arg: u64, words: Vec<u64>) -> Vec<(Option<i64>, Option<i64>, i64)> {
        let aggregation = Aggregation {
            name: String::new(),
            function,
            arg,
            keys: Vec::new(),
            key_names: Vec::new(),
            key_texts: Vec::new(),
            signed: true,
            grows: false,
        };
        let shown = Shown { aggregation: &aggregation, value: words.into(), normal: 1 };
        let Aggregate::Distribution(buckets) = aggregate(&shown) else { panic!("not a distribution") };
        buckets.iter().map(|bucket| (bucket.min, bucket.max, bucket.count)).collect()
    }

    #[test]
    fn bounds_of_buckets() {
        let mut words = vec![0; quantize::BUCKETS];
        (words[61], words[63], words[66]) = (1, 2, 3);
        let expected = [
            (Some(-3), Some(-2), 1),
            (Some(-1), Some(-1), 0),
            (Some(0), Some(0), 2),
            (Some(1), Some(1), 0),
            (Some(2), Some(3), 0),
            (Some(4), Some(7), 3),
        ];
        assert_eq!(distribution(ActionKind::Quantize, 0, words), expected);
        let mut words = vec![0; quantize::BUCKETS];
        (words[0], words[1]) = (1, 2);
        let expected = [(None, Some(-(1 << 62)), 1), (Some(1 - (1 << 62)), Some(-(1 << 61)), 2)];
        assert_eq!(distribution(ActionKind::Quantize, 0, words), expected);
        // lquantize(x, 0, 10, 5)
        let arg = 5 << 48 | 2 << 32;
        let expected =
            [(None, Some(-1), 7), (Some(0), Some(4), 0), (Some(5), Some(9), 0), (Some(10), None, 1)];
        assert_eq!(distribution(ActionKind::Lquantize, arg, vec![arg, 7, 0, 0, 1]), expected);
    }

    proptest::proptest! {
        #[test]
        fn any_words_are_a_distribution(words: Vec<u64>) {
            for function in [ActionKind::Quantize, ActionKind::Lquantize] {
                distribution(function, 0, words.clone());
            }
        }
    }
}
