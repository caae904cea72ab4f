//! consumer/output/shape.rs: the output of print(): a value with its members, like a C initialiser.

use super::bytes;
use super::escape::{escaped, escaped_utf8};
use super::text::Text;
use kinst_dif::PrintedLine;
use kinst_dif::shape::{
    Part, Referent, Referring, Shape, bit_field, enumerator, extended, field, float, is_in, number, signed,
    single, whole,
};

/// The columns per level of indentation.
const INDENT: usize = 4;

/// Prints the value; the caller has printed its type. The records have the memory that it refers to.
pub(crate) fn value(out: &mut Text, value: &[u8], records: &[&[u8]], shape: &Shape) {
    show(out, value, shape, At { records, depth: 0 });
}

/// Prints print(args) or print(locals): a line for each variable, with its type and name.
pub(crate) fn all<'a>(out: &mut Text, lines: &[PrintedLine], mut values: impl Iterator<Item = &'a [u8]>) {
    out.str("{\n");
    for line in lines {
        match line {
            PrintedLine::Function(function) => {
                indent(out, 1);
                out.put(format_args!("{function}():"));
            }
            PrintedLine::Value { name, type_name, shape, referents } => {
                indent(out, 1);
                out.put(format_args!("{type_name} {name} = "));
                let value = values.next().unwrap_or_default();
                let records: Vec<&[u8]> = values.by_ref().take(*referents).collect();
                show(out, value, shape, At { records: &records, depth: 1 });
            }
            PrintedLine::Missing { name, type_name, why } => {
                indent(out, 1);
                out.put(format_args!("{type_name} {name} is not available: {why}"));
            }
        }
        out.str("\n");
    }
    out.str("}");
}

/// The records of the printed value, and the level of indentation.
#[derive(Clone, Copy)]
struct At<'a> {
    records: &'a [&'a [u8]],
    depth: usize,
}

impl At<'_> {
    fn inside(self) -> Self {
        At { depth: self.depth + 1, ..self }
    }
}

fn show(out: &mut Text, value: &[u8], shape: &Shape, at: At<'_>) {
    if !is_in(value, shape) {
        return out.str("...");
    }
    match shape {
        Shape::Number { bytes } | Shape::Pointer { bytes } => {
            out.put(format_args!("{:#x}", whole(value, *bytes)))
        }
        // The shortest digits that are read as the same number of this size.
        Shape::Float { bytes: 4 } => out.put(format_args!("{:?}", single(value))),
        Shape::Float { bytes: 16 } => match extended(value) {
            Ok(number) => out.put(format_args!("{number:?}")),
            Err(number) => out.put(format_args!("{number}")),
        },
        Shape::Float { bytes } => out.put(format_args!("{:?}", float(value, *bytes))),
        Shape::Enum { bytes, values } => {
            let raw = number(value, *bytes);
            named(out, signed(raw, bytes.saturating_mul(8)), raw, values);
        }
        Shape::Text { bytes } => {
            out.str("\"");
            out.raw(&escaped(bytes::until_nul(field(value, 0, *bytes))));
            out.str("\"");
        }
        Shape::Array { of, stride, len } => array(out, value, of, (*stride, *len), at),
        Shape::Record(parts) => record(out, value, parts, at),
        Shape::Bytes { bytes } => {
            out.str("[");
            field(value, 0, *bytes).iter().for_each(|byte| out.put(format_args!(" {byte:#x}")));
            out.str(" ]");
        }
        Shape::Unplaced => out.str("not shown"),
        Shape::Referring(referring) => refers(out, value, referring, at),
    }
}

/// Prints a value that refers to memory of the process, by the contents of that memory.
fn refers(out: &mut Text, value: &[u8], referring: &Referring, at: At<'_>) {
    match referring.referent(at.records) {
        None => show(out, value, &referring.plain, at),
        Some(Referent::Text { text, length }) => {
            out.str("\"");
            out.raw(&escaped_utf8(text));
            out.str("\"");
            if length > text.len() as u64 {
                out.put(format_args!("... ({length} bytes)"));
            }
        }
        Some(Referent::Elements { elements, length }) => {
            out.put(format_args!("{length} element{} ", if length == 1 { "" } else { "s" }));
            let more = length > elements.len() as u64;
            list(out, elements.into_iter(), more, at);
        }
        Some(Referent::Value { value: referent, type_name, shape }) => {
            match &referring.plain {
                Shape::Pointer { .. } => {
                    show(out, value, &referring.plain, at);
                    out.str(" -> ");
                }
                _ => out.put(format_args!("-> {type_name} ")),
            }
            show(out, referent, shape, at);
        }
    }
}

