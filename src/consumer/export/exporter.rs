//! consumer/export/exporter.rs: the interface of an output format.

use super::tables::Tables;
use crate::consumer::event::Event;
use crate::consumer::message::Message;

/// Writes a trace in one format. The bytes that a call adds to `out` are written as one piece.
pub trait Export {
    /// Called when the trace begins, with the wall-clock time and the time of the records' clock.
    fn begin(&mut self, _wall: i64, _monotonic: i64, _out: &mut Vec<u8>) {}
    /// Called for each fired clause.
    fn event(&mut self, _event: &Event<'_>, _out: &mut Vec<u8>) {}
    /// Called when data was lost or a clause has failed.
    fn message(&mut self, _message: &Message, _out: &mut Vec<u8>) {}
    /// Called when the aggregations were read (-x aggrate).
    fn switch(&mut self, _tables: &dyn Tables, _out: &mut Vec<u8>) {}
    /// Called at the end of each work cycle. `messages` are for the user.
    fn cycle(&mut self, _out: &mut Vec<u8>, _messages: &mut Vec<Message>) {}
    /// Whether data was lost on the way to its destination.
    fn has_lost(&self) -> bool {
        false
    }
    /// Called when the user requests the aggregations (SIGUSR1); they were just read.
    fn show(&mut self, tables: &dyn Tables, out: &mut Vec<u8>) {
        self.switch(tables, out);
    }
    /// Called when tracing has ended. Returns a notice for the user.
    fn finish(&mut self, tables: &dyn Tables, status: u8, out: &mut Vec<u8>) -> Option<String>;
}
