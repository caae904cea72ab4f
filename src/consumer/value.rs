//! consumer/value.rs: recorded values as typed data, for output formats other than text.

use super::frame::{self, Frame, Naming};
use super::output::bytes::until_nul;
use super::printf::{self, Argument, Of};
use kinst_dif::shape::{self, Part, Referent, Referring, Shape};
use kinst_dif::{Conversion, Display};

/// A recorded value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer, signed or not.
    Int(i128),
    /// An address that has no name.
    Pointer(u64),
    /// A floating-point number, from printf() with `%f`, `%e` or `%g`.
    Float(f64),
    /// A string up to its NUL; it need not be UTF-8.
    Text(Vec<u8>),
    /// Raw bytes: a struct from trace(), or memory from tracemem().
    Bytes(Vec<u8>),
    /// Nanoseconds since 1970.
    Time(i64),
    /// An address with its name, from sym() or `%a`.
    Address(Frame),
    /// The kernel module of an address, or the file for an address of a process.
    Module(String),
    /// The innermost frame first.
    Stack(Vec<Frame>),
    /// The value of a C enum.
    Enum {
        /// `None` if no enumerator has the value.
        name: Option<String>,
        /// The integer.
        value: i128,
    },
    /// The recorded elements, which may be fewer than the type has.
    Array(Vec<Value>),
    /// A struct or union.
    Record(Vec<Member>),
}

/// A member of a struct or union.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The type as written in C.
    pub type_name: String,
    /// The name; empty for an anonymous member.
    pub name: String,
    /// The value; for a bit field, an integer or an enumerator.
    pub value: Value,
}

/// Returns the value of trace(), or of a key component.
pub fn of_display(bytes: &[u8], display: &Display, naming: Naming<'_>) -> Value {
    let symbols = naming.symbols;
    let word = || frame::words(bytes).next().unwrap_or(0);
    let pair = || frame::user_pair(bytes);
    match display {
        Display::Int { signed } => Value::Int(printf::integer(bytes, *signed, 0)),
        Display::Float => Value::Float(printf::real(bytes)),
        Display::String => Value::Text(until_nul(bytes).to_vec()),
        Display::Bytes => Value::Bytes(bytes.to_vec()),
        Display::Stack => Value::Stack(frame::kernel_stack(bytes, naming)),
        Display::Ustack => Value::Stack(frame::user_stack(bytes, naming)),
        Display::Address { called: true } => Value::Address(frame::caller(word(), naming)),
        Display::Address { called: false } => Value::Address(frame::address(word(), symbols)),
        Display::Sym { called } => Value::Address(frame::function(word(), *called, naming)),
        Display::Mod => Value::Module(frame::module(word(), symbols)),
        Display::Usym => {
            let (pid, address) = pair();
            Value::Address(frame::user_function(pid, address, symbols))
        }
        Display::Uaddr => {
            let (pid, address) = pair();
            Value::Address(frame::user_address(pid, address, symbols))
        }
        Display::Umod => {
            let (pid, address) = pair();
            Value::Module(frame::user_module(pid, address, symbols))
        }
    }
}

/// Returns the value of an argument of printf(), or of printa() with a format.
pub fn of_argument(argument: Argument<'_>, conversion: &Conversion, naming: Naming<'_>) -> Value {
    let bytes = argument.bytes;
    let word = || printf::integer(bytes, false, 0) as u64;
    match conversion.letter {
        'p' => Value::Pointer(printf::whole(conversion, bytes) as u64),
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' => Value::Int(printf::whole(conversion, bytes)),
        'c' | 's' if conversion.size == 4 => Value::Text(printf::wide(bytes)),
        'c' | 'C' => Value::Text(vec![word() as u8]),
        'a' => Value::Address(argument.place(naming)),
        'A' => Value::Address(argument.user_place(naming)),
        'k' if argument.of == Of::User => Value::Stack(frame::user_stack(bytes, naming)),
        'k' => Value::Stack(frame::kernel_stack(bytes, naming)),
        'Y' | 'T' => Value::Time(word() as i64),
        'P' => Value::Int(i128::from(word() as u16)),
        'e' | 'E' | 'f' | 'g' | 'G' => Value::Float(printf::real(bytes)),
        _ => Value::Text(until_nul(bytes).to_vec()),
    }
}

