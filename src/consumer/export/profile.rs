//! consumer/export/profile.rs: converts aggregations with stacks as keys to weighted stacks, for profiles.

use super::labels;
use crate::consumer::clock::rfc3339;
use crate::consumer::frame::Frame;
use crate::consumer::output::quantize::divisor;
use crate::consumer::table::{Aggregate, Entry, Table};
use crate::consumer::value::Value;
use kinst_base::image::KERNEL_PROPER;
use kinst_dif::{ActionKind, Aggregation, Program};

/// An aggregation with a stack in its key, whose values add up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// The aggregation's name, without the `@`.
    pub aggregation: String,
    /// The quantity: the aggregation's name without the unit at its end.
    pub name: String,
    pub unit: Unit,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// The key components that are not stacks, in order.
    pub labels: Vec<Label>,
    /// The innermost frame first: the kernel's frames, then the process's. Empty if the stack is not known.
    pub frames: Vec<Frame>,
    pub value: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    /// The D text of the key.
    pub name: String,
    pub value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Bytes,
}

/// The suffixes of an aggregation's name that give its unit. Nothing else gives it: a sum may be of any quantity.
const UNITS: &[(&str, Unit)] = &[
    ("_ns", Unit::Nanoseconds),
    ("_us", Unit::Microseconds),
    ("_ms", Unit::Milliseconds),
    ("_bytes", Unit::Bytes),
];

impl Unit {
    /// Returns the name that pprof uses.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Microseconds => "microseconds",
            Unit::Milliseconds => "milliseconds",
            Unit::Bytes => "bytes",
        }
    }
}

/// The origin of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Kernel,
    Module,
    User,
    /// A function inlined into that of the enclosing frame.
    Inlined,
    /// Not a frame, but a key component or the placeholder for a stack without frames.
    Key,
}

/// The placeholder for a stack without frames, such as the kernel stack when user code was interrupted.
pub(crate) const NO_FRAMES: &str = "(no frames)";

impl Kind {
    pub(crate) fn of(frame: &Frame) -> Kind {
        match &frame.module {
            _ if frame.inlined => Kind::Inlined,
            _ if frame.pid.is_some() => Kind::User,
            Some(module) if module != KERNEL_PROPER => Kind::Module,
            _ => Kind::Kernel,
        }
    }
}

/// Whether the aggregation is a profile.
pub(crate) fn is_profile(aggregation: &Aggregation) -> bool {
    labels::has_stack(aggregation) && !matches!(aggregation.function, ActionKind::Min | ActionKind::Max)
}

/// Returns a warning, before the trace, about the aggregations that these formats leave out.
pub(crate) fn left_out(formats: &str, program: &Program) -> Option<String> {
    let (kept, others): (Vec<_>, Vec<_>) = program.aggregations.iter().partition(|a| is_profile(a));
    let name = |aggregation: &&Aggregation| format!("@{}", aggregation.written());
    let all =
        |named: Vec<String>, why: &str| (!named.is_empty()).then(|| format!("{} ({why})", named.join(", ")));
    let (adds_up, stackless): (Vec<_>, Vec<_>) = others.into_iter().partition(|one| labels::has_stack(one));
    let parts = [
        all(stackless.iter().map(name).collect(), "no stack as a key"),
        all(adds_up.iter().map(name).collect(), "min() and max() do not add up"),
    ];
    let names: Vec<String> = parts.into_iter().flatten().collect();
    match (kept.is_empty(), names.is_empty()) {
        (true, _) => Some(format!(
            "{formats} will be empty: no aggregation has a stack as a key and values that add up, \
             such as @[stack()] = count()"
        )),
        (false, true) => None,
        (false, false) => Some(format!("left out of {formats}: {}", names.join(" and "))),
    }
}

