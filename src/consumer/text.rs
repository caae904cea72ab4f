//! consumer/text.rs: values and rows of aggregations as text, in the format of dtrace(1).

use super::aggregate::Row;
use super::frame::{self, First, Naming, Source};
use super::output::bytes::Style;
use super::output::{Text, bytes, quantize, stack};
use super::printf::{self, Argument, Context, Of};
use super::symbols::Symbols;
use crate::options::{Options, key};
use kinst_dif::shape;
use kinst_dif::{Action, ActionKind, Conversion, Display, Format, FormatPiece, Statement, StatementKind};

/// The widths of a string in trace(), and of a string in a key.
pub(super) const TRACE_WIDTH: usize = 33;
pub(super) const KEY_WIDTH: usize = 50;

pub(super) fn naming<'a>(
    symbols: &'a dyn Symbols,
    options: &Options,
    first: &'a dyn Fn(u64) -> First,
) -> Naming<'a> {
    let source = Source { inlined: !options.flag(key::NOINLINE), lines: options.flag(key::STACKLINES) };
    Naming { symbols, indent: options.number(key::STACKINDENT) as usize, first, source }
}

/// Whether the statement writes to the output, or might.
pub(super) fn shows(statement: &Statement) -> bool {
    use StatementKind as Kind;
    let silent = matches!(
        statement.kind,
        Kind::Silent | Kind::Thread | Kind::Exit | Kind::Clear(_) | Kind::Trunc { .. }
    );
    !silent && !matches!(statement.kind, Kind::Normalize(_) | Kind::Denormalize(_) | Kind::Setopt)
}

/// Whether the output of the statement begins with a line break.
pub(super) fn begins_a_line(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Stack | StatementKind::Ustack | StatementKind::Printa { format: None, .. } => true,
        StatementKind::Printf(format) => {
            matches!(format.pieces.first(), Some(FormatPiece::Text(text)) if text.starts_with(b"\n"))
        }
        StatementKind::Silent
        | StatementKind::Trace(_)
        | StatementKind::Print { .. }
        | StatementKind::PrintAll(_)
        | StatementKind::System(_)
        | StatementKind::Freopen(_)
        | StatementKind::Printa { format: Some(_), .. }
        | StatementKind::Sym(_)
        | StatementKind::Tracemem
        | StatementKind::Printm
        | StatementKind::Exit
        | StatementKind::Clear(_)
        | StatementKind::Trunc { .. }
        | StatementKind::Normalize(_)
        | StatementKind::Denormalize(_)
        | StatementKind::Setopt
        | StatementKind::Ftruncate
        | StatementKind::Thread => false,
    }
}

