//! consumer/acted.rs: converts statements to typed actions, for output formats other than text.

use super::consume::Consumer;
use super::event::{Acted, Joined, Printed, Thread};
use super::frame::Source;
use super::output::bytes::until_nul;
use super::printf::{self, Argument};
use super::table::{self, Entry, Table};
use super::value::{self, Member, Value};
use super::{frame, text};
use kinst_dif::record::Record;
use kinst_dif::{Count, Display, Format, FormatPiece, PrintedLine, Statement, StatementKind};

impl<'p> Consumer<'p> {
    /// Describes the action of a statement, before it is performed. `None` for a silent statement.
    pub(super) fn acted(
        &self,
        clause: usize,
        statement: &'p Statement,
        record: &Record<'_>,
    ) -> Option<Acted<'p>> {
        use StatementKind as Kind;
        let (layouts, program, epid) = (self.layouts, self.program, record.epid);
        let values = || layouts.values(program, clause, statement.actions.clone(), record.payload);
        let first = || values().next().map_or(&[][..], |(_, bytes)| bytes);
        let shown = || values().map(|(_, bytes)| self.shown(bytes));
        let last = || values().last().map_or(0, |(_, bytes)| printf::integer(bytes, true, 0) as i64);
        let meaning = |_| self.places.of_record(epid, self.symbols);
        let naming = text::naming(self.symbols, &self.options, &meaning);
        let formatted = |format: &Format| self.formatted(format, values(), epid);
        Some(match &statement.kind {
            Kind::Silent | Kind::Thread => return None,
            Kind::Trace(display @ Display::Bytes) => {
                Acted::Trace(value::of_display(self.shown(first()), display, naming))
            }
            Kind::Trace(display) => Acted::Trace(value::of_display(first(), display, naming)),
            Kind::Sym(display) => Acted::Symbol(value::of_display(first(), display, naming)),
            Kind::Print { shape, type_name } => {
                Acted::Print { type_name, value: value::of_records(shown(), shape) }
            }
            Kind::PrintAll(lines) => Acted::PrintAll(printed(lines, shown())),
            Kind::Printf(format) => {
                let typed = typed(format, values().map(text::argument), naming);
                Acted::Printf { text: formatted(format), arguments: typed }
            }
            Kind::System(format) => Acted::System(formatted(format)),
            Kind::Freopen(format) => Acted::Freopen(formatted(format)),
            Kind::Printa { format, aggregations } => {
                let text = format.as_ref().map(|format| self.printed_rows(format, aggregations));
                let names = aggregations.iter().map(|id| self.aggregation_name(*id)).collect();
                Acted::Printa { text, names, rows: self.joined(aggregations) }
            }
            Kind::Stack => Acted::Stack(frame::kernel_stack(first(), naming)),
            Kind::Ustack => {
                let frames = frame::user_stack(first(), naming);
                Acted::Ustack { pid: frame::words(first()).next().unwrap_or(0), frames }
            }
            Kind::Tracemem => Acted::Memory(Value::Bytes(text::traced_memory(values()))),
            Kind::Printm => Acted::Memory(Value::Bytes(text::printed_memory(first()).to_vec())),
            Kind::Exit => Acted::Exit(last() as u32),
            Kind::Clear(id) => Acted::Clear(self.aggregation_name(*id)),
            Kind::Trunc { aggregation, count } => {
                let count = if *count { last() } else { 0 };
                Acted::Trunc { name: self.aggregation_name(*aggregation), count }
            }
            Kind::Normalize(id) => Acted::Normalize { name: self.aggregation_name(*id), normal: last() },
            Kind::Denormalize(id) => Acted::Denormalize(self.aggregation_name(*id)),
            Kind::Setopt => {
                let mut texts = values().map(|(_, bytes)| until_nul(bytes).to_vec());
                Acted::Setopt { name: texts.next()?, value: texts.next() }
            }
            Kind::Ftruncate => Acted::Ftruncate,
        })
    }

    /// Returns the thread of the clause's record.
    pub(super) fn thread(&self, clause: usize, record: &Record<'_>) -> Option<Thread> {
        let statements = &self.program.clauses.get(clause)?.statements;
        let statement = statements.last().filter(|last| last.kind == StatementKind::Thread)?;
        let actions = statement.actions.clone();
        let mut values = self.layouts.values(self.program, clause, actions, record.payload);
        let mut bytes = || values.next().map(|(_, bytes)| bytes);
        let number = |bytes| printf::integer(bytes, true, 0) as i32;
        let (pid, tid, name) = (number(bytes()?), number(bytes()?), bytes()?);
        let name = String::from_utf8_lossy(until_nul(name)).into_owned();
        Some(Thread { pid, tid, name })
    }

    /// Returns aggregations by id; `undivided` ignores normalize().
    pub(crate) fn tables(&self, ids: &[u32], undivided: bool) -> Vec<Table<'p>> {
        self.tables_with(ids, undivided, &|source| source)
    }

    /// Like [`Consumer::tables`], but `shown` changes the source information that the options select.
    pub(super) fn tables_with(
        &self,
        ids: &[u32],
        undivided: bool,
        shown: &dyn Fn(Source) -> Source,
    ) -> Vec<Table<'p>> {
        let program = self.program;
        let table = |id: &u32| {
            let aggregation = program.aggregations.get((*id as usize).checked_sub(1)?)?;
            let mut rows = self.aggregations.rows(&[*id], self.order());
            if undivided {
                rows.iter_mut().flat_map(|row| &mut row.values).for_each(|value| value.normal = 1);
            }
            let normal = rows.first().and_then(|row| row.values.first()).map_or(1, |value| value.normal);
            let meaning = |address| self.places.of_key(address, self.symbols);
            let naming = text::naming(self.symbols, &self.options, &meaning);
            let naming = frame::Naming { source: shown(naming.source), ..naming };
            let entry = |row: super::aggregate::Row<'_>| {
                let value = row.values.first().map(table::aggregate)?;
                Some(Entry { key: typed_key(row.key, &aggregation.keys, naming), value })
            };
            let rows = rows.into_iter().filter_map(entry).collect();
            Some(Table {
                name: aggregation.written(),
                function: aggregation.function,
                keys: &aggregation.key_texts,
                normal,
                rows,
            })
        };
        ids.iter().filter_map(table).collect()
    }

    fn joined(&self, ids: &[u32]) -> Vec<Joined> {
        let keys = self.keys(ids);
        let meaning = |address| self.places.of_key(address, self.symbols);
        let naming = text::naming(self.symbols, &self.options, &meaning);
        let rows = self.aggregations.rows(ids, self.order());
        let joined = rows.iter().map(|row| Joined {
            key: typed_key(row.key, keys, naming),
            values: row.values.iter().map(table::aggregate).collect(),
        });
        joined.collect()
    }

    fn aggregation_name(&self, id: u32) -> &'p str {
        self.aggregation(id).map_or("", |aggregation| &aggregation.name)
    }
}

