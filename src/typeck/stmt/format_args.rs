//! typeck/stmt/format_args.rs: checks of formats against their arguments: printf(), system(), freopen(), printa().

use kinst_base::diag::tags;
use std::ops::Range;

use super::agg::key_type;
use super::printf::{self, Parsed, Piece, SizePrefix};
use crate::parser::{self, ast};
use crate::typeck::declare::decl::string_constant;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::typed::{
    AggregatingFunction, AggregationId, FormatAction, Key, KeyType, StmtKind, SymbolAction,
    written_aggregation,
};
use kinst_base::source::Span;
use kinst_dif::{Conversion, Count, Format};
use kinst_types::Type;
use kinst_types::intrinsic::{LONG, ULONG};

/// The name that means standard output in the reference implementations, and so cannot be a file.
const FREOPEN_SENTINEL: &[u8] = b".";

/// The argument of a conversion.
enum Argument<'a> {
    Value(&'a Type),
    Stack,
    KernelSymbol,
    UserSymbol,
}

impl Checker<'_> {
    pub(in crate::typeck) fn check_printf(
        &mut self,
        action: FormatAction,
        name: &'static str,
        args: &[ast::Expr],
        span: Span,
    ) -> Result<StmtKind> {
        let Some((format, rest)) = args.split_first() else {
            return Err(error::Call::ArgumentCount {
                function: name.to_string(),
                found: 0,
                least: 1,
                most: None,
                span,
            }
            .into());
        };
        let mut parsed = self.parse_format(action, name, format)?;
        let mut values = Vec::new();
        for arg in rest {
            let value = match self.check_left_by_action(arg)? {
                Some(value) => value,
                None => Key::Value(self.check_expr(arg)?),
            };
            values.push((value, arg.span));
        }
        let mut given = values.iter();
        for (piece, at) in &mut parsed.pieces {
            let Piece::Conversion { conversion, size } = piece else { continue };
            let place = within(format, at);
            if conversion.aggregation {
                return Err(error::Format::AggregationConversion { action: name, span: place }.into());
            }
            for (count, what) in [(conversion.width, "width"), (conversion.precision, "precision")] {
                if count == Count::Argument {
                    let Some((value, span_of)) = given.next() else {
                        return Err(error::Format::CountMissing { what, span: place, call: span }.into());
                    };
                    let found = type_of(value);
                    if !found.is_integer() {
                        return Err(error::Format::CountType { what, found, span: *span_of }.into());
                    }
                }
            }
            let letter = conversion.letter;
            let conversion_text = || written(format, at);
            let Some((value, span)) = given.next() else {
                let conversion = conversion_text();
                return Err(error::Format::Missing { conversion, span: place, call: span }.into());
            };
            let key = key_type(value);
            if !self.fit(conversion, *size, &argument(&key)) {
                let (found, span) = (type_of(value), *span);
                let expected = expected(letter, *size);
                let left = match key {
                    KeyType::Value(_) => None,
                    KeyType::Stack(_) => Some("a stack"),
                    KeyType::Symbol(_) => Some("a symbol"),
                };
                if let Some(found) = left {
                    let conversion = conversion_text();
                    return Err(
                        error::Format::Left { conversion, expected, found, span, format: place }.into()
                    );
                }
                let conversion = conversion_text();
                return Err(error::Format::Type { conversion, expected, found, span, format: place }.into());
            }
        }
        if let Some((_, span)) = given.next() {
            return Err(error::Format::Extra { action: name, span: *span, format: format.span }.into());
        }
        let args = values.into_iter().map(|(value, _)| value).collect();
        Ok(StmtKind::Printf { action, format: parsed.into_format(), args })
    }

    fn parse_format(&self, action: FormatAction, name: &'static str, format: &ast::Expr) -> Result<Parsed> {
        let Some(text) = string_constant(format) else {
            return Err(error::Format::Constant { action: name, span: format.span }.into());
        };
        // freopen("") restores standard output.
        if text.is_empty() && action != FormatAction::Freopen {
            return Err(error::Format::Empty { action: name, span: format.span }.into());
        }
        if action == FormatAction::Freopen && text == FREOPEN_SENTINEL {
            return Err(error::Format::FreopenName { span: format.span }.into());
        }
        printf::parse(text)
            .map_err(|bad| error::Format::Syntax { title: bad.title, span: within(format, &bad.at) }.into())
    }

    pub(in crate::typeck) fn check_printa(&mut self, args: &[ast::Expr], span: Span) -> Result<StmtKind> {
        self.require_count("printa", args.len(), 1, None, span)?;
        let format = args.first().filter(|arg| string_constant(arg).is_some());
        let rest = if format.is_some() { &args[1..] } else { args };
        if rest.is_empty() {
            return Err(error::Action::PrintaCount { span }.into());
        }
        let mut aggregations: Vec<AggregationId> = Vec::new();
        for arg in rest {
            let id = self.check_printed_aggregation(arg, aggregations.first().copied(), rest[0].span)?;
            aggregations.push(id);
        }
        let format = match format {
            None => None,
            Some(format) => Some(self.check_printa_format(format, &aggregations, span)?),
        };
        Ok(StmtKind::Printa { format, aggregations })
    }

    fn check_printed_aggregation(
        &self,
        arg: &ast::Expr,
        first: Option<AggregationId>,
        first_span: Span,
    ) -> Result<AggregationId> {
        let ast::ExprKind::Aggregation(name) = &arg.kind else {
            let tag = tags::PRINTA_AGGARG;
            return Err(error::Action::NotAggregation { tag, name: "printa", span: arg.span }.into());
        };
        let Some(id) = self.names.find_aggregation(name) else {
            return Err(error::Action::AggregationUndefined {
                tag: tags::PRINTA_AGGBAD,
                aggregation: written_aggregation(name),
                similar: self.names.similar_aggregation(name),
                span: arg.span,
            }
            .into());
        };
        let Some(first) = first else { return Ok(id) };
        let (a, b) = (self.names.aggregation(first), self.names.aggregation(id));
        let same = |a: &KeyType, b: &KeyType| match (a, b) {
            (KeyType::Value(a), KeyType::Value(b)) => a.same(b),
            _ => a == b,
        };
        let (tag, title) = if a.keys.len() != b.keys.len() {
            (tags::PRINTA_AGGKEY, "have different numbers of keys")
        } else if !a.keys.iter().zip(&b.keys).all(|(a, b)| same(a, b)) {
            (tags::PRINTA_AGGPROTO, "have keys of different types")
        } else {
            return Ok(id);
        };
        let names = (a.shown(), b.shown());
        Err(error::Action::PrintaKeys { tag, title, names, span: arg.span, first: first_span }.into())
    }

    /// The arguments are the elements of the key; `%@` takes the values of the aggregations in turn.
    fn check_printa_format(
        &self,
        format: &ast::Expr,
        aggregations: &[AggregationId],
        span: Span,
    ) -> Result<Format> {
        let mut parsed = self.parse_format(FormatAction::Printf, "printa", format)?;
        let mut keys =
            aggregations.first().map(|id| self.names.aggregation(*id)).into_iter().flat_map(|a| &a.keys);
        let mut printed = 0;
        for (piece, at) in &mut parsed.pieces {
            let Piece::Conversion { conversion, size } = piece else { continue };
            let (letter, place) = (conversion.letter, within(format, at));
            for (count, what) in [(conversion.width, "width"), (conversion.precision, "precision")] {
                if count != Count::Argument {
                    continue;
                }
                let Some(key) = keys.next() else {
                    return Err(error::Format::CountMissing { what, span: place, call: span }.into());
                };
                if !matches!(key, KeyType::Value(ty) if ty.is_integer()) {
                    return Err(error::Format::CountKey { what, span: place }.into());
                }
            }
            let fits = if conversion.aggregation {
                let aggregation = aggregations[printed.min(aggregations.len() - 1)];
                printed += 1;
                let counted = self.names.aggregation(aggregation).function == AggregatingFunction::Count;
                let ty = if counted { ULONG } else { LONG };
                self.fit(conversion, *size, &Argument::Value(&ty))
            } else {
                let Some(key) = keys.next() else {
                    let conversion = written(format, at);
                    return Err(error::Format::Missing { conversion, span: place, call: span }.into());
                };
                self.fit(conversion, *size, &argument(key))
            };
            if !fits {
                let expected = expected(letter, *size);
                let conversion = written(format, at);
                return Err(error::Format::KeyType { conversion, expected, span: place }.into());
            }
        }
        Ok(parsed.into_format())
    }

    /// Whether the conversion accepts such an argument. If so, sets the conversion to read it.
    fn fit(&self, conversion: &mut Conversion, size: SizePrefix, argument: &Argument<'_>) -> bool {
        let ty = match (argument, conversion.letter) {
            (Argument::Stack, letter) => return letter == 'k',
            (Argument::KernelSymbol, letter) => return letter == 'a',
            (Argument::UserSymbol, letter) => return letter == 'A',
            (Argument::Value(ty), _) => *ty,
        };
        let bytes = self.layout.size(ty).unwrap_or(0);
        let signed = ty.is_signed();
        conversion.signed = signed;
        let letter = conversion.letter;
        match letter {
            'a' | 'A' | 'p' => ty.is_integer() || matches!(ty.resolved(), Type::Pointer { .. }),
            'c' | 's' if matches!(size, SizePrefix::Long | SizePrefix::Wide) => {
                // wint_t and wchar_t are int.
                conversion.size = 4;
                match ty.resolved() {
                    Type::Array { of, .. } => {
                        letter == 's' && of.is_integer() && self.layout.size(of) == Some(4)
                    }
                    ty => letter == 'c' && ty.is_integer() && bytes <= 4,
                }
            }
            'c' | 'C' => ty.is_integer() && bytes <= 4,
            'd' | 'i' | 'o' | 'u' | 'x' | 'X' => {
                let wanted = match size {
                    SizePrefix::None => 0,
                    SizePrefix::Short => 2,
                    SizePrefix::Long | SizePrefix::LongLong => 8,
                    SizePrefix::LongDouble | SizePrefix::Wide => return false,
                };
                conversion.size = wanted;
                if wanted == 0 {
                    return ty.is_integer();
                }
                let either = matches!(letter, 'x' | 'X') || size == SizePrefix::LongLong;
                let sign = either || signed == matches!(letter, 'd' | 'i');
                ty.is_integer() && bytes == u64::from(wanted) && sign
            }
            'e' | 'E' | 'f' | 'g' | 'G' => matches!(ty.resolved(), Type::Float { .. }),
            'P' => ty.is_integer() && bytes == 2 && !signed,
            'I' => ty.is_string_compatible(),
            's' | 'S' => match ty.resolved() {
                Type::Array { .. } => ty.is_string_compatible(),
                ty => ty.is_string(),
            },
            'T' | 'Y' => ty.is_integer() && bytes == 8,
            _ => false,
        }
    }
}