/// Makes the profile of each table. A stack with the value 0 is left out.
pub(crate) fn series(tables: &[Table<'_>]) -> Vec<Series> {
    let all = tables.iter().map(|table| {
        let samples = table.rows.iter().filter_map(|row| sample(table, row)).collect();
        let (name, unit) = quantity(table);
        Series { aggregation: table.name.to_owned(), name, unit, samples }
    });
    all.collect()
}

/// Returns the name and unit of the values. count() and the distributions count; other functions use the unit in the
/// name.
fn quantity(table: &Table<'_>) -> (String, Unit) {
    let counts = !matches!(table.function, ActionKind::Sum | ActionKind::Avg | ActionKind::Stddev);
    let known = UNITS.iter().filter(|_| !counts).find_map(|(end, unit)| {
        let name = table.name.strip_suffix(end).filter(|name| !name.is_empty())?;
        Some((name.to_owned(), *unit))
    });
    known.unwrap_or_else(|| {
        let name = match table.name {
            "" if counts => "samples",
            "" => "sum",
            name => name,
        };
        (name.to_owned(), Unit::Count)
    })
}

fn sample(table: &Table<'_>, row: &Entry) -> Option<Sample> {
    let value: i128 = match &row.value {
        Aggregate::Number(number) => *number,
        // An average does not add up; the sum does.
        Aggregate::Moment { sum, .. } => sum / i128::from(divisor(table.normal)),
        Aggregate::Distribution(buckets) => buckets.iter().map(|bucket| i128::from(bucket.count)).sum(),
    };
    let (mut kernel, mut user, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for (index, value) in row.key.iter().enumerate() {
        match value {
            Value::Stack(frames) => {
                let part =
                    if frames.iter().any(|frame| frame.pid.is_some()) { &mut user } else { &mut kernel };
                part.extend(frames.iter().cloned());
            }
            other => {
                let name = table.keys.get(index).cloned().unwrap_or_else(|| format!("key {}", index + 1));
                labels.push(Label { name, value: other.clone() });
            }
        }
    }
    kernel.append(&mut user);
    let value = i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
    (value != 0).then_some(Sample { labels, frames: kernel, value })
}

/// Returns the name of a frame: the function, after the module unless that is the kernel proper. All addresses of a
/// module without a function share one name.
pub(crate) fn title(frame: &Frame) -> String {
    match (&frame.module, &frame.function) {
        (Some(module), Some(function)) if module != KERNEL_PROPER => format!("{module}`{function}"),
        (_, Some(function)) => function.clone(),
        (Some(module), None) => format!("[{module}]"),
        (None, None) => "[unknown]".to_owned(),
    }
}

impl Label {
    /// Returns the label as the name of a frame. A number follows the key's D text.
    pub(crate) fn title(&self) -> String {
        match &self.value {
            Value::Int(_) | Value::Pointer(_) => format!("{} {}", self.name, text(&self.value)),
            other => text(other),
        }
    }
}

/// Returns a value as text.
pub(crate) fn text(value: &Value) -> String {
    let all = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(", ");
    match value {
        Value::Int(number) => number.to_string(),
        Value::Pointer(address) => format!("{address:#x}"),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::Time(nanoseconds) => rfc3339(*nanoseconds),
        Value::Address(frame) => frame.to_string(),
        Value::Module(name) => name.clone(),
        Value::Stack(frames) => all(&mut frames.iter().map(Frame::to_string)),
        Value::Enum { name: Some(name), .. } => name.clone(),
        Value::Enum { name: None, value } => value.to_string(),
        Value::Array(elements) => all(&mut elements.iter().map(text)),
        Value::Record(members) => {
            all(&mut members.iter().map(|member| format!("{} = {}", member.name, text(&member.value))))
        }
    }
}

/// Returns a notice for the end: that no stack was counted, or that some have negative sums.
pub(crate) fn remark(format: &str, series: &[Series], negative: bool) -> Option<String> {
    let count = |keep: fn(i64) -> bool| {
        series.iter().flat_map(|series| &series.samples).filter(|sample| keep(sample.value)).count()
    };
    let (all, below) = (count(|_| true), count(|value| value < 0));
    match (all, below) {
        // The lack of a profile was reported before tracing.
        (0, _) if series.is_empty() => None,
        (0, _) => Some(format!("-O {format}: no stack was counted")),
        (_, 1..) if !negative => {
            let s = if below == 1 { "" } else { "s" };
            Some(format!("-O {format} leaves out {below} stack{s} whose sum is negative"))
        }
        _ => None,
    }
}

/// Sample aggregations, as a trace produces them.
#[cfg(test)]
pub(crate) mod sample {
    use super::*;
    use crate::consumer::export::tables::Tables;
    use crate::consumer::table::Bucket;
    use kinst_sites::listing::Place;

    pub(crate) struct Fixed(pub Vec<Table<'static>>);

    impl Tables for Fixed {
        fn all(&self) -> Vec<Table<'_>> {
            self.0.clone()
        }
        fn unprinted(&self) -> Vec<Table<'_>> {
            self.0.clone()
        }
        fn profiles(&self) -> Vec<Table<'_>> {
            self.0.clone()
        }
        fn undivided(&self, _: &[u32]) -> Vec<Table<'_>> {
            self.0.clone()
        }
        fn faults(&self) -> Vec<(&'static str, u64)> {
            Vec::new()
        }
    }

    fn kernel(module: &str, function: &str, address: u64, place: Option<(&str, u64)>) -> Frame {
        Frame {
            address,
            module: Some(module.into()),
            function: Some(function.into()),
            offset: 4,
            place: place.map(|(file, line)| Place { file: file.into(), line }),
            ..Frame::default()
        }
    }

    fn inlined(function: &str, address: u64, place: (&str, u64)) -> Frame {
        Frame { inlined: true, offset: 0, ..kernel("vmlinux", function, address, Some(place)) }
    }

    fn user(object: &str, function: Option<&str>, address: u64) -> Frame {
        let (module, function) = (Some(object.into()), function.map(Into::into));
        Frame { address, pid: Some(7), module, function, ..Frame::default() }
    }

    /// A read: `fsnotify_parent` and `fsnotify_access` are inlined into vfs_read.
    fn read(line: u64) -> Value {
        Value::Stack(vec![
            inlined("fsnotify_parent", 0xffff_ffff_8100_1010, ("include/linux/fsnotify.h", 70)),
            inlined("fsnotify_access", 0xffff_ffff_8100_1010, ("include/linux/fsnotify.h", 232)),
            kernel("vmlinux", "vfs_read", 0xffff_ffff_8100_1010, Some(("fs/read_write.c", line))),
            kernel("vmlinux", "ksys_read", 0xffff_ffff_8100_2020, Some(("fs/read_write.c", 613))),
        ])
    }

    fn program() -> Value {
        Value::Stack(vec![
            user("libc.so.6", Some("read"), 0x7f00_0000_1000),
            user("cat", None, 0x5500_0000_1234),
        ])
    }

    fn text(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }

    pub(crate) fn table(
        name: &'static str,
        function: ActionKind,
        keys: &[&str],
        rows: Vec<(Vec<Value>, i128)>,
    ) -> Table<'static> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let row = |(key, number)| Entry { key, value: Aggregate::Number(number) };
        Table { name, function, keys: keys.leak(), normal: 1, rows: rows.into_iter().map(row).collect() }
    }

    /// `@[execname, pid, stack(), ustack()] = count()`
    pub(crate) fn counted() -> Table<'static> {
        let module = Value::Stack(vec![
            kernel("ext4", "ext4_file_read_iter", 0xffff_ffff_c000_1000, None),
            Frame { address: 0xffff_ffff_c100_0000, ..Frame::default() },
        ]);
        let none = || Value::Stack(Vec::new());
        let rows = vec![
            (vec![text("cat"), Value::Int(7), read(468), program()], 5),
            (vec![text("cat"), Value::Int(7), read(470), program()], 2),
            (vec![text("a;b\nc </script>"), Value::Int(0), module, none()], 3),
            (vec![text("swapper"), Value::Int(0), none(), none()], 1),
            (vec![text("cleared"), Value::Int(0), none(), program()], 0),
        ];
        table("", ActionKind::Count, &["execname", "pid", "stack()", "ustack()"], rows)
    }

    /// `@wait_ns[stack()] = sum(…)`, with a negative sum.
    pub(crate) fn summed() -> Table<'static> {
        let rows = vec![
            (vec![read(468)], 1_500_000_000),
            (vec![Value::Stack(vec![kernel("vmlinux", "schedule", 0xffff_ffff_8100_3000, None)])], -4),
        ];
        table("wait_ns", ActionKind::Sum, &["stack()"], rows)
    }

    /// `@sizes[stack()] = quantize(…)`
    pub(crate) fn distributed() -> Table<'static> {
        let bucket = |count| Bucket { min: Some(1), max: Some(1), count };
        let value = Aggregate::Distribution(vec![bucket(3), bucket(0), bucket(4)]);
        let rows = vec![Entry { key: vec![read(468)], value }];
        Table { rows, ..table("sizes", ActionKind::Quantize, &["stack()"], Vec::new()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_dif::Display;

    fn aggregation(name: &str, function: ActionKind, keys: &[Display]) -> Aggregation {
        let (name, keys) = (name.to_owned(), keys.to_vec());
        Aggregation {
            name,
            function,
            arg: 0,
            keys,
            key_names: Vec::new(),
            key_texts: Vec::new(),
            signed: false,
            grows: true,
        }
    }

    #[test]
    fn what_does_not_get_in_is_said() {
        let said = |aggregations: Vec<Aggregation>| {
            left_out("-O flame", &Program { aggregations, ..Program::default() })
        };
        let stacks = || aggregation("", ActionKind::Count, &[Display::String, Display::Stack]);
        let total = || aggregation("total", ActionKind::Sum, &[Display::String]);
        let most = || aggregation("most", ActionKind::Max, &[Display::Ustack]);
        assert_eq!(said(vec![stacks()]), None);
        assert!(said(Vec::new()).is_some_and(|text| text.contains("empty")));
        assert!(said(vec![total(), most()]).is_some_and(|text| text.contains("empty")));
        let some = said(vec![stacks(), total(), most()]).unwrap();
        assert_eq!(
            some,
            "left out of -O flame: @total (no stack as a key) and @most (min() and max() do not add up)"
        );
    }

    #[test]
    fn a_name_gives_the_unit_of_a_sum() {
        let quantity = |name, function| {
            let (name, unit) = quantity(&sample::table(name, function, &[], Vec::new()));
            format!("{name} {}", unit.text())
        };
        assert_eq!(quantity("", ActionKind::Count), "samples count");
        assert_eq!(quantity("reads", ActionKind::Count), "reads count");
        assert_eq!(quantity("reads_ns", ActionKind::Count), "reads_ns count");
        assert_eq!(quantity("", ActionKind::Sum), "sum count");
        assert_eq!(quantity("wait_ns", ActionKind::Sum), "wait nanoseconds");
        assert_eq!(quantity("wait_us", ActionKind::Avg), "wait microseconds");
        assert_eq!(quantity("wait_ms", ActionKind::Stddev), "wait milliseconds");
        assert_eq!(quantity("read_bytes", ActionKind::Sum), "read bytes");
        assert_eq!(quantity("_ns", ActionKind::Sum), "_ns count");
        assert_eq!(quantity("wait_bytes", ActionKind::Quantize), "wait_bytes count");
    }

    #[test]
    fn values_that_add_up() {
        let value = |value: Aggregate, normal| {
            let mut table = Table { normal, ..sample::summed() };
            table.rows.truncate(1);
            table.rows[0].value = value;
            let samples = series(&[table]).remove(0).samples;
            samples.first().map(|sample| sample.value)
        };
        assert_eq!(value(Aggregate::Moment { shown: 3, count: 4, sum: 13, squares: 0 }, 1), Some(13));
        assert_eq!(value(Aggregate::Moment { shown: 1, count: 4, sum: 13, squares: 0 }, 5), Some(2));
        assert_eq!(value(Aggregate::Number(i128::from(u64::MAX)), 1), Some(i64::MAX));
        assert_eq!(value(Aggregate::Number(0), 1), None);
        let buckets = &series(&[sample::distributed()])[0];
        assert_eq!(buckets.samples[0].value, 7);
    }

    #[test]
    fn the_kernel_is_called_by_the_program() {
        let series = series(&[sample::counted()]);
        let names = |sample: &Sample| sample.frames.iter().map(title).collect::<Vec<_>>();
        let expected =
            ["fsnotify_parent", "fsnotify_access", "vfs_read", "ksys_read", "libc.so.6`read", "[cat]"];
        assert_eq!(names(&series[0].samples[0]), expected);
        let kinds: Vec<Kind> = series[0].samples[0].frames.iter().map(Kind::of).collect();
        use Kind::*;
        assert_eq!(kinds, [Inlined, Inlined, Kernel, Kernel, User, User]);
        assert_eq!(names(&series[0].samples[2]), ["ext4`ext4_file_read_iter", "[unknown]"]);
        assert_eq!(series[0].samples.len(), 4);
    }

    #[test]
    fn an_end_without_stacks_is_said() {
        assert_eq!(remark("flame", &[], false), None);
        let empty = series(&[sample::table("", ActionKind::Count, &[], Vec::new())]);
        assert_eq!(remark("flame", &empty, false).as_deref(), Some("-O flame: no stack was counted"));
        let negative = series(&[sample::summed()]);
        let said = remark("flame", &negative, false);
        assert_eq!(said.as_deref(), Some("-O flame leaves out 1 stack whose sum is negative"));
        assert_eq!(remark("pprof", &negative, true), None);
    }
}
