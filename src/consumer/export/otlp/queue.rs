//! consumer/export/otlp/queue.rs: items that wait to be sent, and their division into requests.

/// A log record, or a metric with its points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub signal: Signal,
    pub json: Vec<u8>,
    /// The number of records or points in it.
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Logs,
    /// A request has the metrics of only one reading, as it may contain each metric once.
    Metrics {
        reading: u64,
    },
}

/// The limit on items in a request, as in OpenTelemetry's SDKs.
pub(super) const MOST_ITEMS: usize = 512;
/// The limit on bytes in a request; a collector accepts twenty times as many.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Returns the signal and the number of items of the first request; `None` if nothing waits.
pub(super) fn batch<'a>(items: impl IntoIterator<Item = &'a Item>) -> Option<(Signal, usize)> {
    let mut items = items.into_iter().peekable();
    let signal = items.peek()?.signal;
    let (mut length, mut bytes) = (0, 0);
    for item in items.take(MOST_ITEMS).take_while(|item| item.signal == signal) {
        bytes += item.json.len();
        if length > 0 && bytes > MOST_BYTES {
            break;
        }
        length += 1;
    }
    Some((signal, length))
}
