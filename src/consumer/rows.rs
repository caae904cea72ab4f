//! consumer/rows.rs: converts records to rows in the format of dtrace(1), statement by statement.

use super::consume::Consumer;
use super::output::bytes::Style;
use super::output::{Text, bytes, quantize, shape};
use super::printf::{self, Context};
use super::text::{
    KEY_WIDTH, TRACE_WIDTH, argument, naming, print_bars, print_packed, print_row, printed_memory, show,
    traced_memory,
};
use crate::options::key;
use kinst_base::probe::Fields;
use kinst_dif::record::Record;
use kinst_dif::shape::Shape;
use kinst_dif::{Action, Display, Format, Statement, StatementKind};

impl Consumer<'_> {
    /// Begins the row of a record, and the heading before the first one.
    pub(super) fn row(&mut self, record: &Record<'_>) {
        let (quiet, flow) = (self.options.flag(key::QUIET), self.options.flag(key::FLOWINDENT));
        let out = &mut self.sink.pending.text;
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

    /// Prints the output of a statement.
    pub(super) fn show(&mut self, clause: usize, statement: &Statement, record: &Record<'_>) {
        use StatementKind as Kind;
        let (layouts, program) = (self.layouts, self.program);
        let values = || layouts.values(program, clause, statement.actions.clone(), record.payload);
        let first = || values().next().map_or(&[][..], |(_, bytes)| bytes);
        let epid = record.epid;
        match &statement.kind {
            Kind::Trace(display) | Kind::Sym(display) => self.value(first(), display, epid),
            Kind::Print { shape, type_name } => {
                let records: Vec<&[u8]> = values().skip(1).map(|(_, bytes)| self.shown(bytes)).collect();
                self.print(first(), &records, shape, type_name);
            }
            Kind::PrintAll(lines) => {
                self.sink.pending.text.str(" ");
                let mut text = self.sink.pending.text.alike();
                shape::all(&mut text, lines, values().map(|(_, bytes)| self.shown(bytes)));
                self.sink.pending.text.append(&text);
            }
            Kind::Printf(format) => {
                let mut text = self.sink.pending.text.alike();
                self.format(&mut text, format, values(), epid);
                self.sink.pending.text.append(&text);
            }
            Kind::Printa { format: Some(format), aggregations } => {
                let mut text = self.sink.pending.text.alike();
                self.print_rows(&mut text, format, aggregations);
                self.sink.pending.text.append(&text);
            }
            Kind::Printa { format: None, aggregations } => {
                self.sink.pending.text.str("\n");
                self.print_aggregation(aggregations, false);
            }
            Kind::Stack => self.value(first(), &Display::Stack, epid),
            Kind::Ustack => self.value(first(), &Display::Ustack, epid),
            Kind::Tracemem => bytes::dump(&mut self.sink.pending.text, &traced_memory(values())),
            Kind::Printm => bytes::dump(&mut self.sink.pending.text, printed_memory(first())),
            Kind::Silent
            | Kind::Thread
            | Kind::System(_)
            | Kind::Freopen(_)
            | Kind::Exit
            | Kind::Clear(_)
            | Kind::Trunc { .. }
            | Kind::Normalize(_)
            | Kind::Denormalize(_)
            | Kind::Setopt
            | Kind::Ftruncate => {}
        }
    }

    fn style(&self) -> Style {
        Style {
            quiet: self.options.flag(key::QUIET),
            raw: self.options.flag(key::RAWBYTES),
            utf8: self.options.text(key::ENCODING) == Some("utf8"),
        }
    }

    /// Prints a value without a format.
    fn value(&mut self, value: &[u8], display: &Display, epid: u32) {
        let style = self.style();
        let shown = self.shown(value);
        if matches!(display, Display::Bytes) && shown.len() < value.len() {
            let out = &mut self.sink.pending.text;
            bytes::dump(out, shown);
            return out.put(format_args!("       ...: {} more bytes\n", value.len() - shown.len()));
        }
        let first = |_| self.places.of_record(epid, self.symbols);
        let naming = naming(self.symbols, &self.options, &first);
        show(&mut self.sink.pending.text, value, display, TRACE_WIDTH, style, naming);
    }

    /// Returns the part of a value that the option printsize shows.
    pub(super) fn shown<'a>(&self, value: &'a [u8]) -> &'a [u8] {
        let most = match self.options.is_set(key::PRINTSIZE) {
            true => usize::try_from(self.options.number(key::PRINTSIZE)).unwrap_or(usize::MAX),
            false => usize::MAX,
        };
        &value[..value.len().min(most)]
    }

    /// Prints print(), with the name of the type.
    fn print(&mut self, value: &[u8], records: &[&[u8]], shape: &Shape, type_name: &str) {
        let value = self.shown(value);
        let out = &mut self.sink.pending.text;
        out.put(format_args!(" {type_name} "));
        shape::value(out, value, records, shape);
    }

    /// Returns formatted text without escapes, for programs and files.
    pub(super) fn formatted<'a>(
        &self,
        format: &Format,
        values: impl Iterator<Item = (&'a Action, &'a [u8])>,
        epid: u32,
    ) -> Vec<u8> {
        let mut text = Text::new();
        self.format(&mut text, format, values, epid);
        text.as_bytes().to_vec()
    }

    fn format<'a>(
        &self,
        text: &mut Text,
        format: &Format,
        values: impl Iterator<Item = (&'a Action, &'a [u8])>,
        epid: u32,
    ) {
        let first = |_| self.places.of_record(epid, self.symbols);
        let naming = naming(self.symbols, &self.options, &first);
        printf::render(text, format, values.map(argument), &mut Context { naming, value: None });
    }

    /// Prints the rows of `ids`, joined by key, with the displays of the first one. `apart`: output may rotate to a
    /// new file after each row.
    pub(super) fn print_aggregation(&mut self, ids: &[u32], apart: bool) {
        // Key components print like traced values, even with -q.
        let style = Style { quiet: false, ..self.style() };
        let meaning = |address| self.places.of_key(address, self.symbols);
        let naming = naming(self.symbols, &self.options, &meaning);
        let keys = self.keys(ids);
        let graphs = self.graphs();
        let rows = self.aggregations.rows(ids, self.order());
        let pending = &mut self.sink.pending;
        let out = &mut pending.text;
        if self.options.flag(key::AGGHIST) && print_bars(out, &rows, keys, graphs.zoom, naming) {
            return;
        }
        if let Some(marks) = graphs.pack
            && print_packed(out, &rows, keys, (graphs.zoom, marks), naming)
        {
            return;
        }
        for row in rows {
            let out = &mut pending.text;
            for (part, display) in row.key.iter().zip(keys) {
                show(out, part, display, KEY_WIDTH, style, naming);
            }
            row.values.iter().for_each(|value| value.print(out, graphs));
            out.str("\n");
            if apart {
                pending.end();
            }
        }
    }

    /// Returns the formatted rows of `ids`, joined by key, without escapes.
    pub(super) fn printed_rows(&self, format: &Format, ids: &[u32]) -> Vec<u8> {
        let mut text = Text::new();
        self.print_rows(&mut text, format, ids);
        text.as_bytes().to_vec()
    }

    fn print_rows(&self, text: &mut Text, format: &Format, ids: &[u32]) {
        let meaning = |address| self.places.of_key(address, self.symbols);
        let naming = naming(self.symbols, &self.options, &meaning);
        for row in self.aggregations.rows(ids, self.order()) {
            print_row(text, format, &row, self.keys(ids), naming, self.graphs());
        }
    }

    /// Returns the style of distributions.
    fn graphs(&self) -> quantize::Style {
        let blocks = self.options.text(key::ENCODING) == Some("utf8");
        let marks = if blocks { quantize::Marks::Blocks } else { quantize::Marks::Digits };
        quantize::Style {
            zoom: self.options.flag(key::AGGZOOM),
            pack: self.options.flag(key::AGGPACK).then_some(marks),
        }
    }
}
