//! consumer/export/otlp/points.rs: converts families of series to OTLP metrics.

use super::envelope::text;
use super::schema::{CUMULATIVE, Data, HistogramPoint, Int, Metric, Number, NumberPoint};
use crate::consumer::export::metrics::{Family, Kind, Point, Value};

/// `now`: the time of the reading, in nanoseconds since 1970.
pub(super) fn metric(family: Family, now: i64) -> Metric {
    let Family { name, help, kind, points } = family;
    let numbers = |points: Vec<Point>, since: bool| {
        points.into_iter().filter_map(|point| number_point(point, now, since)).collect()
    };
    let data = match kind {
        Kind::Counter | Kind::Sum => Data::Sum {
            data_points: numbers(points, true),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: kind == Kind::Counter,
        },
        Kind::Gauge => Data::Gauge { data_points: numbers(points, false) },
        Kind::Histogram => Data::Histogram {
            data_points: points.into_iter().filter_map(|point| histogram_point(point, now)).collect(),
            aggregation_temporality: CUMULATIVE,
        },
    };
    Metric { name: format!("kinst.{name}"), description: help, data }
}

fn number_point(point: Point, now: i64, since: bool) -> Option<NumberPoint> {
    let value = match point.value {
        Value::Whole(number) => match i64::try_from(number) {
            Ok(number) => Number::Int(Int(number)),
            Err(_) => Number::Double(number as f64),
        },
        Value::Real(number) => Number::Double(number),
        Value::Histogram { .. } => return None,
    };
    Some(NumberPoint {
        attributes: point.labels.into_iter().map(|(name, value)| text(&name, value)).collect(),
        start_time_unix_nano: since.then_some(Int(point.since)),
        time_unix_nano: Int(now),
        value,
    })
}

/// The point has no sum, as a distribution does not record one.
fn histogram_point(point: Point, now: i64) -> Option<HistogramPoint> {
    let Value::Histogram { bounds, counts } = point.value else { return None };
    let int = |count: u64| Int(i64::try_from(count).unwrap_or(i64::MAX));
    Some(HistogramPoint {
        attributes: point.labels.into_iter().map(|(name, value)| text(&name, value)).collect(),
        start_time_unix_nano: Int(point.since),
        time_unix_nano: Int(now),
        count: int(counts.iter().fold(0, |sum, count| sum.saturating_add(*count))),
        bucket_counts: counts.iter().map(|count| int(*count)).collect(),
        explicit_bounds: bounds.iter().map(|bound| *bound as f64).collect(),
    })
}