/// Returns the value of print() from its record, and those with the memory that it refers to.
pub fn of_records<'a>(mut records: impl Iterator<Item = &'a [u8]>, shape: &Shape) -> Value {
    let value = records.next().unwrap_or_default();
    of_shape(value, &records.collect::<Vec<_>>(), shape)
}

/// Returns the value of print(); the records have the memory that it refers to.
pub fn of_shape(bytes: &[u8], records: &[&[u8]], shape: &Shape) -> Value {
    match shape {
        Shape::Number { bytes: size } => {
            let number = shape::whole(bytes, *size);
            i128::try_from(number).map_or_else(|_| Value::Text(number.to_string().into()), Value::Int)
        }
        Shape::Float { bytes: 16 } => match shape::extended(bytes) {
            Ok(number) => Value::Float(number),
            Err(number) => Value::Text(number.to_string().into()),
        },
        Shape::Float { bytes: size } => Value::Float(shape::float(bytes, *size)),
        Shape::Pointer { bytes: size } => Value::Pointer(shape::number(bytes, *size)),
        Shape::Enum { bytes: size, values } => {
            let raw = shape::number(bytes, *size);
            enumerator(shape::signed(raw, size.saturating_mul(8)), raw, values)
        }
        Shape::Text { bytes: size } => Value::Text(until_nul(shape::field(bytes, 0, *size)).to_vec()),
        Shape::Array { of, stride, len } => {
            let elements = (0..*len).map(|index| shape::field(bytes, index.saturating_mul(*stride), *stride));
            // Elements past the end of the bytes were not recorded.
            let there = |bytes: &&[u8]| !bytes.is_empty() && shape::is_in(bytes, of);
            Value::Array(elements.take_while(there).map(|b| of_shape(b, records, of)).collect())
        }
        Shape::Record(parts) => {
            let there = parts.iter().filter(|part| part.exists(bytes) && part.is_in(bytes));
            Value::Record(there.map(|part| member(bytes, records, part)).collect())
        }
        Shape::Bytes { bytes: size } => Value::Bytes(shape::field(bytes, 0, *size).to_vec()),
        // Without a name, it adds no members.
        Shape::Unplaced => Value::Record(Vec::new()),
        Shape::Referring(referring) => of_referent(bytes, records, referring),
    }
}

/// Returns a value that refers to memory of the process: a text, or a record with its contents and what else is known.
fn of_referent(bytes: &[u8], records: &[&[u8]], referring: &Referring) -> Value {
    let part = |name: &str, value| Member { type_name: String::new(), name: name.to_owned(), value };
    match referring.referent(records) {
        None => of_shape(bytes, records, &referring.plain),
        Some(Referent::Text { text, length }) if length == text.len() as u64 => Value::Text(text.to_vec()),
        Some(Referent::Text { text, length }) => Value::Record(vec![
            part("length", Value::Int(length.into())),
            part("text", Value::Text(text.to_vec())),
        ]),
        Some(Referent::Elements { elements, length }) => {
            let each = elements.into_iter().map(|(element, shape)| of_shape(element, records, shape));
            let elements = part("elements", Value::Array(each.collect()));
            Value::Record(vec![part("length", Value::Int(length.into())), elements])
        }
        Some(Referent::Value { value, shape, .. }) => {
            let address = match &referring.plain {
                Shape::Pointer { bytes: size } => Some(Value::Pointer(shape::number(bytes, *size))),
                _ => None,
            };
            let address = address.map(|address| part("address", address));
            let value = part("value", of_shape(value, records, shape));
            Value::Record(address.into_iter().chain([value]).collect())
        }
    }
}

fn member(bytes: &[u8], records: &[&[u8]], part: &Part) -> Member {
    let rest = shape::field(bytes, part.offset, u64::MAX);
    let value = match (part.bits, &part.shape) {
        (None, shape) => of_shape(rest, records, shape),
        (Some((shift, bits)), Shape::Enum { values, .. }) => {
            let raw = shape::bit_field(rest, shift, bits);
            enumerator(raw as i64, raw, values)
        }
        (Some((shift, bits)), _) => Value::Int(shape::bit_field(rest, shift, bits).into()),
    };
    Member { type_name: part.type_name.clone(), name: part.name.clone(), value }
}

fn enumerator(value: i64, raw: u64, values: &[(String, i64)]) -> Value {
    let name = shape::enumerator(value, raw, values).map(str::to_owned);
    Value::Enum { name, value: value.into() }
}