fn typed_key(key: &super::aggregate::Key, displays: &[Display], naming: frame::Naming<'_>) -> Vec<Value> {
    key.iter().zip(displays).map(|(part, display)| value::of_display(part, display, naming)).collect()
}

/// Returns the lines of print(args) and print(locals).
fn printed<'a, 'b>(lines: &'a [PrintedLine], mut values: impl Iterator<Item = &'b [u8]>) -> Vec<Printed<'a>> {
    let printed = lines.iter().map(|line| match line {
        PrintedLine::Function(name) => Printed::Function(name),
        PrintedLine::Value { name, type_name, shape, referents } => {
            let value = values.next().unwrap_or_default();
            let records: Vec<&[u8]> = values.by_ref().take(*referents).collect();
            let value = value::of_shape(value, &records, shape);
            Printed::Value(Member { type_name: type_name.clone(), name: name.clone(), value })
        }
        PrintedLine::Missing { name, type_name, why } => Printed::Missing { name, type_name, why },
    });
    printed.collect()
}

/// Returns the arguments of a format, without those for widths and precisions.
fn typed<'a>(
    format: &Format,
    mut arguments: impl Iterator<Item = Argument<'a>>,
    naming: frame::Naming<'_>,
) -> Vec<Value> {
    let mut all = Vec::new();
    for piece in &format.pieces {
        let FormatPiece::Conversion(conversion) = piece else { continue };
        if conversion.letter == '%' {
            continue;
        }
        for count in [conversion.width, conversion.precision] {
            if count == Count::Argument {
                arguments.next();
            }
        }
        if !conversion.aggregation
            && let Some(argument) = arguments.next()
        {
            all.push(value::of_argument(argument, conversion, naming));
        }
    }
    all
}