/// Returns the type for a message: the result of an action has a type that programs cannot name.
fn type_of(value: &Key) -> Type {
    match value {
        Key::Value(value) => value.ty.clone(),
        _ => Type::Dynamic,
    }
}

fn argument(key: &KeyType) -> Argument<'_> {
    match key {
        KeyType::Value(ty) => Argument::Value(ty),
        KeyType::Stack(_) => Argument::Stack,
        KeyType::Symbol(SymbolAction::Sym { .. } | SymbolAction::Mod) => Argument::KernelSymbol,
        KeyType::Symbol(_) => Argument::UserSymbol,
    }
}

/// Describes the argument that a conversion requires.
fn expected(letter: char, size: SizePrefix) -> &'static str {
    match (letter, size) {
        ('d' | 'i', SizePrefix::Short) => "a short",
        ('o' | 'u', SizePrefix::Short) => "an unsigned short",
        ('x' | 'X', SizePrefix::Short) => "a short, signed or not",
        ('d' | 'i', SizePrefix::Long) => "a long",
        ('o' | 'u', SizePrefix::Long) => "an unsigned long",
        ('x' | 'X', SizePrefix::Long) => "a long, signed or not",
        ('d' | 'i' | 'o' | 'u' | 'x' | 'X', SizePrefix::LongLong) => "a long long, int64_t or uint64_t",
        ('d' | 'i' | 'o' | 'u' | 'x' | 'X', _) => "an integer",
        ('a' | 'A' | 'p', _) => "a pointer or an integer",
        ('s', SizePrefix::Long | SizePrefix::Wide) => "an array of wchar_t (int)",
        ('c' | 'C', _) => "an integer of at most 4 bytes",
        ('k', _) => "a stack",
        ('P', _) => "a uint16_t",
        ('I' | 's' | 'S', _) => "a string",
        ('T' | 'Y', _) => "a 64-bit integer",
        _ => "a floating-point number",
    }
}

/// Returns the span in the program of a byte range of a format.
fn within(format: &ast::Expr, at: &Range<usize>) -> Span {
    let ast::ExprKind::Str { text, .. } = &format.kind else { return format.span };
    // An argument such as $$1 has no text in the program.
    let whole = format.span.end - format.span.start == text.len() as u32;
    match (raw_offset(text, at.start), raw_offset(text, at.end)) {
        (Some(start), Some(end)) if whole => Span {
            start: format.span.start + start as u32,
            end: format.span.start + end as u32,
            ..format.span
        },
        _ => format.span,
    }
}

/// Returns the conversion as written: `%-5ld`.
fn written(format: &ast::Expr, at: &Range<usize>) -> String {
    let bytes = string_constant(format).and_then(|text| text.get(at.clone()));
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// Returns the offset in a constant as written, with quotes and escapes, of a byte of its value.
fn raw_offset(text: &str, wanted: usize) -> Option<usize> {
    let (mut raw, mut value) = (1, 0);
    while value < wanted {
        let (length, bytes) = parser::first_value(text.as_bytes().get(raw..)?);
        raw += length;
        value += bytes.as_slice().len();
    }
    (value == wanted && raw < text.len()).then_some(raw)
}
