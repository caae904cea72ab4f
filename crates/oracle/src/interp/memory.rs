//! oracle/interp/memory.rs: memory that programs write: scratch memory, and variables that outlast a run.

use super::machine::{Machine, Space, Trouble};
use kinst_base::uapi::Flt;
use kinst_dif::{Difo, Options, Scope, TypeKind, Variable};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// Addresses of the program's own memory; the rest of the address space belongs to the machine.
pub(super) const STRINGS: u64 = 0x1000_0000_0000;
const SCRATCH: u64 = 0x2000_0000_0000;
const CELLS: u64 = 0x3000_0000_0000;
/// Distance between two by-reference values, larger than any of them.
const CELL_STRIDE: u64 = 0x10_0000;
const SCRATCH_SIZE: u64 = 64 << 10;

/// One instance of a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub scope: Scope,
    pub id: u32,
    pub thread: Option<u64>,
    /// The size and bytes of each component.
    pub element: Option<Vec<(u64, Vec<u8>)>>,
}

/// Memory of a session's programs.
#[derive(Clone, Debug)]
pub struct State {
    /// The maximum size of a string, including its NUL.
    pub strsize: u32,
    declared: HashMap<(Scope, u32), Variable>,
    values: BTreeMap<Key, Value>,
    /// Contents of by-reference values; a freed cell is empty.
    cells: Vec<Vec<u8>>,
    /// String table of the current or last object.
    strings: Vec<u8>,
    scratch: Vec<u8>,
    /// The address at which strtok(NULL, …) continues, and the number of bytes left in its string.
    pub(super) token: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Number(u64),
    /// An index into the cells; `null` if NULL was assigned.
    Cell {
        index: usize,
        null: bool,
    },
}

impl State {
    /// Makes the memory before the first firing. `variables` lists the program's variables.
    pub fn new(variables: &[Variable], options: &Options) -> State {
        State {
            // A string has at least its NUL.
            strsize: options.strsize.max(1),
            declared: variables.iter().map(|v| ((v.scope, v.id), v.clone())).collect(),
            values: BTreeMap::new(),
            cells: Vec::new(),
            strings: Vec::new(),
            scratch: Vec::new(),
            token: None,
        }
    }

    /// Starts a firing of a probe: strtok() has no string yet.
    pub fn fire(&mut self) {
        self.token = None;
        self.enable();
    }

    /// Starts the next enabling of the probe: scratch memory is empty again.
    pub fn enable(&mut self) {
        self.scratch.clear();
    }

    pub(super) fn enter(&mut self, difo: &Difo) {
        self.strings.clone_from(&difo.strings);
    }

    /// Allocates zeroed memory, 8-byte aligned.
    pub(super) fn allocate(&mut self, size: u64) -> Result<u64, Trouble> {
        let used = self.scratch.len() as u64;
        if size > SCRATCH_SIZE - used || size.next_multiple_of(8) > SCRATCH_SIZE - used {
            return Err(Flt::NOSCRATCH.into());
        }
        self.scratch.resize((used + size.next_multiple_of(8)) as usize, 0);
        Ok(SCRATCH + used)
    }

    /// Allocates a string in scratch memory, with its NUL.
    pub(super) fn new_string(&mut self, text: &[u8]) -> Result<u64, Trouble> {
        let address = self.allocate(text.len() as u64 + 1)?;
        self.store(address, text)?;
        Ok(address)
    }

    pub(super) fn load(
        &mut self,
        machine: &mut dyn Machine,
        space: Space,
        address: u64,
        size: u64,
    ) -> Result<Vec<u8>, Trouble> {
        let bad = Trouble { code: Flt::BADADDR, value: address };
        if space == Space::Kernel
            && let Some((region, offset)) = self.region(address)
        {
            let end = usize::try_from(size).ok().and_then(|size| offset.checked_add(size)).ok_or(bad)?;
            return region.get(offset..end).map(<[u8]>::to_vec).ok_or(bad);
        }
        let size = usize::try_from(size).ok().filter(|size| *size <= SCRATCH_SIZE as usize).ok_or(bad)?;
        let mut bytes = vec![0; size];
        if machine.read(space, address, &mut bytes) { Ok(bytes) } else { Err(bad) }
    }

    /// Returns the string at an address, without its NUL and no longer than the limit.
    pub(super) fn string(
        &mut self,
        machine: &mut dyn Machine,
        space: Space,
        address: u64,
        limit: u64,
    ) -> Result<Vec<u8>, Trouble> {
        let mut text = Vec::new();
        for offset in 0..limit {
            match self.load(machine, space, address.wrapping_add(offset), 1)?.first() {
                None | Some(0) => break,
                Some(byte) => text.push(*byte),
            }
        }
        Ok(text)
    }

    /// Compares at most strsize bytes of two strings; NULL is like an empty one.
    pub(super) fn compare_strings(
        &mut self,
        machine: &mut dyn Machine,
        a: u64,
        b: u64,
    ) -> Result<Ordering, Trouble> {
        if a == b {
            return Ok(Ordering::Equal);
        }
        if a == 0 || b == 0 {
            let first = self.load(machine, Space::Kernel, a.max(b), 1)?;
            return Ok(if first == [0] { Ordering::Equal } else { a.cmp(&b) });
        }
        for offset in 0..u64::from(self.strsize) {
            let x = self.load(machine, Space::Kernel, a.wrapping_add(offset), 1)?;
            let y = self.load(machine, Space::Kernel, b.wrapping_add(offset), 1)?;
            if x != y {
                return Ok(x.cmp(&y));
            }
            if x == [0] {
                break;
            }
        }
        Ok(Ordering::Equal)
    }

