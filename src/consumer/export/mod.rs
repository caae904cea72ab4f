//! consumer/export/: -O: what becomes of a trace besides text.

pub mod destination;
pub mod flame;
pub mod folded;
pub mod form;
pub mod json;
pub mod labels;
pub mod metrics;
pub mod otlp;
pub mod perfetto;
pub mod pprof;
pub mod profile;
pub mod prom;
mod proto;

use super::event::Event;
use super::message::Message;
use super::sink::Sink;
use super::stream::{Flushed, Limits, Patience};
use super::table::Table;
use destination::Destination;

/// Writes a trace in one form. What a call adds to `out` is written as one piece.
pub trait Export {
    /// The trace begins: the time of day, and that of the records' clock.
    fn begin(&mut self, _wall: i64, _monotonic: i64, _out: &mut Vec<u8>) {}
    /// A clause has fired.
    fn event(&mut self, _event: &Event<'_>, _out: &mut Vec<u8>) {}
    /// Data was lost, or a clause has failed.
    fn message(&mut self, _message: &Message, _out: &mut Vec<u8>) {}
    /// The aggregations were read (-x aggrate).
    fn switch(&mut self, _tables: &dyn Tables, _out: &mut Vec<u8>) {}
    /// A round of reading is over. `messages` are for the user.
    fn cycle(&mut self, _out: &mut Vec<u8>, _messages: &mut Vec<Message>) {}
    /// Whether something has not come to where it was to go.
    fn has_lost(&self) -> bool {
        false
    }
    /// The user wants to see the aggregations now (SIGUSR1); they were just read.
    fn show(&mut self, tables: &dyn Tables, out: &mut Vec<u8>) {
        self.switch(tables, out);
    }
    /// Tracing has ended. Returns what to tell the user.
    fn finish(&mut self, tables: &dyn Tables, status: u8, out: &mut Vec<u8>) -> Option<String>;
}

/// The aggregations as they are now; made when they are asked for.
pub trait Tables {
    fn all(&self) -> Vec<Table<'_>>;
    /// Those that printa() has not shown, and that are not empty since they were last cleared.
    fn unprinted(&self) -> Vec<Table<'_>>;
    /// Those with these ids, as if there were no normalize().
    fn undivided(&self, ids: &[u32]) -> Vec<Table<'_>>;
    /// How many faults of each kind there were.
    fn faults(&self) -> Vec<(&'static str, u64)>;
    /// Those that are profiles ([`profile::is_profile`]), empty ones too; with the source lines of their frames.
    fn profiles(&self) -> Vec<Table<'_>>;
    /// When the trace has ended, or now: the time of day, and that of the records' clock.
    fn ended(&self) -> (i64, i64) {
        (kinst_os::time_of_day(), kinst_os::monotonic())
    }
}

/// The forms of one run, each with its destination.
#[derive(Default)]
pub struct Exports {
    /// Whether there is text too.
    pub text: bool,
    all: Vec<(Box<dyn Export>, Destination)>,
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

    pub fn add(&mut self, export: Box<dyn Export>, destination: Destination) {
        self.all.push((export, destination));
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn begin(&mut self, wall: i64, monotonic: i64, sink: &mut Sink) {
        self.each(sink, |export, out| export.begin(wall, monotonic, out));
    }

    pub fn event(&mut self, event: &Event<'_>, sink: &mut Sink) {
        self.each(sink, |export, out| export.event(event, out));
    }

    pub fn message(&mut self, message: &Message, sink: &mut Sink) {
        self.each(sink, |export, out| export.message(message, out));
    }

    pub fn switch(&mut self, tables: &dyn Tables, sink: &mut Sink) {
        self.each(sink, |export, out| export.switch(tables, out));
    }

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
