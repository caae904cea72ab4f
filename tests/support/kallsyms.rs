//! tests/support/kallsyms.rs: the names of all symbols of a kernel, from its image, as packed by scripts/kallsyms.c.
//!
//! The image has no symbol table, so the packed tables are recognized by their structure: the token table has the
//! digits in order, followed by the index of all tokens; the markers after the names give the start of each 256th name.

use std::collections::BTreeSet;
use std::ops::Range;

use memchr::memmem;

/// The number of names per marker.
const MARKED: usize = 256;
/// The plausible numbers of symbols in a kernel.
const PLAUSIBLE: Range<usize> = 10_000..2_000_000;

/// The symbol names of an unpacked kernel; `None` if its tables are not found.
pub(crate) fn names(kernel: &[u8]) -> Option<BTreeSet<String>> {
    let digits: Vec<u8> = (b'0'..=b'9').flat_map(|digit| [digit, 0]).collect();
    let table = memmem::find_iter(kernel, &digits).find_map(|zero| Tokens::with_zero_at(kernel, zero))?;
    all(kernel, &table)
}

/// The expansion of each byte of a packed name.
struct Tokens {
    begin: usize,
    texts: Vec<Vec<u8>>,
}

impl Tokens {
    /// The table with the token of the character `0` at this position, if the index after it agrees.
    fn with_zero_at(kernel: &[u8], zero: usize) -> Option<Tokens> {
        let mut begin = zero;
        for _ in 0..b'0' {
            let end = begin.checked_sub(1)?;
            begin = kernel[..end].iter().rposition(|byte| *byte == 0)? + 1;
        }
        let (mut texts, mut at) = (Vec::new(), begin);
        for _ in 0..256 {
            let length = kernel.get(at..)?.iter().position(|byte| *byte == 0)?;
            texts.push(kernel[at..at + length].to_vec());
            at += length + 1;
        }
        let is_index = |at: usize| {
            let mut offset = 0;
            texts.iter().enumerate().all(|(token, text)| {
                let agrees = number::<2>(kernel, at + 2 * token).is_some_and(|said| said == offset);
                offset += text.len() + 1;
                agrees
            })
        };
        [4, 8]
            .map(|align| at.next_multiple_of(align))
            .into_iter()
            .any(is_index)
            .then_some(Tokens { begin, texts })
    }

    /// The name of some packed bytes, without the type before it.
    fn expand(&self, packed: &[u8]) -> String {
        let text: Vec<u8> =
            packed.iter().flat_map(|token| &self.texts[usize::from(*token)]).copied().skip(1).collect();
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn all(kernel: &[u8], table: &Tokens) -> Option<BTreeSet<String>> {
    (8..table.begin)
        .step_by(4)
        .find_map(|at| Some(begins(kernel, at)?.into_iter().map(|name| table.expand(name)).collect()))
}

/// The packed names at a position, if their number precedes them and the markers after them agree with the start of
/// every 256th name.
fn begins(kernel: &[u8], begin: usize) -> Option<Vec<&[u8]>> {
    // With a gap of four bytes if the tables are aligned to pointers.
    let counts =
        [begin - 4, begin - 8].map(|at| number::<4>(kernel, at).filter(|count| PLAUSIBLE.contains(count)));
    counts.into_iter().flatten().find_map(|count| counted(kernel, begin, count))
}

fn counted(kernel: &[u8], begin: usize, count: usize) -> Option<Vec<&[u8]>> {
    let (mut at, mut names, mut marked) = (begin, Vec::new(), Vec::new());
    for symbol in 0..count {
        if symbol % MARKED == 0 {
            marked.push(at - begin);
        }
        let (name, end) = packed(kernel, at).filter(|(name, _)| !name.is_empty())?;
        names.push(name);
        at = end;
    }
    let agree = |markers: usize| {
        marked
            .iter()
            .enumerate()
            .all(|(index, place)| number::<4>(kernel, markers + 4 * index) == Some(*place))
    };
    [4, 8].into_iter().any(|align| agree(at.next_multiple_of(align))).then_some(names)
}

/// The packed name at a position, with a length of one or two bytes, and the position of the next one.
fn packed(kernel: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let first = usize::from(*kernel.get(at)?);
    let (length, begin) = match first & 0x80 {
        0 => (first, at + 1),
        _ => (first & 0x7f | usize::from(*kernel.get(at + 1)?) << 7, at + 2),
    };
    Some((kernel.get(begin..begin + length)?, begin + length))
}

fn number<const BYTES: usize>(kernel: &[u8], at: usize) -> Option<usize> {
    let bytes = kernel.get(at..at + BYTES)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}
