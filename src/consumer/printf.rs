//! consumer/printf.rs: the conversions of printf() and printa().

use super::clock;
use super::frame::{self, Frame, Naming};
use super::output::Text;
use super::output::bytes::until_nul;
use super::output::escaped;
use super::output::stack;
use kinst_dif::{Conversion, Count, Format, FormatPiece};

/// A recorded argument, as raw bytes.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    pub bytes: &'a [u8],
    pub of: Of,
}

/// The meaning of an argument that is an address or a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Kernel,
    /// A function of the kernel: a key from sym().
    Function {
        /// As in [`Display::Sym`](kinst_dif::Display::Sym).
        called: bool,
    },
    /// A pid, then an address or stack of that process.
    User,
}

impl Argument<'_> {
    /// Returns the place that `%a` shows.
    pub fn place(&self, naming: Naming<'_>) -> Frame {
        let address = integer(self.bytes, false, 0) as u64;
        match self.of {
            Of::Function { called } => frame::function(address, called, naming),
            Of::Kernel | Of::User => frame::address(address, naming.symbols),
        }
    }

    /// Returns the place that `%A` shows.
    pub fn user_place(&self, naming: Naming<'_>) -> Frame {
        let (pid, address) = match self.of {
            Of::User => frame::user_pair(self.bytes),
            _ => (0, integer(self.bytes, false, 0) as u64),
        };
        frame::user_address(pid, address, naming.symbols)
    }
}

/// Writes the value for `%@`.
pub(crate) type PrintValue<'a> = dyn FnMut(&mut Text, &Conversion) + 'a;

/// The context of conversions.
pub(crate) struct Context<'a> {
    pub naming: Naming<'a>,
    /// Prints the next value of the current entry of printa().
    pub value: Option<&'a mut PrintValue<'a>>,
}

/// Formats arguments. An argument missing from the record prints as nothing; the compiler has checked their number.
pub(crate) fn render<'a>(
    out: &mut Text,
    format: &Format,
    mut arguments: impl Iterator<Item = Argument<'a>>,
    context: &mut Context<'_>,
) {
    for piece in &format.pieces {
        match piece {
            FormatPiece::Text(text) => out.own(text),
            FormatPiece::Conversion(conversion) if conversion.letter == '%' => out.str("%"),
            FormatPiece::Conversion(conversion) => {
                let mut conversion = conversion.clone();
                resolve_counts(&mut conversion, &mut arguments);
                if conversion.aggregation {
                    if let Some(value) = context.value.as_mut() {
                        value(out, &conversion);
                    }
                } else if let Some(argument) = arguments.next() {
                    convert(out, &conversion, argument, context);
                }
            }
        }
    }
}

/// Takes the number for each `*` from the arguments. A negative width means `-` and its absolute value; a negative
/// precision means none.
fn resolve_counts<'a>(conversion: &mut Conversion, arguments: &mut impl Iterator<Item = Argument<'a>>) {
    // A traced number must not fill memory with blanks.
    const MOST: u64 = 1 << 16;
    let mut next = || arguments.next().map_or(0, |argument| integer(argument.bytes, true, 0));
    if conversion.width == Count::Argument {
        let width = next();
        conversion.minus |= width < 0;
        conversion.width = Count::Fixed(width.unsigned_abs().min(MOST as u128) as u32);
    }
    if conversion.precision == Count::Argument {
        let precision = next();
        conversion.precision = match precision {
            ..0 => Count::None,
            _ => Count::Fixed((precision as u128).min(MOST as u128) as u32),
        };
    }
}

fn convert(out: &mut Text, conversion: &Conversion, argument: Argument<'_>, context: &Context<'_>) {
    let bytes = argument.bytes;
    let word = || integer(bytes, false, 0) as u64;
    match conversion.letter {
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'p' => number(out, conversion, bytes),
        'c' | 's' if conversion.size == 4 => text(out, conversion, &wide(bytes)),
        's' => text(out, conversion, until_nul(bytes)),
        'S' => text(out, conversion, &escaped(until_nul(bytes))),
        'c' => text(out, conversion, &[word() as u8]),
        'C' => text(out, conversion, &escaped(&[word() as u8])),
        'a' => text(out, conversion, argument.place(context.naming).to_string().as_bytes()),
        'A' => text(out, conversion, argument.user_place(context.naming).to_string().as_bytes()),
        'k' => {
            let indent = width(conversion).filter(|width| *width > 0).unwrap_or(context.naming.indent);
            let print = if argument.of == Of::User { stack::user } else { stack::kernel };
            print(out, bytes, Naming { indent, ..context.naming });
        }
        'Y' => text(out, conversion, clock::wall(word() as i64).as_bytes()),
        'T' => text(out, conversion, clock::rfc822(word() as i64).as_bytes()),
        'P' => text(out, conversion, service(word() as u16).as_bytes()),
        'e' | 'E' | 'f' | 'g' | 'G' => float(out, conversion, bytes),
        'I' => text(out, conversion, &host(until_nul(bytes))),
        _ => text(out, conversion, until_nul(bytes)),
    }
}

