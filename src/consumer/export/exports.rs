//! consumer/export/exports.rs: the output formats of a run, each with its destination.

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
    /// Whether text is written too.
    pub text: bool,
    pub(super) all: Vec<(Box<dyn Export>, Destination)>,
    /// Messages for the user, including write errors.
    pub messages: Vec<Message>,
    /// Whether output was lost.
    pub failed: bool,
}

impl Exports {
    /// Makes a list of formats with only text.
    pub fn text() -> Exports {
        Exports { text: true, ..Exports::default() }
    }

    /// Adds a format and its destination.
    pub fn add(&mut self, export: Box<dyn Export>, destination: Destination) {
        self.all.push((export, destination));
    }

    /// Whether text is the only output format.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Begins the trace in each format, with the wall-clock time and the time of the records' clock, in nanoseconds.
    pub fn begin(&mut self, wall: i64, monotonic: i64, sink: &mut Sink) {
        self.each(sink, |export, out| export.begin(wall, monotonic, out));
    }

    /// Adds a fired clause to each format.
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

    /// Ends a work cycle in each format, and collects messages and failures.
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

    /// Ends the trace in each format, and returns notices for the user.
    pub fn finish(&mut self, tables: &dyn Tables, status: u8, sink: &mut Sink) -> Vec<String> {
        let mut notices = Vec::new();
        self.each(sink, |export, out| notices.extend(export.finish(tables, status, out)));
        notices
    }

    /// Sets the limits at which append-mode files are rotated.
    pub fn limit(&mut self, limits: Limits) {
        self.all.iter_mut().for_each(|(_, destination)| destination.limit(limits));
    }

    /// Writes the pending output of append-mode files.
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

    /// Whether the pending output of a destination should be flushed.
    pub fn is_full(&self) -> bool {
        self.all.iter().any(|(_, destination)| destination.is_full())
    }

    /// Opens append-mode files again by their paths.
    pub fn renew(&mut self) {
        self.all.iter_mut().for_each(|(_, destination)| destination.renew());
    }

    /// Whether any file can be reopened.
    pub fn has_files(&self) -> bool {
        self.all.iter().any(|(_, destination)| destination.is_file())
    }

    /// Takes the messages for the user. `ended`: nothing more will be written.
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
