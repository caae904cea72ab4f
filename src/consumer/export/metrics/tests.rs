//! consumer/export/metrics/tests.rs: tests of the conversion of aggregations to metrics.

use super::*;
use crate::tables::{Rows, number, program};

fn metrics(text: &str, settings: &[(&str, &str)]) -> (kinst_dif::Program, Metrics) {
    let (program, mut options) = program(text);
    for (name, value) in settings {
        options.set(name, Some(value), crate::options::From::CommandLine).unwrap();
    }
    let metrics = Metrics::new("prom", &program, &options, 100).unwrap();
    (program, metrics)
}

fn find<'a>(families: &'a [Family], name: &str) -> &'a Family {
    families.iter().find(|family| family.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn kinds_and_names() {
    let text = "BEGIN { @ = count(); @a_total = count(); @b = sum(pid); @c = sum(-1); @d = sum(arg0); @e = sum(arg0);
        @e = sum(1); @f = min(1); @g = avg(1); @h = stddev(1); @i = quantize(1); @j = lquantize(1, 0, 9); @a = count();
        @i_count = max(1); @drops = count(); @x = sum((uint64_t)arg0); self->ts = timestamp; @y = sum(timestamp - self->ts); @z = sum(3); }";
    let (_, metrics) = metrics(text, &[]);
    let found: Vec<String> =
        metrics.sources.iter().map(|source| format!("{} {:?}", source.name, source.kind)).collect();
    assert_eq!(
        found,
        [
            "aggregation Counter",
            "a Counter",
            "b Sum",
            "c Sum",
            "d Sum",
            "e Sum",
            "f Gauge",
            "g Gauge",
            "h Gauge",
            "i Histogram",
            "j Histogram",
            "a_2 Counter",
            "i_count_2 Gauge",
            "drops_2 Counter",
            "x Counter",
            "y Counter",
            "z Counter",
        ]
    );
    assert_eq!(metrics.sources[1].help, "The D aggregation @a_total: count().");
}

#[test]
fn stacks_are_refused() {
    let (_, mut metrics) =
        metrics("BEGIN { @s[stack()] = count(); @u[ustack(), pid] = count(); @ = count(); }", &[]);
    assert_eq!(metrics.sources.len(), 1);
    let said: Vec<String> = metrics.messages().into_iter().map(|message| message.text).collect();
    assert_eq!(said.len(), 2);
    assert!(said[0].starts_with("@s is left out of -O prom: a stack cannot be a label"), "{}", said[0]);
    assert!(metrics.messages().is_empty());
}

