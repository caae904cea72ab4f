//! bpf/tuple.rs: the contents of the tuple stack at each instruction of an object.
//!
//! DIF fills the stack at run time; the compiler empties it before it pushes values that are used together.
//! So each entry has a fixed place, and each array a key of a known size. Where paths meet with different
//! entries, none is known, and code that uses one is refused.

use super::missing::Missing;
use kinst_dif::insn::{Insn, Opcode, PUSH_STRING, REGISTERS, TUPLE_ENTRIES};
use kinst_dif::{Difo, Scope};
use std::collections::BTreeMap;

/// An entry of the tuple stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// A value of 8 bytes.
    Number,
    /// A string of at most this many bytes, or of strsize if 0.
    String(u64),
    /// This many bytes, if known statically.
    Bytes(Option<u64>),
}

/// The state of an object's tuple stack, by instruction.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// The entries before it, empty if unknown; `None` if it is unreachable.
    pub entries: Vec<Option<Vec<Pushed>>>,
    /// The entry that it pushes, and whether that is part of an array's key.
    pub pushes: Vec<Option<(Pushed, bool)>>,
    /// The constant index into a built-in array at it.
    pub indices: Vec<Option<u64>>,
}

/// Entries, each with the instruction that pushed it; `None` if unknown.
type Stack = Option<Vec<(Pushed, usize)>>;

/// A walk over an object.
struct Walk<'a> {
    difo: &'a Difo,
    stacks: Stacks,
    stack: Stack,
    /// By instruction, the entries at jumps to it.
    known: Vec<Option<Stack>>,
    /// The constants in registers, where known.
    constants: [Option<u64>; REGISTERS as usize],
}

/// Computes the entries.
pub fn stacks(difo: &Difo) -> Result<Stacks, Missing> {
    let count = difo.insns.len();
    let stacks = Stacks { entries: vec![None; count], pushes: vec![None; count], indices: vec![None; count] };
    let known = vec![None; count];
    let mut walk = Walk { difo, stacks, stack: Some(Vec::new()), known, constants: Default::default() };
    let mut falls = true;
    for (index, word) in difo.insns.iter().enumerate() {
        if let Some(known) = walk.known[index].take() {
            if !falls {
                walk.stack = known;
            } else if walk.stack != known {
                walk.stack = None;
            }
            walk.constants = Default::default();
        } else if !falls {
            continue;
        }
        let entries = walk.stack.iter().flatten().map(|(entry, _)| *entry);
        walk.stacks.entries[index] = Some(entries.collect());
        falls = walk.insn(index, Insn::decode(*word).map_err(|_| Missing::Invalid)?)?;
    }
    Ok(walk.stacks)
}