/// Returns the integer of a record, widened from its size, or from its first `size` bytes if that is not 0.
pub(crate) fn integer(bytes: &[u8], signed: bool, size: u8) -> i128 {
    let mut wide = [0; 8];
    let take = bytes.len().min(8);
    wide[..take].copy_from_slice(&bytes[..take]);
    let raw = u64::from_ne_bytes(wide);
    let size = if size == 0 { take } else { usize::from(size).min(8) };
    let shift = 64 - 8 * size.clamp(1, 8) as u32;
    match signed {
        true => i128::from((raw << shift) as i64 >> shift),
        false => i128::from((raw << shift) >> shift),
    }
}

fn number(out: &mut Text, conversion: &Conversion, bytes: &[u8]) {
    out.str(&format_integer(whole(conversion, bytes), conversion));
}

/// Returns the integer that a conversion shows.
pub(crate) fn whole(conversion: &Conversion, bytes: &[u8]) -> i128 {
    let decimal = matches!(conversion.letter, 'd' | 'i');
    let signed = decimal && conversion.signed;
    // A size other than the record's truncates the value, like a cast; without a size, the type decides how it is
    // widened.
    let own = integer(bytes, conversion.signed, 0);
    let size = if conversion.size == 0 { bytes.len().min(8) as u8 } else { conversion.size };
    integer(&(own as i64).to_ne_bytes(), signed, size)
}

/// Formats an integer like C's printf, with `'` grouping by thousands.
pub(crate) fn format_integer(value: i128, conversion: &Conversion) -> String {
    let magnitude = value.unsigned_abs();
    let mut digits = match conversion.letter {
        'o' => format!("{magnitude:o}"),
        'x' | 'p' => format!("{magnitude:x}"),
        'X' => format!("{magnitude:X}"),
        _ => magnitude.to_string(),
    };
    let decimal = matches!(conversion.letter, 'd' | 'i' | 'u');
    let precision = match conversion.precision {
        Count::Fixed(precision) => Some(precision as usize),
        _ => None,
    };
    if precision == Some(0) && magnitude == 0 {
        digits.clear();
    }
    if let Some(least) = precision {
        digits.insert_str(0, &"0".repeat(least.saturating_sub(digits.len())));
    }
    if conversion.grouping && decimal {
        digits = grouped(&digits);
    }
    if conversion.alternate && conversion.letter == 'o' && !digits.starts_with('0') {
        digits.insert(0, '0');
    }
    let sign = match conversion.letter {
        'x' | 'p' if conversion.alternate && magnitude != 0 => "0x",
        'X' if conversion.alternate && magnitude != 0 => "0X",
        'd' | 'i' if value < 0 => "-",
        'd' | 'i' if conversion.plus => "+",
        'd' | 'i' if conversion.space => " ",
        _ => "",
    };
    let fill = width(conversion).unwrap_or(0).saturating_sub(sign.len() + digits.len());
    if conversion.minus {
        format!("{sign}{digits}{}", " ".repeat(fill))
    } else if conversion.zero && precision.is_none() {
        format!("{sign}{}{digits}", "0".repeat(fill))
    } else {
        format!("{}{sign}{digits}", " ".repeat(fill))
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn width(conversion: &Conversion) -> Option<usize> {
    match conversion.width {
        Count::Fixed(width) => Some(width as usize),
        _ => None,
    }
}

fn text(out: &mut Text, conversion: &Conversion, text: &[u8]) {
    let most = match conversion.precision {
        Count::Fixed(precision) if conversion.letter == 's' || conversion.letter == 'S' => precision as usize,
        _ => text.len(),
    };
    let shown = &text[..most.min(text.len())];
    out.padded(shown, width(conversion).unwrap_or(0), conversion.minus);
}

/// Converts wchar_t to UTF-8, up to the first NUL.
pub(crate) fn wide(bytes: &[u8]) -> Vec<u8> {
    let letters = bytes.chunks(4).map(|letter| integer(letter, false, 0) as u32);
    let letters = letters.take_while(|letter| *letter != 0);
    let text: String = letters.map(|letter| char::from_u32(letter).unwrap_or('\u{fffd}')).collect();
    text.into_bytes()
}

fn float(out: &mut Text, conversion: &Conversion, bytes: &[u8]) {
    let value = real(bytes);
    let places = match conversion.precision {
        // The standard library counts places in 16 bits, and uses one more than requested.
        Count::Fixed(precision) => (precision as usize).min(u16::MAX as usize - 1),
        _ => 6,
    };
    let shown = match conversion.letter {
        'f' => format!("{value:.places$}"),
        'e' => exponent(value, places),
        'E' => exponent(value, places).to_uppercase(),
        letter => {
            let general = general(value, places.max(1));
            if letter == 'G' { general.to_uppercase() } else { general }
        }
    };
    let signed = if conversion.plus && value >= 0.0 { format!("+{shown}") } else { shown };
    out.padded(signed.as_bytes(), width(conversion).unwrap_or(0), conversion.minus);
}

/// Returns the floating-point number of a record.
pub(crate) fn real(bytes: &[u8]) -> f64 {
    match *bytes {
        [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]) as f64,
        _ => f64::from_bits(integer(bytes, false, 0) as u64),
    }
}

/// Converts Rust's `1.5e3` to C's `1.5e+03`.
fn exponent(value: f64, places: usize) -> String {
    let text = format!("{value:.places$e}");
    let Some((digits, power)) = text.split_once('e') else { return text };
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{digits}e{sign}{power:0>2}")
}

fn general(value: f64, significant: usize) -> String {
    let scientific = exponent(value, significant - 1);
    let power: i32 = scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if power < -4 || power >= significant as i32 {
        let (digits, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{power}", trim(digits));
    }
    let places = (significant as i32 - 1 - power).max(0) as usize;
    trim(&format!("{value:.places$}"))
}

/// Returns the name of an address from /etc/hosts, or the address itself: a resolver could hang for minutes.
fn host(address: &[u8]) -> Vec<u8> {
    let Ok(wanted) = String::from_utf8_lossy(address).parse::<std::net::IpAddr>() else {
        return address.to_vec();
    };
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let named = hosts.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let of = words.next()?.parse::<std::net::IpAddr>().ok()?;
        (of == wanted).then(|| words.next())?
    });
    named.map_or_else(|| address.to_vec(), |name| name.as_bytes().to_vec())
}

