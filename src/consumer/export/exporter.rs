//! consumer/export/exporter.rs: the contract of a format.

use super::tables::Tables;
use crate::consumer::event::Event;
use crate::consumer::message::Message;

/// Writes a trace in one format. What a call adds to `out` is written as one piece.
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
