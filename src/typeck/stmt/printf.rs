//! typeck/stmt/printf.rs: parsing of printf formats into conversions.

use std::ops::Range;

use kinst_dif::{Conversion, Count, Format, FormatPiece};

/// A format split into pieces, each with its byte range.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::typeck) struct Parsed {
    pub pieces: Vec<(Piece, Range<usize>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::typeck) enum Piece {
    Text(Vec<u8>),
    Conversion { conversion: Conversion, size: SizePrefix },
}

/// `h l ll L w` before the letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::typeck) enum SizePrefix {
    #[default]
    None,
    Short,
    Long,
    LongLong,
    LongDouble,
    Wide,
}

/// An error in a format, and its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::typeck) struct BadFormat {
    pub title: String,
    pub at: Range<usize>,
}

/// All conversion letters of language §6 except `%%`.
const LETTERS: &str = "aAcCdiouxXeEfgGkpPIsSTY";

pub(in crate::typeck) fn parse(format: &[u8]) -> Result<Parsed, BadFormat> {
    let mut parsed = Parsed::default();
    let mut text: Vec<u8> = Vec::new();
    let mut text_start = 0;
    let mut at = 0;
    while at < format.len() {
        if format[at] != b'%' {
            text.push(format[at]);
            at += 1;
            continue;
        }
        if format.get(at + 1) == Some(&b'%') {
            text.push(b'%');
            at += 2;
            continue;
        }
        flush(&mut parsed, &mut text, text_start..at);
        let (piece, end) = conversion(format, at)?;
        parsed.pieces.push((piece, at..end));
        at = end;
        text_start = end;
    }
    flush(&mut parsed, &mut text, text_start..at);
    Ok(parsed)
}

fn flush(parsed: &mut Parsed, text: &mut Vec<u8>, at: Range<usize>) {
    if !text.is_empty() {
        parsed.pieces.push((Piece::Text(std::mem::take(text)), at));
    }
}

fn conversion(format: &[u8], start: usize) -> Result<(Piece, usize), BadFormat> {
    let mut conversion = Conversion {
        alternate: false,
        plus: false,
        minus: false,
        space: false,
        zero: false,
        grouping: false,
        aggregation: false,
        width: Count::None,
        precision: Count::None,
        letter: ' ',
        signed: false,
        size: 0,
    };
    let mut at = start + 1;
    while let Some(&flag) = format.get(at) {
        match flag {
            b'#' => conversion.alternate = true,
            b'+' => conversion.plus = true,
            b'-' => conversion.minus = true,
            b' ' => conversion.space = true,
            b'0' => conversion.zero = true,
            b'\'' => conversion.grouping = true,
            b'@' => conversion.aggregation = true,
            b'?' => conversion.width = Count::Fixed(16),
            _ => break,
        }
        at += 1;
    }
    conversion.width = count(format, &mut at, start)?.unwrap_or(conversion.width);
    conversion.aggregation |= value_of_aggregation(format, &mut at);
    if format.get(at) == Some(&b'.') {
        at += 1;
        conversion.precision = count(format, &mut at, start)?.unwrap_or(Count::Fixed(0));
    }
    conversion.aggregation |= value_of_aggregation(format, &mut at);
    let size = size_prefix(format, &mut at);
    let Some(&letter) = format.get(at) else {
        let title = "the format ends inside a conversion".to_string();
        return Err(BadFormat { title, at: start..at });
    };
    let end = at + 1;
    match letter {
        b'%' => Err(BadFormat { title: "flags before %% have no meaning".into(), at: start..end }),
        b'*' | b'.' | b'$' => {
            let title = format!("`{}` is not allowed here in a conversion", char::from(letter));
            Err(BadFormat { title, at: start..end })
        }
        letter if LETTERS.as_bytes().contains(&letter) => {
            conversion.letter = char::from(letter);
            Ok((Piece::Conversion { conversion, size }, end))
        }
        _ => {
            let shown = shown(&format[start..], at - start);
            Err(BadFormat { title: format!("`{shown}` is not a conversion"), at: start..end })
        }
    }
}

