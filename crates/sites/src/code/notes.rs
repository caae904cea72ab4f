//! sites/code/notes.rs: the notes that kinst/sdt.h leaves in a driver: its static probes and their arguments.

use super::decode;
use super::reader::Reader;
use kinst_base::machine::Machine;
use kinst_dwarf::variables::term::Term;

/// Section of a driver with the notes.
pub(crate) const SECTION: &str = ".note.kinst.sdt";

/// One note, with the probe's name as in D.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub provider: String,
    pub name: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A probe, which is the nop at this address.
    Probe { at: u64, arguments: Vec<Argument> },
    /// A gate: the address of a struct kinst_sdt_gate, whose static key is on while the probe is traced.
    Gate { at: u64 },
    /// Types of its arguments, as written by the driver.
    Types(Vec<String>),
}

/// An argument of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub kind: Kind,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// `None` if no program can read it.
    pub value: Option<Term>,
}

/// The kind of type, as determined by the macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Signed,
    Unsigned,
    Pointer,
    /// A pointer to characters.
    Text,
}

const OWNER: &[u8] = b"kinst\0";
const MOST_ARGUMENTS: usize = 6;
const LONGEST_NAME: usize = 127;

/// Parses the notes of a driver for this machine, in a section at this address. Invalid notes are dropped,
/// and so is the rest of the section if a note's size is invalid.
pub fn parse(section: &[u8], address: u64, machine: Machine) -> Vec<Note> {
    let mut reader = Reader::new(section, address);
    let mut notes = Vec::new();
    while let Some((owner, kind, desc)) = reader.note() {
        notes.extend((owner == OWNER).then(|| note(kind, desc, machine)).flatten());
    }
    notes
}

fn note(kind: u32, mut desc: Reader<'_>, machine: Machine) -> Option<Note> {
    let at = if kind == 3 { 0 } else { desc.distance()? };
    let arguments = if kind == 1 { desc.arguments(machine)? } else { Vec::new() };
    let (provider, name) = (desc.word()?, desc.word()?);
    let what = match kind {
        1 => What::Probe { at, arguments },
        2 => What::Gate { at },
        3 => What::Types(desc.types()),
        _ => return None,
    };
    Some(Note { provider: provider.to_owned(), name: name.replace("__", "-"), what })
}

impl<'a> Reader<'a> {
    /// Reads an address, which is stored as the distance from its field.
    fn distance(&mut self) -> Option<u64> {
        let field = self.address;
        Some(field.wrapping_add_signed(self.u32()?.cast_signed().into()))
    }

    /// Reads the name of a provider or probe; rejects characters that could form a pattern.
    fn word(&mut self) -> Option<&'a str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.text().filter(|word| !word.is_empty() && word.len() <= LONGEST_NAME && word.chars().all(is_part))
    }

    fn types(&mut self) -> Vec<String> {
        let texts = std::iter::from_fn(|| self.text().filter(|text| !text.is_empty()));
        texts.take(MOST_ARGUMENTS).map(|text| text.trim().to_owned()).collect()
    }

    fn arguments(&mut self, machine: Machine) -> Option<Vec<Argument>> {
        let count = usize::from(self.byte()?);
        (0..count.min(MOST_ARGUMENTS + 1))
            .map(|_| self.argument(machine))
            .collect::<Option<Vec<_>>>()
            .filter(|arguments| arguments.len() <= MOST_ARGUMENTS)
    }

    fn argument(&mut self, machine: Machine) -> Option<Argument> {
        let kind = match self.byte()? {
            b's' => Kind::Signed,
            b'u' => Kind::Unsigned,
            b'p' => Kind::Pointer,
            b'c' => Kind::Text,
            _ => return None,
        };
        let bytes = self.byte().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))?;
        let length = self.byte()?;
        let insn = self.take(length.into())?;
        let value = decode::of(machine).argument(insn.rest, insn.address, bytes);
        Some(Argument { kind, bytes, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver's section with a probe of three arguments, a gate and types, at 0x1000.
    fn section() -> Vec<u8> {
        let mut section = Vec::new();
        let mut add = |kind: u32, desc: &[u8]| {
            for word in [6, desc.len() as u32, kind] {
                section.extend(word.to_le_bytes());
            }
            section.extend(b"kinst\0\0\0");
            section.extend(desc);
            section.resize(section.len().next_multiple_of(4), 0);
        };
        // mov %dil, %al; mov 0x10(%rsp,%rcx,8), %rax; mov 0x20(%rip), %eax
        let arguments = b"\x03s\x01\x03\x40\x88\xf8u\x08\x05\x48\x8b\x44\xcc\x10u\x04\x06\x8b\x05\x20\0\0\0";
        add(1, &[&b"\0\xf0\xff\xff"[..], arguments, b"disk\0io__done\0"].concat());
        add(2, b"\0\x10\0\0disk\0io__done\0");
        add(3, b"disk\0io__done\0int\0struct bio *\0\0ignored\0");
        // Names that could be patterns, and a note of another owner.
        add(2, b"\0\0\0\0di*\0x\0");
        section
    }

    #[test]
    fn notes_say_where_a_probe_is_and_its_arguments() {
        let notes = parse(&section(), 0x1000, Machine::X86_64);
        assert!(notes.iter().all(|note| note.provider == "disk" && note.name == "io-done"), "{notes:?}");
        let [probe, gate, types] = &notes[..] else { panic!("{notes:?}") };
        let What::Probe { at, arguments } = &probe.what else { panic!("{probe:?}") };
        assert_eq!(*at, 0x1014 - 0x1000);
        let shown: Vec<String> = arguments
            .iter()
            .map(|argument| {
                format!("{:?} {} {}", argument.kind, argument.bytes, argument.value.clone().unwrap())
            })
            .collect();
        let field = 0x1014 + 5 + 6 + 8 + 3 + 6;
        assert_eq!(shown[0], "Signed 1 %rdi");
        assert!(
            shown[1].starts_with("Unsigned 8 *") && shown[1].contains("rsp") && shown[1].contains("rcx"),
            "{shown:?}"
        );
        let global = Term::load(Term::Address(field + 0x20), 4);
        assert_eq!(arguments[2].value.as_ref(), Some(&global), "{shown:?}");
        assert!(matches!(gate.what, What::Gate { at } if at % 4 == 0 && at > 0x2000), "{gate:?}");
        assert_eq!(types.what, What::Types(vec!["int".to_owned(), "struct bio *".to_owned()]));
    }

    #[test]
    fn no_bytes_are_trusted() {
        let whole = section();
        for end in 0..whole.len() {
            parse(&whole[..end], u64::MAX - 3, Machine::X86_64);
        }
        for at in 0..whole.len() {
            for value in [0, 1, 6, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                parse(&changed, 0x1000, Machine::X86_64);
            }
        }
        assert!(parse(&[0xff; 64], 0, Machine::X86_64).is_empty());
    }
}