fn record(out: &mut Text, value: &[u8], parts: &[Part], at: At<'_>) {
    out.str("{\n");
    let there = |part: &&Part| part.exists(value) && part.is_in(value);
    for part in parts.iter().filter(there) {
        indent(out, at.depth + 1);
        out.put(format_args!("{} {}", part.type_name, part.name));
        let rest = field(value, part.offset, u64::MAX);
        match part.bits {
            None => {
                out.str(" = ");
                show(out, rest, &part.shape, at.inside());
            }
            Some((shift, width)) => {
                out.put(format_args!(" : {width} = "));
                bits(out, bit_field(rest, shift, width), &part.shape);
            }
        }
        out.str("\n");
    }
    let missing = parts.iter().filter(|part| part.exists(value) && !part.is_in(value)).count();
    if missing > 0 {
        indent(out, at.depth + 1);
        out.put(format_args!("... {missing} more\n"));
    }
    indent(out, at.depth);
    out.str("}");
}

fn bits(out: &mut Text, raw: u64, shape: &Shape) {
    match shape {
        Shape::Enum { values, .. } => named(out, raw as i64, raw, values),
        _ => out.put(format_args!("{raw:#x}")),
    }
}

fn array(out: &mut Text, value: &[u8], of: &Shape, (stride, len): (u64, u64), at: At<'_>) {
    // Names in kernel structures are often arrays of unsigned char.
    if matches!(of, Shape::Number { bytes: 1 }) && bytes::is_text(field(value, 0, len)) {
        out.put(format_args!("\""));
        out.raw(&escaped(bytes::until_nul(field(value, 0, len))));
        return out.str("\"");
    }
    let element = |index: u64| field(value, index.saturating_mul(stride), stride);
    // The remaining elements are beyond printsize, or were not recorded.
    let there = |index: &u64| !element(*index).is_empty() && is_in(element(*index), of);
    let more = !(0..len).all(|index| there(&index));
    list(out, (0..len).take_while(there).map(|index| (element(index), of)), more, at);
}

/// Prints elements, on one line if they are numbers.
fn list<'a>(out: &mut Text, elements: impl Iterator<Item = (&'a [u8], &'a Shape)>, more: bool, at: At<'_>) {
    let (mut flat, mut first) = (true, true);
    let mut next = |out: &mut Text, shape: Option<&Shape>| {
        flat = shape.map_or(flat, is_flat);
        match flat {
            true => out.str(if first { " " } else { ", " }),
            false => {
                out.str("\n");
                indent(out, at.depth + 1);
            }
        }
        first = false;
        flat
    };
    let mut flat = true;
    out.str("[");
    for (element, shape) in elements {
        flat = next(out, Some(shape));
        show(out, element, shape, at.inside());
    }
    if more {
        flat = next(out, None);
        out.str("...");
    }
    if flat {
        out.str(" ]");
    } else {
        out.str("\n");
        indent(out, at.depth);
        out.str("]");
    }
}

/// Whether a value is shown on one line.
fn is_flat(shape: &Shape) -> bool {
    match shape {
        Shape::Array { .. } | Shape::Record(_) | Shape::Bytes { .. } => false,
        Shape::Referring(referring) => is_flat(&referring.plain),
        Shape::Number { .. }
        | Shape::Float { .. }
        | Shape::Unplaced
        | Shape::Pointer { .. }
        | Shape::Enum { .. }
        | Shape::Text { .. } => true,
    }
}

fn named(out: &mut Text, value: i64, raw: u64, values: &[(String, i64)]) {
    match enumerator(value, raw, values) {
        Some(name) => out.str(name),
        None => out.put(format_args!("{raw:#x}")),
    }
}

