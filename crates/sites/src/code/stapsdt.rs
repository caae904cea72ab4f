//! sites/code/stapsdt.rs: the notes that <sys/sdt.h> leaves in a program: its static probes and their arguments.

use super::decode;
use super::operand::{Around, Unreadable};
use super::reader::Reader;
use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::Term;

/// Section of a program with the notes.
pub(crate) const SECTION: &str = ".note.stapsdt";
/// A section of one byte, whose address each note repeats: the addresses in the notes are not adjusted when a tool moves
/// the others.
pub(crate) const BASE: &str = ".stapsdt.base";

const OWNER: &[u8] = b"stapsdt\0";
/// The third version, which all tools have written since 2010.
const KIND: u32 = 3;
const LONGEST_NAME: usize = 127;
/// <sys/sdt.h> has macros for twelve.
const MOST_ARGUMENTS: usize = 32;

/// A static probe at one place. A probe in an inlined function has a note for each copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticProbe {
    /// `python`.
    pub provider: String,
    /// As in D, with `-` for two underscores.
    pub name: String,
    /// Address of the probe's nop, in the file's layout.
    pub at: u64,
    /// Address of a counter of 16 bits that is not 0 while this place is traced.
    pub semaphore: Option<u64>,
    /// In the order of `args[]`.
    pub arguments: Vec<Argument>,
}

/// An argument of a static probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub kind: Kind,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    pub value: Result<Term, Unreadable>,
}

/// The kind of an argument's type, as far as the note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Signed,
    Unsigned,
    Float,
}

/// A file's notes, and what they refer to.
pub struct Notes<'a> {
    /// The section [`SECTION`].
    pub section: &'a [u8],
    /// Machine of the code.
    pub machine: Machine,
    /// Address of section [`BASE`].
    pub base: Option<u64>,
    /// Returns the address of a symbol.
    pub symbol: &'a dyn Fn(&str) -> Option<u64>,
}

impl Notes<'_> {
    /// Parses the notes. Invalid ones are dropped, and so is the rest of the section if a note's size is invalid.
    pub fn probes(&self) -> Vec<StaticProbe> {
        let mut reader = Reader::new(self.section, 0);
        let mut probes = Vec::new();
        while let Some((owner, kind, desc)) = reader.note() {
            probes.extend((owner == OWNER && kind == KIND).then(|| self.probe(desc)).flatten());
        }
        probes
    }

    fn probe(&self, mut desc: Reader<'_>) -> Option<StaticProbe> {
        let (at, base, semaphore) = (desc.u64()?, desc.u64()?, desc.u64()?);
        let moved = self.base.map_or(0, |now| now.wrapping_sub(base));
        let (provider, name) = (name(&mut desc)?, name(&mut desc)?);
        let at = at.wrapping_add(moved);
        let around = Around { machine: self.machine, at, symbol: self.symbol };
        let arguments = split(desc.text()?).into_iter().take(MOST_ARGUMENTS);
        Some(StaticProbe {
            provider: provider.to_owned(),
            name: name_in_d(name),
            at,
            semaphore: (semaphore != 0).then(|| semaphore.wrapping_add(moved)),
            arguments: arguments.map(|text| argument(text, &around)).collect(),
        })
    }
}

/// Returns the name of a probe as D writes it.
pub(crate) fn name_in_d(name: &str) -> String {
    name.replace("__", "-")
}

/// Reads the name of a provider or probe; rejects characters that could form a pattern.
fn name<'a>(desc: &mut Reader<'a>) -> Option<&'a str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    desc.text().filter(|name| !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_part))
}

/// Splits the text of all arguments at its spaces, but not inside of brackets: `4@[sp, 12] 8@x0`.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_between = |c: char| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ' ' && depth == 0
    };
    text.split(is_between).filter(|argument| !argument.is_empty()).collect()
}

