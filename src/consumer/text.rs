//! consumer/text.rs: conversion of records to the rows of dtrace(1), statement by statement.

use super::aggregate::{Aggregations, Order, Row};
use super::message::Faults;
use super::output::bytes::Style;
use super::output::flow::Flow;
use super::output::stack::Naming;
use super::output::{Text, bytes, quantize, shape, stack};
use super::places::Places;
use super::printf::{self, Argument, Context};
use super::sink::Sink;
use super::symbols::Symbols;
use crate::dif::enabled::Enabled;
use crate::dif::record::{Layouts, Record};
use crate::dif::shape::Shape;
use crate::dif::{
    Action, ActionKind, Conversion, Display, Format, FormatPiece, Program, Statement, StatementKind,
};
use crate::options::key;
use crate::options::{From, Options};
use crate::probe::Fields;
use crate::uapi::{self, Fault, Plain};

/// The state of a trace being read, and how it is shown.
pub struct Consumer<'p> {
    pub program: &'p Program,
    pub enabled: &'p Enabled,
    pub layouts: &'p Layouts,
    pub symbols: &'p dyn Symbols,
    pub options: Options,
    pub aggregations: Aggregations<'p>,
    pub sink: Sink,
    /// Messages for standard error: faults and drops.
    pub messages: Vec<String>,
    faults: Faults,
    /// The argument of exit(), after it was called.
    pub exit: Option<u32>,
    heading: bool,
    flow: Flow,
    places: Places<'p>,
}

/// The columns of a string that trace() shows, and of one that is a key.
const TRACE_WIDTH: usize = 33;
const KEY_WIDTH: usize = 50;

