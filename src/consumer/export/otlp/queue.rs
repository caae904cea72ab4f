//! consumer/export/otlp/queue.rs: what waits to be sent, and how much of it is one request.

/// A log record, or a metric with its points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub signal: Signal,
    pub json: Vec<u8>,
    /// How many records or points it is.
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Logs,
    /// A request has the metrics of one reading, as a metric is there once.
    Metrics {
        reading: u64,
    },
}

/// The items of one request: as many as OpenTelemetry's own batches have.
pub(super) const MOST_ITEMS: usize = 512;
/// The bytes of one request; a collector takes twenty times as many.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// The signal of the first request, and how many items it has. `None` if there is none.
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
