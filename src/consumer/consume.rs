//! consumer/consume.rs: processes records in order: prints, exports, and performs their statements.

use super::aggregate::{Aggregations, Order};
use super::clock::Clock;
use super::event::Event;
use super::export::{Exports, Tables, profile};
use super::frame::Source;
use super::message::{Faults, Message};
use super::output::bytes::until_nul;
use super::output::flow::Flow;
use super::output::visible;
use super::places::Places;
use super::printf;
use super::sink::Sink;
use super::step::Step;
use super::stream::Flushed;
use super::symbols::Symbols;
use super::table::Table;
use super::text;
use super::unwind;
use crate::options::key;
use crate::options::{From, Options};
use kinst_base::uapi::{self, Fault, Plain};
use kinst_dif::enabled::Enabled;
use kinst_dif::record::{Layouts, Record};
use kinst_dif::{Aggregation, Clause, Display, Program, Statement, StatementKind};
use kinst_os::limits;
use kinst_os::output::Ready;
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};
use std::os::unix::ffi::OsStrExt as _;

/// The state of a trace that is being read, and its outputs.
pub(crate) struct Consumer<'p> {
    pub program: &'p Program,
    pub enabled: &'p Enabled,
    pub layouts: &'p Layouts,
    pub symbols: &'p dyn Symbols,
    pub options: Options,
    pub aggregations: Aggregations<'p>,
    pub sink: Sink,
    pub clock: Clock,
    /// Messages for standard error: faults and drops.
    pub messages: Vec<Message>,
    /// The number of `messages` already passed to the exports.
    exported: usize,
    faults: Faults,
    /// The argument of exit(), after it was called.
    pub exit: Option<u32>,
    /// The end of the trace, by the records' clock.
    ended: Option<i64>,
    pub(super) heading: bool,
    pub(super) flow: Flow,
    pub(super) places: Places<'p>,
    pub exports: Exports,
}