/// Returns the beginning of a format, through the character at `last`: a multi-byte character is shown
/// whole, and a character that moves the cursor as its escape in D.
fn shown(format: &[u8], last: usize) -> String {
    let before = String::from_utf8_lossy(&format[..last]).chars().count();
    String::from_utf8_lossy(format).chars().take(before + 1).collect::<String>().escape_debug().to_string()
}

/// Scripts write both `%@6d` and `%6@d`.
fn value_of_aggregation(format: &[u8], at: &mut usize) -> bool {
    let found = format.get(*at) == Some(&b'@');
    *at += usize::from(found);
    found
}

/// Parses a width or precision: digits or `*`.
fn count(format: &[u8], at: &mut usize, start: usize) -> Result<Option<Count>, BadFormat> {
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        return Ok(Some(Count::Argument));
    }
    let mut value: Option<u32> = None;
    while let Some(digit) = format.get(*at).filter(|c| c.is_ascii_digit()) {
        *at += 1;
        let digit = u32::from(digit - b'0');
        let next = value.unwrap_or(0).checked_mul(10).and_then(|v| v.checked_add(digit));
        // The width in printf(3) is an int too.
        let Some(next) = next.filter(|v| i32::try_from(*v).is_ok()) else {
            return Err(BadFormat { title: "the width is too large".into(), at: start..*at });
        };
        value = Some(next);
    }
    Ok(value.map(Count::Fixed))
}

fn size_prefix(format: &[u8], at: &mut usize) -> SizePrefix {
    let rest = format.get(*at..).unwrap_or_default();
    let (size, len) = match rest {
        [b'l', b'l', ..] => (SizePrefix::LongLong, 2),
        [b'l', ..] => (SizePrefix::Long, 1),
        [b'h', ..] => (SizePrefix::Short, 1),
        [b'L', ..] => (SizePrefix::LongDouble, 1),
        [b'w', ..] => (SizePrefix::Wide, 1),
        _ => (SizePrefix::None, 0),
    };
    *at += len;
    size
}

impl Parsed {
    pub(crate) fn into_format(self) -> Format {
        let pieces = self.pieces.into_iter().map(|(piece, _)| match piece {
            Piece::Text(text) => FormatPiece::Text(text),
            Piece::Conversion { conversion, .. } => FormatPiece::Conversion(conversion),
        });
        Format { pieces: pieces.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn conversions(format: &str) -> Vec<Conversion> {
        let parsed = parse(format.as_bytes()).unwrap();
        let pieces = parsed.into_format().pieces.into_iter();
        pieces
            .filter_map(|piece| match piece {
                FormatPiece::Conversion(conversion) => Some(conversion),
                FormatPiece::Text(_) => None,
            })
            .collect()
    }

    #[test]
    fn flags_width_and_precision() {
        let found = conversions("100%% %-+10.3d|%*.*s|%?p|%@u");
        assert_eq!(found.len(), 4);
        assert!(found[0].minus && found[0].plus);
        assert_eq!((found[0].width, found[0].precision), (Count::Fixed(10), Count::Fixed(3)));
        assert_eq!((found[1].width, found[1].precision), (Count::Argument, Count::Argument));
        assert_eq!((found[2].width, found[2].letter), (Count::Fixed(16), 'p'));
        assert!(found[3].aggregation);
        assert!(conversions("100%%").is_empty());
        let found = conversions("%6@d|%-8@d|%@-8d|%5@.2u|%5.2@u");
        assert!(found.iter().all(|conversion| conversion.aggregation));
        assert_eq!(
            (found[0].width, found[1].minus, found[1].width),
            (Count::Fixed(6), true, Count::Fixed(8))
        );
        assert_eq!(found[1], found[2]);
        assert_eq!(found[3], found[4]);
    }

    #[test]
    fn bad_formats_are_told_where() {
        for (format, at) in [
            ("%", 0..1),
            ("ab%z", 2..4),
            ("%1$d", 0..3),
            ("%**d", 0..3),
            ("%-%", 0..3),
            ("%99999999999d", 0..11),
        ] {
            assert_eq!(parse(format.as_bytes()).unwrap_err().at, at, "{format}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(format: Vec<u8>) {
            if let Err(error) = parse(&format) {
                prop_assert!(error.at.end <= format.len());
            }
        }
    }
}