/// Returns the name of a port from /etc/services, or its number.
fn service(port: u16) -> String {
    let services = std::fs::read_to_string("/etc/services").unwrap_or_default();
    let named = services.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let name = words.next()?;
        let number = words.next()?.split('/').next()?;
        (number.parse() == Ok(port)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| port.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::frame::{First, Source};
    use crate::consumer::symbols::{KernelSymbol, Symbols, UserPlace};

    struct NoSymbols;
    impl Symbols for NoSymbols {
        fn kernel(&self, address: u64) -> Option<KernelSymbol> {
            let symbol = KernelSymbol { module: "vmlinux".into(), name: "f".into(), start: 0x1000 };
            (address >= 0x1000).then_some(symbol)
        }
        fn user(&self, _: u64, _: u64) -> Option<UserPlace> {
            None
        }
    }

    fn naming() -> Naming<'static> {
        Naming { symbols: &NoSymbols, indent: 14, first: &|_| First::default(), source: Source::default() }
    }

    fn shown(conversion: Conversion, arguments: &[&[u8]]) -> String {
        let mut out = Text::new();
        let format = Format { pieces: vec![FormatPiece::Conversion(conversion)] };
        let arguments = arguments.iter().map(|bytes| Argument { bytes, of: Of::Kernel });
        render(&mut out, &format, arguments, &mut Context { naming: naming(), value: None });
        String::from_utf8(out.as_bytes().to_vec()).unwrap()
    }

    fn conversion(letter: char) -> Conversion {
        Conversion {
            alternate: false,
            plus: false,
            minus: false,
            space: false,
            zero: false,
            grouping: false,
            aggregation: false,
            width: Count::None,
            precision: Count::None,
            letter,
            signed: false,
            size: 0,
        }
    }

    #[test]
    fn integers_follow_the_argument() {
        let minus = (-1i32).to_ne_bytes();
        assert_eq!(shown(Conversion { signed: true, ..conversion('d') }, &[&minus]), "-1");
        assert_eq!(shown(conversion('d'), &[&minus]), "4294967295");
        assert_eq!(shown(Conversion { signed: true, ..conversion('x') }, &[&minus]), "ffffffff");
        assert_eq!(shown(Conversion { signed: true, size: 8, ..conversion('x') }, &[&minus]), "f".repeat(16));
        assert_eq!(shown(Conversion { size: 2, ..conversion('x') }, &[&minus]), "ffff");
        assert_eq!(
            shown(Conversion { grouping: true, ..conversion('u') }, &[&1234567u64.to_ne_bytes()]),
            "1,234,567"
        );
    }

    #[test]
    fn strings_and_characters() {
        let fixed = |width, precision| Conversion {
            width: Count::Fixed(width),
            precision: Count::Fixed(precision),
            ..conversion('s')
        };
        assert_eq!(shown(fixed(6, 2), &[b"abc\0xx"]), "    ab");
        assert_eq!(shown(conversion('S'), &[b"a\n\x01\"\0"]), "a\\n\\001\\\"");
        assert_eq!(shown(conversion('c'), &[&65u32.to_ne_bytes()]), "A");
        let star = Conversion { width: Count::Argument, ..conversion('s') };
        assert_eq!(shown(star, &[&(-5i32).to_ne_bytes(), b"ab\0"]), "ab   ");
    }

    #[test]
    fn addresses_and_stacks() {
        assert_eq!(shown(conversion('a'), &[&0x1004u64.to_ne_bytes()]), "vmlinux`f+0x4");
        assert_eq!(shown(conversion('a'), &[&0x1000u64.to_ne_bytes()]), "vmlinux`f");
        assert_eq!(shown(conversion('a'), &[&4u64.to_ne_bytes()]), "0x4");
        let of = Of::Function { called: false };
        let function = Argument { bytes: &0x1004u64.to_ne_bytes(), of };
        assert_eq!(function.place(naming()).to_string(), "vmlinux`f");
        let frames: Vec<u8> = [0x1004u64, 0x10, 0, 7].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let indented = Conversion { width: Count::Fixed(2), ..conversion('k') };
        assert_eq!(shown(indented, &[&frames]), "\n  vmlinux`f+0x4\n  0x10\n");
    }

    #[test]
    fn floats() {
        let value = 1234.5f64.to_ne_bytes();
        assert_eq!(shown(conversion('f'), &[&value]), "1234.500000");
        assert_eq!(shown(conversion('e'), &[&value]), "1.234500e+03");
        assert_eq!(shown(conversion('g'), &[&value]), "1234.5");
        assert_eq!(shown(conversion('g'), &[&1e-7f64.to_ne_bytes()]), "1e-07");
    }

    /// Runs the system's printf(1) with a decimal number.
    fn system_printf(format: &str, value: i64) -> Option<String> {
        let output = std::process::Command::new("/usr/bin/printf")
            .env("LC_ALL", "C")
            .arg(format)
            .arg(value.to_string())
            .output()
            .ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).ok())?
    }

    #[test]
    fn integers_as_the_systems_printf() {
        let flags = ["", "-", "0", "+", " ", "#", "-#", "0+", "-+", "#0"];
        let sizes = ["", "1", "8", ".0", ".3", "8.3", "10.12"];
        let mut compared = 0;
        for (index, flags) in flags.iter().flat_map(|f| sizes.map(|s| (f, s))).enumerate() {
            let (flags, size) = flags;
            let letter = ['d', 'x', 'o', 'u', 'X'][index % 5];
            // C leaves these combinations undefined.
            let undefined = (flags.contains(['+', ' ']) && letter != 'd')
                || (flags.contains('#') && matches!(letter, 'd' | 'u'));
            if undefined {
                continue;
            }
            let (width, precision) = size.split_once('.').map_or((size, None), |(w, p)| (w, Some(p)));
            let count = |text: &str| text.parse().map_or(Count::None, Count::Fixed);
            let conversion = Conversion {
                alternate: flags.contains('#'),
                plus: flags.contains('+'),
                minus: flags.contains('-'),
                space: flags.contains(' '),
                zero: flags.contains('0'),
                width: count(width),
                precision: precision.map_or(Count::None, count),
                signed: true,
                ..conversion(letter)
            };
            for value in [0, 7, -7, 123456] {
                let format = format!("%{flags}{size}{letter}");
                let Some(expected) = system_printf(&format, value) else { continue };
                assert_eq!(
                    shown(conversion.clone(), &[&value.to_ne_bytes()]),
                    expected,
                    "{format} of {value}"
                );
                compared += 1;
            }
        }
        assert!(compared > 100, "printf(1) should have answered");
    }

    proptest::proptest! {
        #[test]
        fn any_record_prints(letter: char, bytes: Vec<u8>, width: u16, precision: Option<u16>, size: u8) {
            let conversion = Conversion {
                size,
                width: Count::Fixed(width as u32),
                precision: precision.map_or(Count::Argument, |p| Count::Fixed(p as u32)),
                ..conversion(letter)
            };
            let mut out = Text::new();
            let format = Format { pieces: vec![FormatPiece::Conversion(conversion)] };
            let of = if width % 2 == 0 { Of::User } else { Of::Kernel };
            let argument = Argument { bytes: &bytes, of };
            let mut context = Context { naming: naming(), value: None };
            render(&mut out, &format, std::iter::repeat_n(argument, 3), &mut context);
        }
    }
}