fn indent(out: &mut Text, depth: usize) {
    out.put(format_args!("{:1$}", "", depth * INDENT));
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_dif::action::Printm;
    use kinst_dif::shape::Contents;

    fn part(type_name: &str, name: &str, offset: u64, bits: Option<(u32, u32)>, shape: Shape) -> Part {
        Part { type_name: type_name.into(), name: name.into(), offset, bits, shape, variant: None }
    }

    fn rendered(bytes: &[u8], shape: &Shape) -> String {
        let mut out = Text::new();
        value(&mut out, bytes, &[], shape);
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn a_struct_is_shown_member_by_member() {
        let number = |bytes| Shape::Number { bytes };
        let colour = Shape::Enum { bytes: 4, values: vec![("RED".into(), 0), ("NONE".into(), -1)] };
        let inner = Shape::Record(vec![part("short", "s", 0, None, number(2))]);
        let shape = Shape::Record(vec![
            part("int", "a", 0, None, number(4)),
            part("char [4]", "name", 4, None, Shape::Text { bytes: 4 }),
            part("enum colour", "c", 8, None, colour.clone()),
            part("unsigned int", "bits", 12, Some((3, 2)), number(4)),
            part("enum colour", "d", 12, Some((0, 1)), colour),
            part("short [2]", "two", 16, None, Shape::Array { of: Box::new(number(2)), stride: 2, len: 2 }),
            part(
                "struct s [2]",
                "ss",
                16,
                None,
                Shape::Array { of: Box::new(inner.clone()), stride: 2, len: 2 },
            ),
            part("struct s", "one", 18, None, inner),
        ]);
        let bytes = [7, 0, 0, 0, b'a', b'b', 0, b'x', 255, 255, 255, 255, 0b1_0000, 0, 0, 0, 1, 0, 2, 0];
        let expected = "{
    int a = 0x7
    char [4] name = \"ab\"
    enum colour c = NONE
    unsigned int bits : 2 = 0x2
    enum colour d : 1 = RED
    short [2] two = [ 0x1, 0x2 ]
    struct s [2] ss = [
        {
            short s = 0x1
        }
        {
            short s = 0x2
        }
    ]
    struct s one = {
        short s = 0x2
    }
}";
        assert_eq!(rendered(&bytes, &shape), expected);
    }

    #[test]
    fn arrays_of_characters_are_text_where_they_can_only_be_text() {
        let array = |len| Shape::Array { of: Box::new(Shape::Number { bytes: 1 }), stride: 1, len };
        assert_eq!(rendered(b"sshd\0\xfe", &array(6)), "\"sshd\"");
        assert_eq!(rendered(b"ab", &array(2)), "[ 0x61, 0x62 ]");
        assert_eq!(rendered(b"a\0\0", &array(3)), "[ 0x61, 0x0, 0x0 ]");
        assert_eq!(rendered(b"\x01b\0", &array(3)), "[ 0x1, 0x62, 0x0 ]");
        // Kernel memory must not control the terminal.
        assert_eq!(rendered(b"a\x1b[2J\n\0", &Shape::Text { bytes: 7 }), "\"a\\033[2J\\n\"");
    }

    #[test]
    fn what_is_left_out_of_a_large_value_is_no_zero() {
        let long = || Shape::Number { bytes: 8 };
        let array = Shape::Array { of: Box::new(Shape::Number { bytes: 2 }), stride: 2, len: 4 };
        let shape = Shape::Record(vec![
            part("long", "a", 0, None, long()),
            part("short [4]", "b", 8, None, array),
            part("long", "c", 16, None, long()),
            part("int", "d", 24, Some((2, 3)), Shape::Number { bytes: 4 }),
        ]);
        let bytes = [1; 28];
        let first = "{\n    long a = 0x101010101010101\n";
        assert_eq!(rendered(&bytes[..8], &shape), format!("{first}    ... 3 more\n}}"));
        let array = "    short [4] b = [ 0x101, 0x101, ... ]\n";
        assert_eq!(rendered(&bytes[..13], &shape), format!("{first}{array}    ... 2 more\n}}"));
        assert!(!rendered(&bytes, &shape).contains("..."));
        assert_eq!(rendered(&bytes[..4], &long()), "...");
    }

    /// A record of memory: the number of its bytes, and the first of them.
    fn memory(length: u64, bytes: &[u8]) -> Vec<u8> {
        [&length.to_ne_bytes(), bytes].concat()
    }

    fn referring(record: usize, contents: Contents, plain: Shape) -> Shape {
        Shape::Referring(Box::new(Referring { record, contents, plain }))
    }

    #[test]
    fn values_with_the_memory_that_they_refer_to() {
        let pointer = || Shape::Pointer { bytes: 8 };
        let plain = || Shape::Record(vec![part("char *", "data", 0, None, pointer())]);
        let text = |record| referring(record, Contents::Text, plain());
        let number = || Shape::Number { bytes: 2 };
        let elements = Contents::Elements { shapes: vec![number(); 3], stride: 2 };
        let one = Contents::Value { type_name: "short".into(), shape: number() };
        let shape = Shape::Record(vec![
            part("String", "a", 0, None, text(0)),
            part("String", "cut", 0, None, text(1)),
            part("String", "unreadable", 0, None, text(2)),
            part("Vec<short>", "list", 0, None, referring(3, elements.clone(), plain())),
            part("Vec<short>", "long", 0, None, referring(4, elements, plain())),
            part("&short", "one", 0, None, referring(5, one.clone(), pointer())),
            part("unique_ptr<short>", "owner", 0, None, referring(5, one.clone(), plain())),
            part("&short", "null", 0, None, referring(6, one, pointer())),
            part("virtual Base", "", 0, None, Shape::Unplaced),
        ]);
        let records = [
            memory(5, "a\"\u{e9}\n".as_bytes()),
            memory(300, "cut \u{e9}".as_bytes().split_last().unwrap().1),
            memory(Printm::UNREADABLE, &[0; 4]),
            memory(4, &[1, 0, 2, 0]),
            memory(2000, &[1, 0, 2, 0, 3, 0]),
            memory(2, &[7, 0]),
            memory(0, &[0, 0]),
        ];
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let mut out = Text::new();
        value(&mut out, &[0x10, 0, 0, 0, 0, 0, 0, 0], &records, &shape);
        let expected = "{
    String a = \"a\\\"\u{e9}\\n\"
    String cut = \"cut \"... (300 bytes)
    String unreadable = {
        char * data = 0x10
    }
    Vec<short> list = 2 elements [ 0x1, 0x2 ]
    Vec<short> long = 1000 elements [ 0x1, 0x2, 0x3, ... ]
    &short one = 0x10 -> 0x7
    unique_ptr<short> owner = -> short 0x7
    &short null = 0x10
    virtual Base  = not shown
}";
        assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected);
        // Without the records, and with damaged ones.
        for records in [&[][..], &[&[1, 2, 3][..]; 7], &[&[0xfe; 9][..]; 7]] {
            value(&mut Text::new(), &[0x10; 8], records, &shape);
        }
    }

    #[test]
    fn floating_point_numbers() {
        let shown = |bytes: &[u8]| rendered(bytes, &Shape::Float { bytes: bytes.len() as u32 });
        assert_eq!(shown(&0.1f32.to_le_bytes()), "0.1");
        assert_eq!(shown(&(-1.5e300f64).to_le_bytes()), "-1.5e300");
        let extended = |mantissa: u64, top: u16| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&mantissa.to_le_bytes());
            bytes[8..10].copy_from_slice(&top.to_le_bytes());
            shown(&bytes)
        };
        assert_eq!(extended(0, 0), "0.0");
        assert_eq!(extended(0xa000_0000_0000_0000, 0x4000), "2.5");
        assert_eq!(extended(0xa000_0000_0000_0000, 0xc000), "-2.5");
        assert_eq!(extended(0x8000_0000_0000_0000, 0xffff), "-inf");
        assert_eq!(extended(0xc000_0000_0000_0000, 0x7fff), "NaN");
        // 0.1, and a number that is too small for 8 bytes: neither is rounded.
        assert_eq!(extended(0xcccc_cccc_cccc_cccd, 0x3ffb), "0xc.ccccccccccccccdp-7");
        assert_eq!(extended(0x8000_0000_0000_0000, 1), "0x8p-16385");
    }

    #[test]
    fn all_variables_are_listed_with_those_that_are_not_there() {
        let value = |name: &str, bytes| PrintedLine::Value {
            name: name.into(),
            type_name: "size_t".into(),
            shape: Shape::Number { bytes },
            referents: 0,
        };
        let missing = PrintedLine::Missing {
            name: "ret".into(),
            type_name: "ssize_t".into(),
            why: "optimised out".into(),
        };
        let lines = [PrintedLine::Function("f".into()), value("a", 8), missing, value("b", 2)];
        let mut out = Text::new();
        all(&mut out, &lines, [&[7, 0, 0, 0, 0, 0, 0, 0][..], &[1, 2]].into_iter());
        let expected = "{
    f():
    size_t a = 0x7
    ssize_t ret is not available: optimised out
    size_t b = 0x201
}";
        assert_eq!(String::from_utf8_lossy(out.as_bytes()), expected);
    }

    #[test]
    fn a_short_record_is_no_reason_to_panic() {
        let whole = Shape::Record(vec![
            part("long", "a", u64::MAX, Some((200, 200)), Shape::Number { bytes: 900 }),
            part(
                "x",
                "b",
                4,
                None,
                Shape::Array { of: Box::new(Shape::Record(Vec::new())), stride: 0, len: 9 },
            ),
            part("y", "c", 0, None, Shape::Bytes { bytes: u64::MAX }),
        ]);
        for length in 0..12 {
            rendered(&[0xff; 12][..length], &whole);
        }
    }
}
