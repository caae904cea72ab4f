//! consumer/export/exports.rs: the output formats of a run, and where each goes.

use super::destination::Destination;
use super::exporter::Export;
use super::tables::Tables;
use crate::consumer::event::Event;
use crate::consumer::message::Message;
use crate::consumer::sink::Sink;
use crate::consumer::stream::{Flushed, Limits, Patience};

/// The output formats of one run, each with its destination.
#[derive(Default)]
pub struct Exports {
    /// Whether there is text too.
    pub text: bool,
    pub(super) all: Vec<(Box<dyn Export>, Destination)>,
    /// Failures to write, each destination's first one.
    pub messages: Vec<Message>,
    /// Whether something could not be written.
    pub failed: bool,
}

impl Exports {
    /// Only text.
    pub fn text() -> Exports {
        Exports { text: true, ..Exports::default() }
    }

    /// Adds a format and its destination.
    pub fn add(&mut self, export: Box<dyn Export>, destination: Destination) {
        self.all.push((export, destination));
    }

    /// Whether there are no output formats besides text.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Begins the trace in each format: the time of day, and that of the records' clock, in nanoseconds.
    pub fn begin(&mut self, wall: i64, monotonic: i64, sink: &mut Sink) {
        self.each(sink, |export, out| export.begin(wall, monotonic, out));
    }

    /// Adds a clause that has fired to each format.
    pub fn event(&mut self, event: &Event<'_>, sink: &mut Sink) {
        self.each(sink, |export, out| export.event(event, out));
    }

    /// Adds a message about lost data or a failed clause to each format.
    pub fn message(&mut self, message: &Message, sink: &mut Sink) {
        self.each(sink, |export, out| export.message(message, out));
    }

    /// Passes the aggregations to each format after they were read (-x aggrate).
    pub fn switch(&mut self, tables: &dyn Tables, sink: &mut Sink) {
        self.each(sink, |export, out| export.switch(tables, out));
    }

    /// Ends a round of reading in each format, and keeps its messages and failures.
    pub fn cycle(&mut self, sink: &mut Sink) {
        let mut messages = Vec::new();
        let mut lost = false;
        self.each(sink, |export, out| {
            export.cycle(out, &mut messages);
            lost |= export.has_lost();
        });
        self.failed |= lost;
        self.messages.append(&mut messages);
    }

    /// Writes the aggregations in each format before the trace ends (SIGUSR1).
    pub fn show(&mut self, tables: &dyn Tables, sink: &mut Sink) {
        self.each(sink, |export, out| export.show(tables, out));
    }

    /// Returns what to tell the user.
    pub fn finish(&mut self, tables: &dyn Tables, status: u8, sink: &mut Sink) -> Vec<String> {
        let mut notices = Vec::new();
        self.each(sink, |export, out| notices.extend(export.finish(tables, status, out)));
        notices
    }

    /// Begins a new file when one that grows exceeds these limits.
    pub fn limit(&mut self, limits: Limits) {
        self.all.iter_mut().for_each(|(_, destination)| destination.limit(limits));
    }

    /// Writes what the files that grow do not have yet.
    pub fn flush(&mut self, patience: &Patience) -> Flushed {
        for (_, destination) in &mut self.all {
            match destination.flush(patience) {
                Ok(Flushed::All) => {}
                Ok(waiting) => return waiting,
                Err(error) => {
                    self.failed = true;
                    self.messages.push(Message::problem(error.to_string()));
                }
            }
        }
        Flushed::All
    }

    /// Whether so much output waits for one destination that it should be flushed.
    pub fn is_full(&self) -> bool {
        self.all.iter().any(|(_, destination)| destination.is_full())
    }

    /// Opens the files that grow by their names again.
    pub fn renew(&mut self) {
        self.all.iter_mut().for_each(|(_, destination)| destination.renew());
    }

    /// Whether there is a file that can be opened again.
    pub fn has_files(&self) -> bool {
        self.all.iter().any(|(_, destination)| destination.is_file())
    }

    /// Takes what there is to tell the user. `ended`: nothing more will be written.
    pub fn take_notes(&mut self, ended: bool) -> Vec<Message> {
        let of_files = self.all.iter_mut().flat_map(|(_, destination)| destination.take_notes(ended));
        let mut notes: Vec<Message> = of_files.collect();
        self.failed |= self.all.iter().any(|(_, destination)| destination.has_failed(ended));
        notes.append(&mut self.messages);
        notes
    }

    fn each(&mut self, sink: &mut Sink, mut what: impl FnMut(&mut dyn Export, &mut Vec<u8>)) {
        for (export, destination) in &mut self.all {
            let mut out = Vec::new();
            what(&mut **export, &mut out);
            if !out.is_empty() {
                destination.write(&out, sink);
            }
        }
    }
}