impl<'p> Consumer<'p> {
    pub fn new(
        program: &'p Program,
        enabled: &'p Enabled,
        layouts: &'p Layouts,
        symbols: &'p dyn Symbols,
        options: Options,
        sink: Sink,
    ) -> Consumer<'p> {
        Consumer {
            program,
            enabled,
            layouts,
            symbols,
            options,
            aggregations: Aggregations::new(program),
            sink,
            messages: Vec::new(),
            faults: Faults::default(),
            exit: None,
            heading: false,
            flow: Flow::default(),
            places: Places::new(enabled),
        }
    }

    /// Whether printing this record needs the current aggregations.
    pub fn needs_aggregations(&self, record: &Record<'_>) -> bool {
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

    /// Prints one record.
    pub fn record(&mut self, record: &Record<'_>) {
        if record.epid == uapi::EPID_FAULT {
            if let Some(fault) = Fault::read(record.payload) {
                self.messages.extend(self.faults.first(&fault, self.enabled));
            }
            return;
        }
        let Some(index) = self.enabled.clause(record.epid) else { return };
        let program = self.program;
        let Some(clause) = program.clauses.get(index) else { return };
        self.row(record);
        // print() ends its line, whatever comes after it.
        let mut open = false;
        for statement in &clause.statements {
            if open && shows(statement) {
                if !begins_a_line(statement) {
                    self.sink.text.str("\n");
                }
                open = false;
            }
            self.statement(index, statement, record);
            open |= matches!(statement.kind, StatementKind::Print { .. } | StatementKind::PrintAll(_));
        }
        if open || !self.options.flag(key::QUIET) {
            self.sink.text.str("\n");
        }
    }

    /// Prints the aggregations that no printa() has shown; reports how often the same faults came.
    pub fn finish(&mut self) {
        self.messages.extend(self.faults.again(self.enabled));
        let ids = self.aggregations.unprinted();
        for id in ids {
            self.print_aggregation(id, None, &[id]);
        }
    }

    fn row(&mut self, record: &Record<'_>) {
        let (quiet, flow) = (self.options.flag(key::QUIET), self.options.flag(key::FLOWINDENT));
        let out = &mut self.sink.text;
        if !self.heading {
            self.heading = true;
            match (flow, quiet) {
                (true, _) => out.put(format_args!("{:>3} {:<41}\n", "CPU", "FUNCTION")),
                (false, false) => out.put(format_args!("{:>3} {:>6} {:>32}\n", "CPU", "ID", "FUNCTION:NAME")),
                (false, true) => {}
            }
        }
        let Some(probe) = self.enabled.probe(record.epid) else { return };
        let Fields { provider, function, name: own_name, .. } = &probe.name;
        let name = format!("{function}:{own_name}");
        if flow {
            let row = self.flow.row(record.cpu, probe.id, record.timestamp, provider, own_name);
            let shown = if row.named { &name } else { function };
            let text = format!("{:1$}{2}{shown}", "", row.indent, row.prefix);
            out.put(format_args!("{:>3} {text:<41} ", record.cpu));
        } else if !quiet {
            out.put(format_args!("{:>3} {:>6} {name:>32} ", record.cpu, probe.id));
        }
    }

    fn statement(&mut self, clause: usize, statement: &Statement, record: &Record<'_>) {
        use StatementKind as Kind;
        let (layouts, program) = (self.layouts, self.program);
        let values = || layouts.values(program, clause, statement.actions.clone(), record.payload);
        let first = || values().next().map_or(&[][..], |(_, bytes)| bytes);
        // The argument of a library action is its last record.
        let last = || values().last().map_or(0, |(_, bytes)| printf::integer(bytes, true, 0) as i64);
        let epid = record.epid;
        match &statement.kind {
            Kind::Silent => {}
            Kind::Trace(display) | Kind::Sym(display) => self.value(first(), display, epid),
            Kind::Print { shape, type_name } => self.print(first(), shape, type_name),
            Kind::PrintAll(lines) => {
                self.sink.text.str(" ");
                shape::all(&mut self.sink.text, lines, values().map(|(_, bytes)| bytes));
            }
            Kind::Printf(format) => {
                let first = |_| self.places.of_record(epid, self.symbols);
                let naming = Naming { symbols: self.symbols, indent: self.indent(), first: &first };
                let mut context = Context { naming, value: None };
                printf::render(&mut self.sink.text, format, values().map(argument), &mut context);
            }
            Kind::System(format) => {
                let command = self.formatted(format, values(), epid);
                self.system(&String::from_utf8_lossy(command.as_bytes()));
            }
            Kind::Freopen(format) => {
                let path = self.formatted(format, values(), epid);
                self.freopen(&String::from_utf8_lossy(path.as_bytes()));
            }
            Kind::Printa { format, aggregations } => self.printa(format.as_ref(), aggregations),
            Kind::Stack => self.value(first(), &Display::Stack, epid),
            Kind::Ustack => self.value(first(), &Display::Ustack, epid),
            Kind::Tracemem => tracemem(&mut self.sink.text, values()),
            Kind::Printm => printm(&mut self.sink.text, first()),
            Kind::Exit => self.exit = Some(last() as u32),
            Kind::Clear(id) => self.aggregations.clear(*id),
            Kind::Trunc { aggregation, count } => {
                self.aggregations.truncate(*aggregation, if *count { last() } else { 0 });
            }
            Kind::Normalize(id) => self.aggregations.normalize(*id, last()),
            Kind::Denormalize(id) => self.aggregations.normalize(*id, 1),
            Kind::Setopt => {
                let mut texts =
                    values().map(|(_, bytes)| String::from_utf8_lossy(bytes::until_nul(bytes)).into_owned());
                if let Some(name) = texts.next() {
                    self.setopt(&name, texts.next().as_deref());
                }
            }
            Kind::Ftruncate => {
                if let Err(error) = self.sink.truncate() {
                    self.messages.push(format!("failed to truncate the output: {error}"));
                }
            }
        }
    }

    fn style(&self) -> Style {
        Style {
            quiet: self.options.flag(key::QUIET),
            raw: self.options.flag(key::RAWBYTES),
            utf8: self.options.text(key::ENCODING) == Some("utf8"),
        }
    }

    fn indent(&self) -> usize {
        self.options.number(key::STACKINDENT) as usize
    }

    /// Prints a value without a format.
    fn value(&mut self, value: &[u8], display: &Display, epid: u32) {
        let (style, indent) = (self.style(), self.indent());
        let first = |_| self.places.of_record(epid, self.symbols);
        let naming = Naming { symbols: self.symbols, indent, first: &first };
        show(&mut self.sink.text, value, display, TRACE_WIDTH, style, naming);
    }

    /// Prints print(), with the name of the type.
    fn print(&mut self, value: &[u8], shape: &Shape, type_name: &str) {
        let out = &mut self.sink.text;
        out.put(format_args!(" {type_name} "));
        shape::value(out, value, shape);
    }

    fn formatted<'a>(
        &self,
        format: &Format,
        values: impl Iterator<Item = (&'a Action, &'a [u8])>,
        epid: u32,
    ) -> Text {
        let mut text = Text::new();
        let first = |_| self.places.of_record(epid, self.symbols);
        let naming = Naming { symbols: self.symbols, indent: self.indent(), first: &first };
        printf::render(&mut text, format, values.map(argument), &mut Context { naming, value: None });
        text
    }

    /// Runs system(); earlier output is written before the command's.
    fn system(&mut self, command: &str) {
        let flushed = self.sink.flush();
        let run = flushed.and_then(|()| std::process::Command::new("/bin/sh").args(["-c", command]).status());
        if let Err(error) = run {
            self.messages.push(format!("system(\"{command}\") failed: {error}"));
        }
    }

    fn freopen(&mut self, path: &str) {
        if let Err(error) = self.sink.reopen(path) {
            self.messages.push(format!("freopen(\"{path}\") failed: {error}"));
        }
    }

    fn printa(&mut self, format: Option<&Format>, ids: &[u32]) {
        if format.is_none() {
            self.sink.text.str("\n");
        }
        if let Some(first) = ids.first() {
            self.print_aggregation(*first, format, ids);
        }
        self.aggregations.mark_printed(ids);
    }

    /// Prints the rows of `ids`, joined by key, with the displays of `first`.
    fn print_aggregation(&mut self, first: u32, format: Option<&Format>, ids: &[u32]) {
        let order = Order {
            by_key: self.options.flag(key::AGGSORTKEY),
            reverse: self.options.flag(key::AGGSORTREV),
            position: self.options.number(key::AGGSORTPOS) as usize,
            key_position: self.options.number(key::AGGSORTKEYPOS) as usize,
        };
        // Key components print like traced values, quiet or not.
        let style = Style { quiet: false, ..self.style() };
        let meaning = |address| self.places.of_key(address, self.symbols);
        let naming = Naming { symbols: self.symbols, indent: self.indent(), first: &meaning };
        let index = (first as usize).saturating_sub(1);
        let keys = self.program.aggregations.get(index).map_or(&[][..], |aggregation| &aggregation.keys);
        let zoom = self.options.flag(key::AGGZOOM);
        let rows = self.aggregations.rows(ids, order);
        if format.is_none()
            && self.options.flag(key::AGGHIST)
            && print_bars(&mut self.sink.text, &rows, keys, zoom, naming)
        {
            return;
        }
        for row in rows {
            let out = &mut self.sink.text;
            if let Some(format) = format {
                print_row(out, format, &row, keys, naming, zoom);
                continue;
            }
            for (part, display) in row.key.iter().zip(keys) {
                show(out, part, display, KEY_WIDTH, style, naming);
            }
            row.values.iter().for_each(|value| value.print(out, zoom));
            out.str("\n");
        }
    }

    fn setopt(&mut self, name: &str, value: Option<&str>) {
        if let Err(error) = self.options.set(name, value, From::Setopt) {
            let help = error.help().map(|help| format!(" ({help})")).unwrap_or_default();
            let setting = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
            self.messages.push(format!("failed to set -x {setting}: {error}{help}"));
        }
    }
}