/// Returns the bounds and counts of the only point.
fn histogram(families: &[Family], name: &str) -> (Vec<i64>, Vec<u64>) {
    match &find(families, name).points[0].value {
        Value::Histogram { bounds, counts } => (bounds.clone(), counts.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bounds_of_histograms_only_come_to_be_more() {
    let (program, mut metrics) = metrics("BEGIN { @[pid] = quantize(1); }", &[]);
    let one = [crate::consumer::value::Value::Int(1)];
    let two = [crate::consumer::value::Value::Int(2)];
    let families = metrics.read(&Rows::new(&program).add_values("_", &one, &[5, 9, 9]), 200);
    assert_eq!(histogram(&families, "aggregation"), (vec![3, 7, 15, 31], vec![0, 1, 2, 0, 0]));
    // The values of another key widen the bounds of all series.
    let rows = Rows::new(&program).add_values("_", &one, &[5, 9, 9]).add_values("_", &two, &[0, 100]);
    let families = metrics.read(&rows, 300);
    let wide = vec![-1, 0, 1, 3, 7, 15, 31, 63, 127, 255];
    assert_eq!(histogram(&families, "aggregation"), (wide.clone(), vec![0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0]));
    // The bounds stay after the values are cleared.
    let families = metrics.read(&Rows::new(&program).add_values("_", &one, &[]), 400);
    assert_eq!(histogram(&families, "aggregation"), (wide, vec![0; 11]));
}

#[test]
fn ends_of_distributions() {
    let (program, mut metrics) = metrics(
        "BEGIN { @l = lquantize(1, 0, 10, 5); @q = quantize(1); @m = llquantize(1, 10, 0, 1, 10); }",
        &[],
    );
    let all = [i64::MIN, -1, 0, 4, 5, 9, 10, i64::MAX];
    let rows = Rows::new(&program).add_values("l", &[], &all).add_values("q", &[], &[i64::MIN, i64::MAX]);
    let families = metrics.read(&rows.add_values("m", &[], &all), 200);
    assert_eq!(histogram(&families, "l"), (vec![-1, 4, 9], vec![2, 2, 2, 2]));
    let (bounds, counts) = histogram(&families, "q");
    assert_eq!((bounds.len(), bounds[0], bounds[125]), (126, -(1 << 62), (1 << 62) - 1));
    assert_eq!((counts[0], counts[126], counts.iter().sum()), (1, 1, 2u64));
    let (bounds, counts) = histogram(&families, "m");
    assert_eq!((bounds[0], bounds[1], counts[0]), (0, 1, 3));
    assert_eq!(counts.iter().sum::<u64>(), 8);
}

#[test]
fn negative_counts_are_no_histogram() {
    let (program, mut metrics) = metrics("BEGIN { @ = quantize(1, -1); }", &[]);
    let Aggregate::Distribution(mut buckets) = crate::tables::distribution(&program.aggregations[0], &[1])
    else {
        panic!()
    };
    buckets[0].count = -1;
    let rows = Rows::new(&program).add("_", &[], Aggregate::Distribution(buckets));
    for _ in 0..2 {
        let families = metrics.read(&rows, 200);
        assert!(families.iter().all(|family| family.name != "aggregation"));
    }
    assert_eq!(metrics.messages().len(), 1);
}

#[test]
fn values_that_are_none_are_left_out_and_equal_labels_are_one_series() {
    let text = "BEGIN { @low[sym(1)] = min(1); @high[sym(1)] = max(1); @avg[sym(1)] = avg(1);
        @dev[sym(1)] = stddev(1); @n[sym(1)] = count(); @q[sym(1)] = quantize(1); }";
    let (program, mut metrics) = metrics(text, &[]);
    let key = [crate::tables::text("f")];
    let moment = |count, sum, squares| Aggregate::Moment { shown: 0, count, sum, squares };
    let rows = Rows::new(&program)
        .add("low", &key, number(i64::MAX.into()))
        .add("high", &key, number(i64::MIN.into()))
        .add("avg", &key, moment(0, 0, 0));
    let families = metrics.read(&rows, 200);
    assert_eq!(families.len(), 3, "only its own");
    let rows = Rows::new(&program)
        .add("low", &key, number(3))
        .add("low", &key, number(2))
        .add("high", &key, number(3))
        .add("high", &key, number(-2))
        .add("avg", &key, moment(1, 1, 0))
        .add("avg", &key, moment(3, 4, 0))
        .add("dev", &key, moment(2, 2, 2))
        .add("dev", &key, moment(2, 10, 50))
        .add("n", &key, number(2))
        .add("n", &key, number(5))
        .add_values("q", &key, &[1])
        .add_values("q", &key, &[1, 2]);
    let families = metrics.read(&rows, 300);
    let value = |name: &str| {
        let [point] = &find(&families, name).points[..] else { panic!("{name}") };
        point.value.clone()
    };
    assert_eq!(value("low"), Value::Whole(2));
    assert_eq!(value("high"), Value::Whole(3));
    assert_eq!(value("avg"), Value::Real(1.25));
    // 1, 1, 5, 5
    assert_eq!(value("dev"), Value::Real(2.0));
    assert_eq!(value("n"), Value::Whole(7));
    assert_eq!(histogram(&families, "q"), (vec![0, 1, 3, 7], vec![0, 2, 1, 0, 0]));
}

#[test]
fn the_number_of_series_is_bounded() {
    let settings = [("promseries", "10")];
    let (program, mut metrics) = metrics("BEGIN { @n[pid] = count(); @q[pid] = quantize(1); }", &settings);
    let key = |pid: i128| [crate::consumer::value::Value::Int(pid)];
    let pids = |families: &[Family], name: &str| -> Vec<String> {
        let family = families.iter().find(|family| family.name == name);
        family.into_iter().flat_map(|family| &family.points).map(|point| point.labels[0].1.clone()).collect()
    };
    let mut rows = Rows::new(&program);
    for pid in 0..8 {
        rows = rows.add("n", &key(pid), number(pid));
    }
    let families = metrics.read(&rows, 200);
    assert_eq!(pids(&families, "n").len(), 8);
    assert_eq!(find(&families, "dropped_series").points[0].value, Value::Whole(0));
    assert!(metrics.messages().is_empty());
    // A histogram counts as many series as it has lines: 3 bounds, +Inf, and the count.
    let rows =
        rows.add_values("q", &key(1), &[7]).add("n", &key(8), number(1)).add("n", &key(9), number(100));
    let families = metrics.read(&rows, 300);
    assert_eq!(pids(&families, "n"), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(pids(&families, "q").len(), 0);
    assert_eq!(find(&families, "dropped_series").points[0].value, Value::Whole(5));
    let said = metrics.messages();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].text.contains("more than 10 series"), "{}", said[0].text);
    // Existing series stay, however large a new one is; the loss is reported once.
    let rows = rows.add("n", &key(10), number(1_000_000));
    let families = metrics.read(&rows, 400);
    assert!(!pids(&families, "n").contains(&"10".to_owned()));
    assert_eq!(find(&families, "dropped_series").points[0].value, Value::Whole(6));
    assert!(metrics.messages().is_empty());
    // Removed rows free capacity for others.
    let families = metrics.read(&Rows::new(&program).add("n", &key(10), number(1)), 500);
    assert_eq!(pids(&families, "n"), ["10"]);
    assert_eq!(find(&families, "dropped_series").points[0].value, Value::Whole(0));
}

#[test]
fn a_counter_that_falls_begins_again() {
    let (program, mut metrics) = metrics("BEGIN { @ = count(); }", &[]);
    let since = |metrics: &mut Metrics, count, now| {
        let families = metrics.read(&Rows::new(&program).add("_", &[], number(count)), now);
        find(&families, "aggregation").points[0].since
    };
    assert_eq!(since(&mut metrics, 5, 200), 100);
    assert_eq!(since(&mut metrics, 9, 300), 100);
    assert_eq!(since(&mut metrics, 2, 400), 300, "between the two readings");
    assert_eq!(since(&mut metrics, 3, 500), 300);
}

#[test]
fn losses_are_counted() {
    let (program, mut metrics) = metrics("BEGIN { @ = count(); }", &[]);
    let lost = |tag, count| Message { what: What::Drop { tag, cpu: Some(1), count }, text: String::new() };
    metrics.message(&lost("PRINCIPAL", 3));
    metrics.message(&lost("PRINCIPAL", 4));
    metrics.message(&lost("SPECBUSY", 1));
    metrics.message(&Message::problem("no loss"));
    let rows = Rows { faults: 7, ..Rows::new(&program) };
    let families = metrics.read(&rows, 200);
    let values = |name: &str| -> Vec<(String, Value)> {
        let points = find(&families, name).points.iter();
        points.map(|point| (point.labels[0].1.clone(), point.value.clone())).collect()
    };
    let whole = |name: &str, count| (name.to_owned(), Value::Whole(count));
    let expected = [
        whole("aggregation", 0),
        whole("dynamic", 0),
        whole("principal", 7),
        whole("spec", 0),
        whole("specbusy", 1),
    ];
    assert_eq!(values("drops"), expected);
    assert_eq!(values("faults"), [whole("invalid address", 7), whole("divide-by-zero", 0)]);
}
