//! consumer/text.rs: conversion of records to the rows of dtrace(1), statement by statement.

use super::aggregate::{Aggregations, Order, Row};
use super::message;
use super::output::bytes::Style;
use super::output::flow::Flow;
use super::output::{Text, bytes, quantize, shape, stack};
use super::printf::{self, Argument, Context};
use super::sink::Sink;
use super::symbols::Symbols;
use crate::dif::enabled::Enabled;
use crate::dif::record::{Layouts, Record};
use crate::dif::shape::Shape;
use crate::dif::{Action, ActionKind, Conversion, Display, Format, Program, Statement, StatementKind};
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
    /// The argument of exit(), after it was called.
    pub exit: Option<u32>,
    heading: bool,
    flow: Flow,
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
            exit: None,
            heading: false,
            flow: Flow::default(),
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
                self.messages.push(message::fault(&fault, self.enabled));
            }
            return;
        }
        let Some(index) = self.enabled.clause(record.epid) else { return };
        let program = self.program;
        let Some(clause) = program.clauses.get(index) else { return };
        self.row(record);
        for statement in &clause.statements {
            self.statement(index, statement, record);
        }
        if !self.options.flag(key::QUIET) {
            self.sink.text.str("\n");
        }
    }

    /// Prints the aggregations that no printa() has shown.
    pub fn finish(&mut self) {
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
        let argument = || values().last().map_or(0, |(_, bytes)| printf::integer(bytes, true, 0) as i64);
        let indent = self.indent();
        match &statement.kind {
            Kind::Silent => {}
            Kind::Trace(display) => self.value(first(), display),
            Kind::Print { shape, type_name } => self.print(first(), shape, type_name),
            Kind::Printf(format) => self.printf(format, values()),
            Kind::System(format) => self.system(format, values()),
            Kind::Freopen(format) => self.freopen(format, values()),
            Kind::Printa { format, aggregations } => self.printa(format.as_ref(), aggregations),
            Kind::Stack => stack::kernel(&mut self.sink.text, first(), indent, self.symbols),
            Kind::Ustack => stack::user(&mut self.sink.text, first(), indent, self.symbols),
            Kind::Sym(display) => self.value(first(), display),
            Kind::Tracemem => tracemem(&mut self.sink.text, values()),
            Kind::Printm => printm(&mut self.sink.text, first()),
            Kind::Exit => self.exit = Some(argument() as u32),
            Kind::Clear(id) => self.aggregations.clear(*id),
            Kind::Trunc { aggregation, count } => {
                self.aggregations.truncate(*aggregation, if *count { argument() } else { 0 });
            }
            Kind::Normalize(id) => self.aggregations.normalize(*id, argument()),
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

    /// Prints trace(), without a format.
    fn value(&mut self, value: &[u8], display: &Display) {
        let (style, indent) = (self.style(), self.indent());
        show(&mut self.sink.text, value, display, TRACE_WIDTH, style, indent, self.symbols);
    }

    /// Prints print(), with the name of the type.
    fn print(&mut self, value: &[u8], shape: &Shape, type_name: &str) {
        let out = &mut self.sink.text;
        out.put(format_args!(" {type_name} "));
        shape::value(out, value, shape);
    }

    fn printf<'a>(&mut self, format: &Format, values: impl Iterator<Item = (&'a Action, &'a [u8])>) {
        let mut context = Context { symbols: self.symbols, stackindent: self.indent(), value: None };
        printf::render(&mut self.sink.text, format, values.map(argument), &mut context);
    }

    fn formatted<'a>(&self, format: &Format, values: impl Iterator<Item = (&'a Action, &'a [u8])>) -> String {
        let mut text = Text::new();
        let mut context = Context { symbols: self.symbols, stackindent: self.indent(), value: None };
        printf::render(&mut text, format, values.map(argument), &mut context);
        String::from_utf8_lossy(text.as_bytes()).into_owned()
    }

    /// Runs system(); earlier output is written before the command's.
    fn system<'a>(&mut self, format: &Format, values: impl Iterator<Item = (&'a Action, &'a [u8])>) {
        let command = self.formatted(format, values);
        let flushed = self.sink.flush();
        let run =
            flushed.and_then(|()| std::process::Command::new("/bin/sh").args(["-c", &command]).status());
        if let Err(error) = run {
            self.messages.push(format!("system(\"{command}\") failed: {error}"));
        }
    }

    fn freopen<'a>(&mut self, format: &Format, values: impl Iterator<Item = (&'a Action, &'a [u8])>) {
        let path = self.formatted(format, values);
        if let Err(error) = self.sink.reopen(&path) {
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
        let (symbols, indent) = (self.symbols, self.indent());
        let index = (first as usize).saturating_sub(1);
        let keys = self.program.aggregations.get(index).map_or(&[][..], |aggregation| &aggregation.keys);
        let zoom = self.options.flag(key::AGGZOOM);
        let rows = self.aggregations.rows(ids, order);
        if format.is_none()
            && self.options.flag(key::AGGHIST)
            && print_bars(&mut self.sink.text, &rows, keys, zoom, symbols)
        {
            return;
        }
        for row in rows {
            let out = &mut self.sink.text;
            if let Some(format) = format {
                print_row(out, format, &row, keys, (symbols, indent, zoom));
                continue;
            }
            for (part, display) in row.key.iter().zip(keys) {
                show(out, part, display, KEY_WIDTH, style, indent, symbols);
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

/// Prints agghist: one bar for each key of one aggregation whose values are numbers; returns false if it is not such.
fn print_bars(out: &mut Text, rows: &[Row<'_>], keys: &[Display], zoom: bool, symbols: &dyn Symbols) -> bool {
    let mut bars = Vec::new();
    let mut normal = 1;
    for row in rows {
        let [value] = &row.values[..] else { return false };
        let Some(number) = value.number() else { return false };
        normal = value.normal;
        let mut text = Text::new();
        for (part, display) in row.key.iter().zip(keys) {
            text.str(" ");
            show(&mut text, part, display, 0, Style { quiet: true, ..Style::default() }, 0, symbols);
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
    (symbols, stackindent, zoom): (&dyn Symbols, usize, bool),
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
    let mut context = Context { symbols, stackindent, value: Some(&mut value) };
    printf::render(out, format, arguments, &mut context);
}

/// Prints a value without a format.
fn show(
    out: &mut Text,
    value: &[u8],
    display: &Display,
    width: usize,
    style: Style,
    indent: usize,
    symbols: &dyn Symbols,
) {
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
        Display::Stack => stack::kernel(out, value, indent, symbols),
        Display::Ustack => stack::user(out, value, indent, symbols),
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