/// Whether the statement writes to the output, or may.
fn shows(statement: &Statement) -> bool {
    use StatementKind as Kind;
    let silent = matches!(statement.kind, Kind::Silent | Kind::Exit | Kind::Clear(_) | Kind::Trunc { .. });
    !silent && !matches!(statement.kind, Kind::Normalize(_) | Kind::Denormalize(_) | Kind::Setopt)
}

/// Whether what the statement writes begins with a line break.
fn begins_a_line(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Stack | StatementKind::Ustack | StatementKind::Printa { format: None, .. } => true,
        StatementKind::Printf(format) => {
            matches!(format.pieces.first(), Some(FormatPiece::Text(text)) if text.starts_with('\n'))
        }
        _ => false,
    }
}

/// Prints agghist: one bar for each key of one aggregation whose values are numbers; returns false if it is not such.
fn print_bars(out: &mut Text, rows: &[Row<'_>], keys: &[Display], zoom: bool, naming: Naming<'_>) -> bool {
    let mut bars = Vec::new();
    let mut normal = 1;
    for row in rows {
        let [value] = &row.values[..] else { return false };
        let Some(number) = value.number() else { return false };
        normal = value.normal;
        let mut text = Text::new();
        for (part, display) in row.key.iter().zip(keys) {
            text.str(" ");
            show(&mut text, part, display, 0, Style { quiet: true, ..Style::default() }, naming);
        }
        let key = String::from_utf8_lossy(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ");
        bars.push((key, i64::try_from(number * i128::from(normal)).unwrap_or(i64::MAX)));
    }
    if keys.is_empty() || bars.is_empty() {
        return false;
    }
    quantize::by_key(out, &bars, quantize::Scale { normal, zoom });
    true
}

/// Prints one line of printa() with a format: the keys in order, and the values in order for `%@`.
fn print_row(
    out: &mut Text,
    format: &Format,
    row: &Row<'_>,
    keys: &[Display],
    naming: Naming<'_>,
    zoom: bool,
) {
    let arguments =
        row.key.iter().zip(keys).map(|(part, display)| Argument { bytes: part, user: is_user(display) });
    let mut values = row.values.iter().cycle();
    let mut value = |out: &mut Text, conversion: &Conversion| {
        let Some(shown) = values.next() else { return };
        match shown.number() {
            // In bases other than ten a negative value is shown as its 64 bits.
            Some(number) if number < 0 && !matches!(conversion.letter, 'd' | 'i') => {
                out.str(&printf::format_integer(i128::from(number as u64), conversion));
            }
            Some(number) => out.str(&printf::format_integer(number, conversion)),
            None => shown.graph(out, zoom),
        }
    };
    let mut context = Context { naming, value: Some(&mut value) };
    printf::render(out, format, arguments, &mut context);
}

/// Prints a value without a format.
fn show(out: &mut Text, value: &[u8], display: &Display, width: usize, style: Style, naming: Naming<'_>) {
    let symbols = naming.symbols;
    let word = || stack::words(value).next().unwrap_or(0);
    let pair = || stack::user_pair(value);
    let named = |out: &mut Text, name: String| out.put(format_args!("  {name:<KEY_WIDTH$}"));
    match display {
        Display::Int { signed } => {
            let number = printf::integer(value, *signed, 0);
            let columns = match value.len() {
                _ if style.quiet => return out.put(format_args!("{number}")),
                8 => 16,
                4 => 8,
                2 => 5,
                _ => 3,
            };
            out.put(format_args!(" {number:>columns$}"));
        }
        Display::String => bytes::string(out, value, width, style),
        Display::Bytes => bytes::array(out, value, width, style),
        Display::Stack => stack::kernel(out, value, naming),
        Display::Ustack => stack::user(out, value, naming),
        Display::Address { called } => {
            let name = match called {
                true => stack::caller(word(), naming),
                false => stack::address(word(), symbols),
            };
            match style.quiet {
                true => out.str(&name),
                false => out.put(format_args!("  {name:<width$}")),
            }
        }
        Display::Sym => named(out, stack::function(word(), symbols)),
        Display::Mod => named(out, stack::module(word(), symbols)),
        Display::Usym => {
            let (pid, address) = pair();
            named(out, stack::user_function(pid, address, symbols));
        }
        Display::Uaddr => {
            let (pid, address) = pair();
            named(out, stack::user_address(pid, address, symbols));
        }
        Display::Umod => {
            let (pid, address) = pair();
            named(out, stack::user_module(pid, address, symbols));
        }
    }
}

/// Dumps as many bytes as the dynamic size gives, or all.
fn tracemem<'a>(out: &mut Text, values: impl Iterator<Item = (&'a Action, &'a [u8])>) {
    let mut most = usize::MAX;
    for (action, value) in values {
        match action.kind {
            ActionKind::TracememDyn => {
                most = usize::try_from(printf::integer(value, true, 0)).unwrap_or(0);
            }
            _ => bytes::dump(out, &value[..value.len().min(most)]),
        }
    }
}

/// Dumps the bytes that follow the length.
fn printm(out: &mut Text, value: &[u8]) {
    let Some((length, value)) = value.split_first_chunk::<8>() else { return };
    let length = usize::try_from(u64::from_ne_bytes(*length)).unwrap_or(usize::MAX);
    bytes::dump(out, &value[..value.len().min(length)]);
}

fn argument<'a>((action, bytes): (&'a Action, &'a [u8])) -> Argument<'a> {
    use ActionKind::*;
    Argument { bytes, user: matches!(action.kind, Ustack | Usym | Umod | Uaddr) }
}

fn is_user(display: &Display) -> bool {
    matches!(display, Display::Ustack | Display::Usym | Display::Umod | Display::Uaddr)
}