impl<'p> Consumer<'p> {
    pub(crate) fn new(
        program: &'p Program,
        enabled: &'p Enabled,
        layouts: &'p Layouts,
        symbols: &'p dyn Symbols,
        options: Options,
        sink: Sink,
        exports: Exports,
    ) -> Consumer<'p> {
        Consumer {
            program,
            enabled,
            layouts,
            symbols,
            options,
            aggregations: Aggregations::new(program),
            sink,
            clock: Clock::new(),
            messages: Vec::new(),
            exported: 0,
            faults: Faults::default(),
            exit: None,
            ended: None,
            heading: false,
            flow: Flow::default(),
            places: Places::new(enabled),
            exports,
        }
    }

    /// Whether printing this record needs the current aggregations.
    pub(crate) fn needs_aggregations(&self, record: &Record<'_>) -> bool {
        use StatementKind::*;
        let clause = self.enabled.clause(record.epid).and_then(|clause| self.program.clauses.get(clause));
        clause.is_some_and(|clause| {
            clause.statements.iter().any(|statement| {
                matches!(
                    statement.kind,
                    Printa { .. } | Clear(_) | Trunc { .. } | Normalize(_) | Denormalize(_)
                )
            })
        })
    }

    /// Prints one record. Addresses are named after the modules loaded at the time of the record.
    pub(crate) fn record(&mut self, record: &Record<'_>) {
        self.symbols.at(Some(record.timestamp));
        self.print_record(record);
        self.symbols.at(None);
        self.sink.pending.end();
    }

    /// Whether the pending output should be flushed before the next record.
    pub(crate) fn is_full(&self) -> bool {
        self.sink.pending.is_full() || self.exports.is_full()
    }

    fn print_record(&mut self, record: &Record<'_>) {
        if record.epid == uapi::EPID_FAULT {
            if let Some(fault) = Fault::read(record.payload) {
                self.messages.extend(self.faults.first(&fault, self.enabled, self.program));
            }
            return;
        }
        let Some(index) = self.enabled.clause(record.epid) else { return };
        let program = self.program;
        let Some(clause) = program.clauses.get(index) else { return };
        let stacks = self.layouts.copies(index);
        let unwound = (!stacks.is_empty()).then(|| unwind::payload(record.payload, stacks, self.symbols));
        let record = &Record { payload: unwound.as_deref().unwrap_or(record.payload), ..*record };
        let text = self.exports.text && !self.has_no_row(clause);
        let mut acted = (!self.exports.is_empty()).then(Vec::new);
        if text {
            self.row(record);
        }
        // The line of print() ends before any other output.
        let mut open = false;
        for statement in &clause.statements {
            if let Some(acted) = &mut acted {
                acted.extend(self.acted(index, statement, record));
            }
            if text && open && text::shows(statement) {
                if !text::begins_a_line(statement) {
                    self.sink.pending.text.str("\n");
                }
                open = false;
            }
            if text {
                self.show(index, statement, record);
            }
            self.perform(index, statement, record);
            open |= matches!(statement.kind, StatementKind::Print { .. } | StatementKind::PrintAll(_));
        }
        if text && (open || !self.options.flag(key::QUIET)) {
            self.sink.pending.text.str("\n");
        }
        if let Some((actions, probe)) = acted.zip(self.enabled.probe(record.epid)) {
            let wall = self.clock.wall(record.timestamp);
            let thread = self.thread(index, record);
            let step = Step::of(probe, self.enabled.ecb(record.epid));
            let event =
                Event { probe, cpu: record.cpu, monotonic: record.timestamp, wall, thread, step, actions };
            self.exports.event(&event, &mut self.sink);
        }
    }

    /// Whether a record prints no row: it belongs to a part of a clause with `if` that shows nothing.
    fn has_no_row(&self, clause: &Clause) -> bool {
        clause.part && !self.options.flag(key::FLOWINDENT) && !clause.statements.iter().any(text::shows)
    }

    /// Begins the trace in all output formats.
    pub(crate) fn begin(&mut self) {
        self.exports.begin(kinst_os::time_of_day(), kinst_os::monotonic(), &mut self.sink);
    }

    /// Notes the end of the trace, by the records' clock; the earliest one counts.
    pub(crate) fn end(&mut self, time: i64) {
        self.ended = Some(self.ended.map_or(time, |ended| ended.min(time)));
    }

    /// Prints the aggregations that no printa() has shown, and reports repeated faults.
    pub(crate) fn finish(&mut self, notice: &mut dyn FnMut(&str)) {
        self.messages.extend(self.faults.again(self.enabled));
        let status = self.exit.unwrap_or(0) as u8;
        if let Some(given) = self.exit.filter(|given| !(-128..=255).contains(&(*given as i32))) {
            let text = format!("exit({}): an exit status has eight bits: it becomes {status}", given as i32);
            self.messages.push(Message::problem(text));
        }
        self.export_messages();
        if self.exports.text {
            let ids = self.aggregations.unprinted();
            ids.iter().for_each(|id| self.print_aggregation(&[*id], true));
        }
        let notices = self.exporting(|exports, tables, sink| exports.finish(tables, status, sink));
        notices.iter().for_each(|text| notice(text));
    }

    /// Passes newly read aggregations to the exports.
    pub(crate) fn switch(&mut self) {
        if !self.exports.is_empty() {
            self.export_messages();
            self.exporting(|exports, tables, sink| exports.switch(tables, sink));
        }
    }

    /// Shows the current aggregations on request. The output at the end stays the same.
    pub(crate) fn show_aggregations(&mut self) {
        if self.exports.text {
            self.sink.pending.text.str("\n");
            for id in self.aggregations.filled() {
                self.print_aggregation(&[id], true);
            }
        }
        if !self.exports.is_empty() {
            self.exporting(|exports, tables, sink| exports.show(tables, sink));
        }
    }

    /// Opens the files of -o and -O again by their paths; pending output must have been written to the old files.
    pub(crate) fn renew_files(&mut self) {
        self.sink.renew();
        self.exports.renew();
    }

    /// Whether output was lost.
    pub(crate) fn has_failed(&self) -> bool {
        self.sink.failed() || self.exports.failed
    }

    /// Ends a line of text that may be open.
    pub(crate) fn end_of_line(&mut self) {
        if self.exports.text {
            self.sink.pending.text.str("\n");
        }
    }

    /// Writes the output, then the messages, which refer to preceding output. Output that a slow reader does not take
    /// waits for the next call.
    pub(crate) fn flush(&mut self, say: &mut dyn FnMut(&str)) -> io::Result<Flushed> {
        self.export_messages();
        self.exports.cycle(&mut self.sink);
        for flushed in [self.sink.flush()?, self.exports.flush(&self.sink.patience)] {
            if flushed != Flushed::All {
                return Ok(flushed);
            }
        }
        self.take_notes(false);
        while !self.messages.is_empty() {
            match self.sink.patience.wait(&io::stderr()) {
                Ready::Signal => return Ok(Flushed::Interrupted),
                Ready::TimedOut => return Ok(Flushed::Slow),
                Ready::Writable => {
                    let text = self.messages.remove(0).text;
                    match io::stderr().is_terminal() {
                        true => say(&String::from_utf8_lossy(&visible(text.as_bytes()))),
                        false => say(&text),
                    }
                }
            }
            self.exported = self.exported.saturating_sub(1);
        }
        Ok(Flushed::All)
    }

    /// Takes the problems with files, which are reported only on standard error. `ended`: nothing more will be written.
    pub(crate) fn take_notes(&mut self, ended: bool) {
        let notes = self.sink.take_notes(ended).into_iter().chain(self.exports.take_notes(ended));
        self.messages.extend(notes);
        self.exported = self.messages.len();
    }

    fn export_messages(&mut self) {
        for message in self.messages.iter().skip(self.exported) {
            self.exports.message(message, &mut self.sink);
        }
        self.exported = self.messages.len();
    }

    /// Calls the exports with the current aggregations.
    fn exporting<T>(&mut self, call: impl FnOnce(&mut Exports, &dyn Tables, &mut Sink) -> T) -> T {
        let mut exports = std::mem::take(&mut self.exports);
        let mut sink = std::mem::take(&mut self.sink);
        let result = call(&mut exports, self, &mut sink);
        (self.exports, self.sink) = (exports, sink);
        result
    }

    /// Performs the side effects of a statement.
    fn perform(&mut self, clause: usize, statement: &Statement, record: &Record<'_>) {
        use StatementKind as Kind;
        let (layouts, program) = (self.layouts, self.program);
        let values = || layouts.values(program, clause, statement.actions.clone(), record.payload);
        // The argument of an action that the consumer performs is its last record.
        let last = || values().last().map_or(0, |(_, bytes)| printf::integer(bytes, true, 0) as i64);
        let epid = record.epid;
        match &statement.kind {
            Kind::System(format) => {
                let command = self.formatted(format, values(), epid);
                self.system(OsStr::from_bytes(&command));
            }
            Kind::Freopen(format) => {
                let path = self.formatted(format, values(), epid);
                self.freopen(OsStr::from_bytes(&path));
            }
            Kind::Printa { aggregations, .. } => self.aggregations.mark_printed(aggregations),
            Kind::Exit => {
                self.exit = Some(last() as u32);
                self.end(record.timestamp as i64);
            }
            Kind::Clear(id) => self.aggregations.clear(*id),
            Kind::Trunc { aggregation, count } => {
                self.aggregations.truncate(*aggregation, if *count { last() } else { 0 });
            }
            Kind::Normalize(id) => {
                if !self.aggregations.normalize(*id, last()) {
                    let text = "normalize() by 0 has no effect".to_owned();
                    self.messages.push(Message::problem(text));
                }
            }
            Kind::Denormalize(id) => {
                self.aggregations.normalize(*id, 1);
            }
            Kind::Setopt => {
                let mut texts =
                    values().map(|(_, bytes)| String::from_utf8_lossy(until_nul(bytes)).into_owned());
                if let Some(name) = texts.next() {
                    self.setopt(&name, texts.next().as_deref());
                }
            }
            Kind::Ftruncate => {
                if let Err(error) = self.sink.truncate() {
                    self.messages.push(Message::problem(format!("failed to truncate the output: {error}")));
                }
            }
            Kind::Silent
            | Kind::Thread
            | Kind::Trace(_)
            | Kind::Sym(_)
            | Kind::Print { .. }
            | Kind::PrintAll(_)
            | Kind::Printf(_)
            | Kind::Stack
            | Kind::Ustack
            | Kind::Tracemem
            | Kind::Printm => {}
        }
    }

    /// Runs system(), after all earlier output is written.
    fn system(&mut self, command: &OsStr) {
        let flushed = self.sink.flush_all();
        let mut shell = std::process::Command::new("/bin/sh");
        limits::as_before(&mut shell);
        let run = flushed.and_then(|()| shell.arg("-c").arg(command).status());
        if let Err(error) = run {
            let command = command.display();
            self.messages.push(Message::problem(format!("system(\"{command}\") failed: {error}")));
        }
    }

    fn freopen(&mut self, path: &OsStr) {
        if let Err(error) = self.sink.reopen(path) {
            let path = path.display();
            self.messages.push(Message::problem(format!("freopen(\"{path}\") failed: {error}")));
        }
    }

    /// Returns the order of rows.
    pub(super) fn order(&self) -> Order {
        Order {
            by_key: self.options.flag(key::AGGSORTKEY),
            reverse: self.options.flag(key::AGGSORTREV),
            position: self.options.number(key::AGGSORTPOS) as usize,
            key_position: self.options.number(key::AGGSORTKEYPOS) as usize,
        }
    }

    pub(super) fn aggregation(&self, id: u32) -> Option<&'p Aggregation> {
        self.program.aggregations.get((id as usize).checked_sub(1)?)
    }

    /// Returns the key displays of joined aggregations, which come from the first one.
    pub(super) fn keys(&self, ids: &[u32]) -> &'p [Display] {
        ids.first().and_then(|id| self.aggregation(*id)).map_or(&[], |first| &first.keys)
    }

    fn setopt(&mut self, name: &str, value: Option<&str>) {
        if let Err(error) = self.options.set(name, value, From::Setopt) {
            let help = error.help().map(|help| format!(" ({help})")).unwrap_or_default();
            let setting = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
            self.messages.push(Message::problem(format!("failed to set -x {setting}: {error}{help}")));
        }
    }
}

impl Tables for Consumer<'_> {
    fn ended(&self) -> (i64, i64) {
        let monotonic = self.ended.unwrap_or_else(kinst_os::monotonic);
        (self.clock.wall(monotonic as u64), monotonic)
    }

    fn all(&self) -> Vec<Table<'_>> {
        let ids: Vec<u32> = (1..).take(self.program.aggregations.len()).collect();
        self.tables(&ids, false)
    }

    fn unprinted(&self) -> Vec<Table<'_>> {
        self.tables(&self.aggregations.unprinted(), false)
    }

    fn undivided(&self, ids: &[u32]) -> Vec<Table<'_>> {
        self.tables(ids, true)
    }

    fn faults(&self) -> Vec<(&'static str, u64)> {
        self.faults.totals().collect()
    }

    fn profiles(&self) -> Vec<Table<'_>> {
        let all = (1..).zip(&self.program.aggregations);
        let ids: Vec<u32> = all.filter(|(_, one)| profile::is_profile(one)).map(|(id, _)| id).collect();
        // A lookup of inlined functions finds the lines too.
        let lined = |source: Source| Source { lines: source.lines || source.inlined, ..source };
        self.tables_with(&ids, false, &lined)
    }
}