    /// Checks a destination: programs may write to scratch memory and to their by-reference variables.
    pub(super) fn check_storable(&self, address: u64, size: u64) -> Result<(), Trouble> {
        let bad = Trouble { code: Flt::BADADDR, value: address };
        let (region, offset) = self.region(address).filter(|_| address >= SCRATCH).ok_or(bad)?;
        let room = region.len().saturating_sub(offset) as u64;
        if size <= room { Ok(()) } else { Err(bad) }
    }

    pub(super) fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), Trouble> {
        self.check_storable(address, bytes.len() as u64)?;
        let bad = Trouble { code: Flt::BADADDR, value: address };
        let (region, offset) = match cell_of(address) {
            Some((index, offset)) => (self.cells.get_mut(index).ok_or(bad)?, offset),
            None => (&mut self.scratch, (address - SCRATCH) as usize),
        };
        region.get_mut(offset..offset + bytes.len()).ok_or(bad)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Returns the region of the program's memory that contains an address, and the offset in it.
    fn region(&self, address: u64) -> Option<(&[u8], usize)> {
        if let Some((index, offset)) = cell_of(address) {
            return Some((self.cells.get(index)?, offset));
        }
        let inside = |base: u64, region: &[u8]| {
            let offset = address.checked_sub(base).and_then(|offset| usize::try_from(offset).ok());
            offset.filter(|offset| *offset < region.len())
        };
        if let Some(offset) = inside(SCRATCH, &self.scratch) {
            return Some((&self.scratch, offset));
        }
        inside(STRINGS, &self.strings).map(|offset| (self.strings.as_slice(), offset))
    }

    /// Returns the value, or the address of the copy of a by-reference one. A variable that was never
    /// assigned is 0, except that a static by-reference one exists from the start, filled with zeros.
    pub(super) fn variable(&mut self, key: &Key) -> u64 {
        if !self.values.contains_key(key) && is_static(key) && self.by_ref(key).is_some() {
            let size = self.by_ref(key).map_or(0, |(size, _)| size);
            self.cells.push(vec![0; size]);
            self.values.insert(key.clone(), Value::Cell { index: self.cells.len() - 1, null: false });
        }
        match self.values.get(key) {
            None | Some(Value::Cell { null: true, .. }) => 0,
            Some(Value::Number(value)) => *value,
            Some(Value::Cell { index, .. }) => CELLS + *index as u64 * CELL_STRIDE,
        }
    }

    /// Sets a variable; copies the bytes at the address for a by-reference one. 0 frees a dynamic variable.
    pub(super) fn set_variable(
        &mut self,
        machine: &mut dyn Machine,
        key: Key,
        value: u64,
    ) -> Result<(), Trouble> {
        if value == 0 && !is_static(&key) {
            if let Some(Value::Cell { index, .. }) = self.values.remove(&key)
                && let Some(cell) = self.cells.get_mut(index)
            {
                cell.clear();
            }
            return Ok(());
        }
        let Some((size, kind)) = self.by_ref(&key) else {
            self.values.insert(key, Value::Number(value));
            return Ok(());
        };
        let present = self.values.get(&key).copied();
        let index = match present {
            Some(Value::Cell { index, .. }) => index,
            _ => {
                self.cells.push(vec![0; size]);
                self.cells.len() - 1
            }
        };
        if value == 0 {
            self.values.insert(key, Value::Cell { index, null: true });
            return Ok(());
        }
        let mut bytes = match kind {
            TypeKind::String => self.string(machine, Space::Kernel, value, size as u64 - 1)?,
            TypeKind::D => self.load(machine, Space::Kernel, value, size as u64)?,
        };
        if kind == TypeKind::String {
            bytes.push(0);
        }
        if let Some(room) = self.cells.get_mut(index).and_then(|cell| cell.get_mut(..bytes.len())) {
            room.copy_from_slice(&bytes);
        }
        self.values.insert(key, Value::Cell { index, null: false });
        Ok(())
    }

    /// Returns the size in bytes and the kind of a variable whose value is copied.
    fn by_ref(&self, key: &Key) -> Option<(usize, TypeKind)> {
        let ty = self.declared.get(&(key.scope, key.id))?.ty;
        let size = if ty.kind == TypeKind::String && ty.size == 0 { self.strsize } else { ty.size };
        (ty.by_ref && size > 0).then_some((size as usize, ty.kind))
    }
}

/// Whether the variable has a fixed place.
fn is_static(key: &Key) -> bool {
    key.element.is_none() && key.scope != Scope::Thread
}

fn cell_of(address: u64) -> Option<(usize, usize)> {
    let offset = address.checked_sub(CELLS)?;
    let index = usize::try_from(offset / CELL_STRIDE).ok().filter(|index| *index < 1 << 20)?;
    Some((index, (offset % CELL_STRIDE) as usize))
}