impl Walk<'_> {
    /// Follows an instruction. Returns whether control falls through to the next one.
    fn insn(&mut self, index: usize, insn: Insn) -> Result<bool, Missing> {
        match insn {
            Insn::Ret { .. } => return Ok(false),
            Insn::Branch { op, label } => {
                let known = self.known.get_mut(label as usize).ok_or(Missing::Invalid)?;
                let merged = match known {
                    Some(known) if *known != self.stack => None,
                    _ => self.stack.clone(),
                };
                *known = Some(merged);
                return Ok(op != Opcode::Ba);
            }
            Insn::PushVal { .. } => return self.push(index, Pushed::Number),
            Insn::PushRef { ty, size, .. } => {
                let size = self.constants.get(usize::from(size)).copied().flatten();
                let string = ty == PUSH_STRING;
                let entry = if string { Pushed::String(size.unwrap_or(0)) } else { Pushed::Bytes(size) };
                return self.push(index, entry);
            }
            Insn::Plain { op: Opcode::Popts } => drop(self.stack.as_mut().and_then(Vec::pop)),
            Insn::Plain { op: Opcode::Flushts } => self.stack = Some(Vec::new()),
            Insn::Int { index, rd } => self.set(rd, self.difo.ints.get(usize::from(index)).copied()),
            Insn::LoadVar { op, rd, .. } => {
                self.array(op)?;
                self.set(rd, None);
            }
            Insn::Array { index: element, rd, .. } => {
                self.stacks.indices[index] = self.constants.get(usize::from(element)).copied().flatten();
                self.set(rd, None);
            }
            Insn::StoreVar { op, .. } => self.array(op)?,
            Insn::Three { rd, .. }
            | Insn::Two { rd, .. }
            | Insn::Load { rd, .. }
            | Insn::Str { rd, .. }
            | Insn::Call { rd, .. } => self.set(rd, None),
            Insn::Compare { .. }
            | Insn::Test { .. }
            | Insn::Store { .. }
            | Insn::Plain { .. }
            | Insn::Xlate { .. } => {}
        }
        Ok(true)
    }

    fn set(&mut self, register: u8, value: Option<u64>) {
        if let Some(constant) = self.constants.get_mut(usize::from(register)) {
            *constant = value;
        }
    }

    /// Overflow is a fault, after which nothing runs.
    fn push(&mut self, index: usize, entry: Pushed) -> Result<bool, Missing> {
        let stack = self.stack.as_mut().ok_or(Missing::Invalid)?;
        let room = stack.len() < TUPLE_ENTRIES;
        if room {
            stack.push((entry, index));
            self.stacks.pushes[index] = Some((entry, false));
        }
        Ok(room)
    }

    /// Marks the entries as the key of an array.
    fn array(&mut self, op: Opcode) -> Result<(), Missing> {
        if matches!(op, Opcode::Ldgaa | Opcode::Ldtaa | Opcode::Stgaa | Opcode::Sttaa) {
            for (_, index) in self.stack.as_ref().ok_or(Missing::Invalid)? {
                let push = self.stacks.pushes.get_mut(*index).and_then(Option::as_mut);
                push.ok_or(Missing::Invalid)?.1 = true;
            }
        }
        Ok(())
    }
}

/// The layout of an array's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// By entry: offset and size in the key.
    pub places: Vec<(u32, u32)>,
    /// Total size.
    pub size: u32,
}

impl Key {
    /// Returns the layout for these entries.
    pub fn new(entries: &[Pushed], strsize: u32) -> Result<Key, Missing> {
        const MOST: u64 = 16 << 10;
        let (mut places, mut size) = (Vec::new(), 0);
        for entry in entries {
            let bytes = match entry {
                Pushed::Number => 8,
                Pushed::String(_) => u64::from(strsize),
                Pushed::Bytes(bytes) => bytes.ok_or(Missing::Invalid)?,
            };
            if bytes > MOST || u64::from(size) + bytes > MOST {
                return Err(Missing::Other("a key of this size"));
            }
            places.push((size, bytes as u32));
            size = (size + bytes as u32).next_multiple_of(8);
        }
        Ok(Key { places, size })
    }
}

/// Collects the keys of the arrays that an object uses.
pub fn keys(difo: &Difo, strsize: u32, into: &mut BTreeMap<(Scope, u32), Key>) -> Result<(), Missing> {
    for (word, stack) in difo.insns.iter().zip(stacks(difo)?.entries) {
        let Some(stack) = stack else { continue };
        let (scope, id) = match Insn::decode(*word) {
            Ok(Insn::LoadVar { op: Opcode::Ldgaa, var, .. })
            | Ok(Insn::StoreVar { op: Opcode::Stgaa, var, .. }) => (Scope::Global, var),
            Ok(Insn::LoadVar { op: Opcode::Ldtaa, var, .. })
            | Ok(Insn::StoreVar { op: Opcode::Sttaa, var, .. }) => (Scope::Thread, var),
            _ => continue,
        };
        let key = Key::new(&stack, strsize)?;
        let known = into.entry((scope, id.into())).or_insert_with(|| key.clone());
        if known.size != key.size || known.places.len() != key.places.len() {
            return Err(Missing::Invalid);
        }
    }
    Ok(())
}