/// Formats a key on one line.
pub(super) fn one_line(row: &Row<'_>, keys: &[Display], naming: Naming<'_>) -> String {
    let mut text = Text::new();
    for (part, display) in row.key.iter().zip(keys) {
        text.str(" ");
        show(&mut text, part, display, 0, Style { quiet: true, ..Style::default() }, naming);
    }
    String::from_utf8_lossy(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prints aggpack: a line for each key of one aggregation of distributions, with the same buckets in the same columns.
/// Returns false for any other rows.
pub(super) fn print_packed(
    out: &mut Text,
    rows: &[Row<'_>],
    keys: &[Display],
    (zoom, marks): (bool, quantize::Marks),
    naming: Naming<'_>,
) -> bool {
    const LEAST: usize = 16;
    let mut lines = Vec::new();
    for row in rows {
        let [value] = &row.values[..] else { return false };
        let Some(packed) = value.packed() else { return false };
        lines.push((one_line(row, keys, naming), packed, quantize::Scale { normal: value.normal, zoom }));
    }
    let ranges = lines.iter().filter_map(|(_, packed, _)| packed.occupied());
    let Some(shown) = ranges.reduce(|a, b| *a.start().min(b.start())..=*a.end().max(b.end())) else {
        return false;
    };
    let width = if keys.is_empty() { 0 } else { LEAST };
    let width = lines.iter().map(|(key, ..)| key.chars().count()).fold(width, usize::max);
    out.put(format_args!("\n{:>width$} ", if keys.is_empty() { "" } else { "key" }));
    quantize::packed_heading(out, shown.clone().count());
    for (key, packed, scale) in lines {
        out.put(format_args!("{key:>width$} "));
        packed.row(out, &shown, scale, marks);
        out.str("\n");
    }
    true
}

/// Prints agghist: a bar for each key of one aggregation whose values are numbers. Returns false for any other rows.
pub(super) fn print_bars(
    out: &mut Text,
    rows: &[Row<'_>],
    keys: &[Display],
    zoom: bool,
    naming: Naming<'_>,
) -> bool {
    let mut bars = Vec::new();
    let mut normal = 1;
    for row in rows {
        let [value] = &row.values[..] else { return false };
        let Some(number) = value.number() else { return false };
        normal = value.normal;
        let key = one_line(row, keys, naming);
        bars.push((key, i64::try_from(number * i128::from(normal)).unwrap_or(i64::MAX)));
    }
    if keys.is_empty() || bars.is_empty() {
        return false;
    }
    quantize::by_key(out, &bars, quantize::Scale { normal, zoom });
    true
}

/// Prints one line of printa() with a format: the keys in order, and the values in order for `%@`.
pub(super) fn print_row(
    out: &mut Text,
    format: &Format,
    row: &Row<'_>,
    keys: &[Display],
    naming: Naming<'_>,
    graphs: quantize::Style,
) {
    let arguments = row.key.iter().zip(keys).map(|(part, display)| Argument { bytes: part, of: of(display) });
    let mut values = row.values.iter().cycle();
    let mut value = |out: &mut Text, conversion: &Conversion| {
        let Some(shown) = values.next() else { return };
        match shown.number() {
            // In bases other than ten, a negative value is shown as its 64 bits.
            Some(number) if number < 0 && !matches!(conversion.letter, 'd' | 'i') => {
                out.str(&printf::format_integer(i128::from(number as u64), conversion));
            }
            Some(number) => out.str(&printf::format_integer(number, conversion)),
            None => shown.graph(out, graphs),
        }
    };
    let mut context = Context { naming, value: Some(&mut value) };
    printf::render(out, format, arguments, &mut context);
}

/// Prints a value without a format.
pub(super) fn show(
    out: &mut Text,
    value: &[u8],
    display: &Display,
    width: usize,
    style: Style,
    naming: Naming<'_>,
) {
    let symbols = naming.symbols;
    let word = || frame::words(value).next().unwrap_or(0);
    let pair = || frame::user_pair(value);
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
        Display::Float => float(out, value, style),
        Display::String => bytes::string(out, value, width, style),
        Display::Bytes => bytes::array(out, value, width, style),
        Display::Stack => stack::kernel(out, value, naming),
        Display::Ustack => stack::user(out, value, naming),
        Display::Address { called } => {
            let name = match called {
                true => frame::caller(word(), naming).to_string(),
                false => frame::address(word(), symbols).to_string(),
            };
            match style.quiet {
                true => out.str(&name),
                false => out.put(format_args!("  {name:<width$}")),
            }
        }
        Display::Sym { called } => named(out, frame::function(word(), *called, naming).to_string()),
        Display::Mod => named(out, frame::module(word(), symbols)),
        Display::Usym => {
            let (pid, address) = pair();
            named(out, frame::user_function(pid, address, symbols).to_string());
        }
        Display::Uaddr => {
            let (pid, address) = pair();
            named(out, frame::user_address(pid, address, symbols).to_string());
        }
        Display::Umod => {
            let (pid, address) = pair();
            named(out, frame::user_module(pid, address, symbols));
        }
    }
}

fn float(out: &mut Text, value: &[u8], style: Style) {
    let text = match value.len() {
        4 => format!("{:?}", shape::single(value)),
        _ => format!("{:?}", shape::float(value, 8)),
    };
    match style.quiet {
        true => out.str(&text),
        false => out.put(format_args!(" {text:>16}")),
    }
}

/// Returns the bytes of tracemem(), limited by the dynamic size if there is one.
pub(super) fn traced_memory<'a>(values: impl Iterator<Item = (&'a Action, &'a [u8])>) -> Vec<u8> {
    let mut most = usize::MAX;
    let mut memory = Vec::new();
    for (action, value) in values {
        match action.kind {
            ActionKind::TracememDyn => {
                most = usize::try_from(printf::integer(value, true, 0)).unwrap_or(0);
            }
            _ => memory.extend(&value[..value.len().min(most)]),
        }
    }
    memory
}

/// Returns the bytes of printm(), which follow their length.
pub(super) fn printed_memory(value: &[u8]) -> &[u8] {
    let Some((length, value)) = value.split_first_chunk::<8>() else { return &[] };
    let length = usize::try_from(u64::from_ne_bytes(*length)).unwrap_or(usize::MAX);
    &value[..value.len().min(length)]
}

pub(super) fn argument<'a>((action, bytes): (&'a Action, &'a [u8])) -> Argument<'a> {
    use ActionKind::*;
    let of = if matches!(action.kind, Ustack | Usym | Umod | Uaddr) { Of::User } else { Of::Kernel };
    Argument { bytes, of }
}

/// Returns the meaning of a key component as an argument of a format.
pub(super) fn of(display: &Display) -> Of {
    match display {
        Display::Ustack | Display::Usym | Display::Umod | Display::Uaddr => Of::User,
        Display::Sym { called } => Of::Function { called: *called },
        Display::Int { .. }
        | Display::Float
        | Display::String
        | Display::Bytes
        | Display::Stack
        | Display::Address { .. }
        | Display::Mod => Of::Kernel,
    }
}