/// Parses `-4@%eax`: the size, which is negative for signed integers, and the operand.
fn argument(text: &str, around: &Around<'_>) -> Argument {
    // The first tools wrote the operand alone.
    let (size, operand) = text.split_once('@').unwrap_or(("8", text));
    let (size, kind) = match (size.strip_suffix('f'), size.strip_prefix('-')) {
        (Some(size), _) => (size, Kind::Float),
        (None, Some(size)) => (size, Kind::Signed),
        (None, None) => (size, Kind::Unsigned),
    };
    let bytes = size.trim_start_matches('-').parse().ok().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8));
    let value = match bytes {
        Some(bytes) => {
            let value = decode::of(around.machine).operand(operand, bytes, around);
            if kind == Kind::Float { value.and(Err(Unreadable::Float)) } else { value }
        }
        None => Err(Unreadable::Form(text.to_owned())),
    };
    Argument { kind, bytes: bytes.unwrap_or(8), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Vec<u8> {
        let mut section = Vec::new();
        let mut add = |kind: u32, at: u64, semaphore: u64, texts: &[u8]| {
            let desc = [&at.to_le_bytes()[..], &0x2000_u64.to_le_bytes(), &semaphore.to_le_bytes(), texts];
            let desc = desc.concat();
            for word in [8, desc.len() as u32, kind] {
                section.extend(word.to_le_bytes());
            }
            section.extend(b"stapsdt\0");
            section.extend(desc);
            section.resize(section.len().next_multiple_of(4), 0);
        };
        add(3, 0x1000, 0x4000, b"disk\0io__done\0-4@%edi 8@%rsi 1@$7 8f@%xmm0\0");
        add(3, 0x1010, 0, b"disk\0plain\0\0");
        add(2, 0x1020, 0, b"disk\0old\0\0");
        add(3, 0x1030, 0, b"d*k\0pattern\0\0");
        add(3, 0x1040, 0, b"disk\0odd\0-3@%edi %rax 8@(%rax,%rbx,4)\0");
        section
    }

    fn parsed(section: &[u8], base: Option<u64>) -> Vec<StaticProbe> {
        Notes { section, machine: Machine::X86_64, base, symbol: &|_| None }.probes()
    }

    #[test]
    fn notes_say_where_a_probe_is_and_its_arguments() {
        let probes = parsed(&section(), Some(0x2000));
        let names: Vec<_> = probes.iter().map(|probe| (probe.name.as_str(), probe.at)).collect();
        assert_eq!(names, [("io-done", 0x1000), ("plain", 0x1010), ("odd", 0x1040)]);
        assert!(probes.iter().all(|probe| probe.provider == "disk"));
        assert_eq!(probes[0].semaphore, Some(0x4000));
        assert_eq!(probes[1].semaphore, None);
        let kinds: Vec<_> = probes[0].arguments.iter().map(|a| (a.kind, a.bytes, a.value.is_ok())).collect();
        use Kind::{Float, Signed, Unsigned};
        assert_eq!(kinds, [(Signed, 4, true), (Unsigned, 8, true), (Unsigned, 1, true), (Float, 8, false)]);
        let read: Vec<_> = probes[2].arguments.iter().map(|argument| argument.value.is_ok()).collect();
        assert_eq!(read, [false, true, true]);
    }

    #[test]
    fn a_file_that_was_moved() {
        let probes = parsed(&section(), Some(0x12000));
        assert_eq!((probes[0].at, probes[0].semaphore), (0x11000, Some(0x14000)));
        assert_eq!(parsed(&section(), None)[0].at, 0x1000);
    }

    #[test]
    fn arguments_are_split_outside_of_brackets() {
        assert_eq!(
            split("4@[sp, 12] 8@x0  -1@[x1, w2, sxtw 3]"),
            ["4@[sp, 12]", "8@x0", "-1@[x1, w2, sxtw 3]"]
        );
        assert_eq!(split("8@8(%rax, %rbx) 4@%ecx"), ["8@8(%rax, %rbx)", "4@%ecx"]);
        assert!(split("").is_empty());
    }

    #[test]
    fn no_bytes_are_trusted() {
        let whole = section();
        for end in 0..whole.len() {
            parsed(&whole[..end], Some(u64::MAX));
        }
        for at in 0..whole.len() {
            for value in [0, 1, 8, b'%', b'(', b'@', 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                parsed(&changed, None);
            }
        }
    }
}
