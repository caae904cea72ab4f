//! consumer/export/otlp/exporter.rs: the output format otlp: converts aggregations and events to requests.

use super::collector::Collector;
use super::envelope::{Envelope, json};
use super::queue::{Item, Signal};
use super::{logs, points, queue};
use crate::consumer::event::Event;
use crate::consumer::export::exporter::Export;
use crate::consumer::export::metrics::Metrics;
use crate::consumer::export::tables::Tables;
use crate::consumer::message::Message;

/// The destination of requests.
#[derive(Debug)]
pub(crate) enum Receiver {
    /// A file with one request a line, as the collector's otlpjsonfile receiver reads it.
    Lines,
    Collector(Collector),
}

#[derive(Debug)]
pub(crate) struct Otlp {
    metrics: Metrics,
    receiver: Receiver,
    pub(super) envelope: Envelope,
    /// The data for the next lines.
    waiting: Vec<Item>,
    /// The number of readings of the aggregations so far.
    readings: u64,
}

impl Otlp {
    pub(crate) fn new(metrics: Metrics, receiver: Receiver) -> Otlp {
        let envelope = Envelope::of_this_machine();
        Otlp { metrics, receiver, envelope, waiting: Vec::new(), readings: 0 }
    }

    fn push(&mut self, item: Item) {
        match &mut self.receiver {
            Receiver::Lines => self.waiting.push(item),
            Receiver::Collector(collector) => collector.push(item),
        }
    }

    fn read(&mut self, tables: &dyn Tables) {
        let now = kinst_os::time_of_day();
        self.readings += 1;
        let families = self.metrics.read(tables, now);
        let of_program = self.metrics.of_program;
        for (number, family) in families.into_iter().enumerate() {
            // Messages about losses do not count points about the tracer itself.
            let count = if number < of_program { family.points.len() as u64 } else { 0 };
            let json = json(&points::metric(family, now));
            self.push(Item { signal: Signal::Metrics { reading: self.readings }, json, count });
        }
    }

    fn write_lines(&mut self, out: &mut Vec<u8>) {
        let mut rest = &self.waiting[..];
        while let Some((signal, length)) = queue::batch(rest) {
            let (now, after) = rest.split_at(length);
            out.extend(self.envelope.request(signal, now));
            out.push(b'\n');
            rest = after;
        }
        self.waiting.clear();
    }
}

impl Export for Otlp {
    fn event(&mut self, event: &Event<'_>, _out: &mut Vec<u8>) {
        if let Some(record) = logs::of_event(event) {
            self.push(Item { signal: Signal::Logs, json: json(&record), count: 1 });
        }
    }

    fn message(&mut self, message: &Message, _out: &mut Vec<u8>) {
        self.metrics.message(message);
        let record = logs::of_message(message, kinst_os::time_of_day());
        self.push(Item { signal: Signal::Logs, json: json(&record), count: 1 });
    }

    fn switch(&mut self, tables: &dyn Tables, _out: &mut Vec<u8>) {
        self.read(tables);
    }

    fn cycle(&mut self, out: &mut Vec<u8>, messages: &mut Vec<Message>) {
        self.write_lines(out);
        messages.append(&mut self.metrics.messages());
        if let Receiver::Collector(collector) = &self.receiver {
            messages.extend(collector.messages().into_iter().map(Message::problem));
        }
    }

    fn finish(&mut self, tables: &dyn Tables, _status: u8, out: &mut Vec<u8>) -> Option<String> {
        self.read(tables);
        self.write_lines(out);
        if let Receiver::Collector(collector) = &mut self.receiver {
            collector.finish();
        }
        None
    }

    fn has_lost(&self) -> bool {
        matches!(&self.receiver, Receiver::Collector(collector) if collector.has_lost())
    }
}
