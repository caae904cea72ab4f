//! consumer/export/folded.rs: -O folded: one stack a line, for programs that draw flame graphs.
//!
//! `outermost;…;innermost N`. Other key components come first; kernel frames end in `_[k]`, inlined ones in `_[i]`. In
//! names, `;` becomes `:`, and a control character becomes a space.

use super::exporter::Export;
use super::profile::{self, Kind, NO_FRAMES, Sample, Series};
use super::tables::Tables;
use crate::consumer::frame::Frame;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Folded;

impl Export for Folded {
    fn finish(&mut self, tables: &dyn Tables, _status: u8, out: &mut Vec<u8>) -> Option<String> {
        let series = profile::series(&tables.profiles());
        out.extend(folded(&series).bytes());
        profile::remark("folded", &series, false)
    }
}

/// Returns the sorted lines. With several aggregations, each line begins with the aggregation's name.
fn folded(series: &[Series]) -> String {
    let mut lines: BTreeMap<String, i64> = BTreeMap::new();
    for one in series {
        let first = (series.len() > 1).then(|| plain(&format!("@{}", one.aggregation)));
        for sample in one.samples.iter().filter(|sample| sample.value > 0) {
            let total = lines.entry(line(first.as_deref(), sample)).or_default();
            *total = total.saturating_add(sample.value);
        }
    }
    lines.into_iter().map(|(line, value)| format!("{line} {value}\n")).collect()
}

fn line(first: Option<&str>, sample: &Sample) -> String {
    let mut names: Vec<String> = first.into_iter().map(str::to_owned).collect();
    names.extend(sample.labels.iter().map(|label| plain(&label.title())));
    match sample.frames.is_empty() {
        true => names.push(NO_FRAMES.to_owned()),
        false => names.extend(sample.frames.iter().rev().map(marked)),
    }
    names.join(";")
}

fn marked(frame: &Frame) -> String {
    let mark = match Kind::of(frame) {
        Kind::Kernel | Kind::Module => "_[k]",
        Kind::Inlined => "_[i]",
        Kind::User | Kind::Key => "",
    };
    plain(&profile::title(frame)) + mark
}

fn plain(name: &str) -> String {
    let plain = |c: char| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::export::profile::sample::{self, Fixed};
    use crate::consumer::export::profile::{Label, Unit};
    use crate::consumer::value::Value;
    use crate::snapshot;

    fn text(tables: Fixed) -> String {
        let mut out = Vec::new();
        Folded.finish(&tables, 0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines() {
        let one = text(Fixed(vec![sample::counted()]));
        let several = text(Fixed(vec![sample::counted(), sample::summed(), sample::distributed()]));
        snapshot::settings("consumer")
            .bind(|| insta::assert_snapshot!("folded", format!("{one}--- several\n{several}")));
        assert_eq!(text(Fixed(Vec::new())), "");
    }

    proptest::proptest! {
        /// A reader gets the same number of frames and the value back from a line.
        #[test]
        fn any_names_are_read_back(names in proptest::collection::vec(".*", 1..6), key in ".*", value in 1i64..) {
            let frame = |name: &String| Frame { function: Some(name.clone()), ..Frame::default() };
            let label = Label { name: "key".into(), value: Value::Text(key.into()) };
            let sample = Sample { labels: vec![label], frames: names.iter().map(frame).collect(), value };
            let series =
                Series { aggregation: String::new(), name: String::new(), unit: Unit::Count, samples: vec![sample] };
            let text = folded(&[series]);
            assert_eq!(text.matches('\n').count(), 1);
            let (stack, number) = text.trim_end().rsplit_once(' ').unwrap();
            assert_eq!(number.parse(), Ok(value));
            let frames: Vec<&str> = stack.split(';').collect();
            assert_eq!(frames.len(), names.len() + 1);
            assert!(frames[1..].iter().all(|frame| frame.ends_with("_[k]")));
        }
    }
}
