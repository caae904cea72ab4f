//! sites/code/pclntab.rs: the table of functions that each Go program has for its own runtime, stripped or not.

use std::ops::Range;

/// Sections of a program with the table; a position-independent program has it among the data that are relocated.
pub(crate) const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];

/// Offset of the word in the header that has the address of the text.
pub(crate) const TEXT_START: u64 = 24;

/// Bytes of a header: 8 of magic and sizes, and eight words.
const HEADER: usize = 72;
/// Bytes of an entry in the list of functions: the offset of the code, and of the description.
const ENTRY: usize = 8;

/// PCDATA_InlTreeIndex: the inlined call that an instruction belongs to.
const TREE_INDEX: usize = 2;
/// FUNCDATA_InlTree: the inlined calls of a function.
const TREE: usize = 3;
/// FuncFlagTopFrame, FuncFlagSPWrite, FuncFlagAsm
const TOP_FRAME: u8 = 1;
const SP_WRITE: u8 = 2;
const ASSEMBLY: u8 = 4;
/// The deepest nesting of inlined calls that is followed.
const DEEPEST: usize = 128;

/// The formats, by the versions of Go that write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// 1.18 and 1.19.
    Go118,
    /// Since 1.20.
    Go120,
}

/// Why a table cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// An older format, and the versions of Go that write it.
    #[error("the program was built by Go {0}; the functions of Go 1.18 and later are known without symbols")]
    Old(&'static str),
    /// Not a format of Go that is known here.
    #[error("the program's table of functions has an unknown format")]
    Unknown,
    /// Offsets lead out of the table.
    #[error("the program's table of functions is damaged")]
    Damaged,
}

/// A function of a Go program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoFunction<'a> {
    /// `main.(*T).Method`; the arguments of generics are `[...]`.
    pub name: &'a str,
    /// Address of its first instruction, in the file's layout.
    pub address: u64,
    /// Bytes of code, without the padding after it.
    pub size: u64,
    /// Whether it is written in assembly code.
    pub is_assembly: bool,
    /// Whether it has no caller: a thread or goroutine begins with it.
    pub is_outermost: bool,
    /// Whether it moves the stack pointer to another stack.
    pub switches: bool,
    /// Offset of its description.
    at: usize,
}

/// An inlined call in a function of a Go program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoInlined<'a> {
    /// Name of the function that is inlined.
    pub name: &'a str,
    /// Its number in the function's tree.
    pub index: u32,
    /// Sorted and disjoint, with the code of the calls inlined into it.
    pub ranges: Vec<Range<u64>>,
}

/// The table of functions.
pub struct GoTable<'a> {
    bytes: &'a [u8],
    format: Format,
    /// Address of the first function.
    text: u64,
    /// Names, values by program counter, and descriptions, as offsets in the table.
    names: usize,
    values: usize,
    functions: usize,
    count: usize,
}

impl<'a> GoTable<'a> {
    /// Parses the header. `text` is the address of the text, if the loader puts it into the table.
    pub fn parse(bytes: &'a [u8], text: Option<u64>) -> Result<GoTable<'a>, Unreadable> {
        let format = match word32(bytes, 0).ok_or(Unreadable::Damaged)? {
            0xffff_fff1 => Format::Go120,
            0xffff_fff0 => Format::Go118,
            0xffff_fffa => return Err(Unreadable::Old("1.16 or 1.17")),
            0xffff_fffb => return Err(Unreadable::Old("1.15 or older")),
            _ => return Err(Unreadable::Unknown),
        };
        // The padding, the unit of program counters, and the size of an address.
        let sizes = bytes.get(4..8).ok_or(Unreadable::Damaged)?;
        if sizes != [0, 0, 1, 8] || bytes.len() < HEADER {
            return Err(Unreadable::Damaged);
        }
        let word = |number: usize| word64(bytes, 8 + 8 * number).ok_or(Unreadable::Damaged);
        let offset = |number: usize| usize::try_from(word(number)?).map_err(|_| Unreadable::Damaged);
        let (count, names, values, functions) = (offset(0)?, offset(3)?, offset(6)?, offset(7)?);
        let text = text.map_or_else(|| word(2), Ok)?;
        let most = bytes.len().saturating_sub(functions) / ENTRY;
        if count > most || names > bytes.len() || values > bytes.len() {
            return Err(Unreadable::Damaged);
        }
        Ok(GoTable { bytes, format, text, names, values, functions, count })
    }

    /// Returns the functions by address. `code` returns the number of bytes of code from an address on; functions without
    /// code, and those that are not in order, are left out.
    pub fn functions(&self, code: &dyn Fn(u64) -> u64) -> Vec<GoFunction<'a>> {
        let mut functions: Vec<GoFunction<'a>> = Vec::new();
        let mut highest = 0;
        // No code belongs to two functions, so that the time to read their values is limited by the size of the code.
        let in_order = (0..self.count).filter(|number| {
            let start = self.start(*number).unwrap_or(0);
            let is_later = start >= highest;
            highest = highest.max(start);
            is_later
        });
        for function in in_order.filter_map(|number| self.function(number, code)) {
            if functions.last().is_none_or(|last| last.address < function.address) {
                functions.push(function);
            }
        }
        functions
    }

    /// Returns the function that contains an address.
    pub fn containing(&self, address: u64, code: &dyn Fn(u64) -> u64) -> Option<GoFunction<'a>> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.start(middle)? <= offset { low = middle + 1 } else { high = middle }
        }
        let function = self.function(low.checked_sub(1)?, code)?;
        (address - function.address < function.size).then_some(function)
    }

    /// Reads a function of the list.
    fn function(&self, number: usize, code: &dyn Fn(u64) -> u64) -> Option<GoFunction<'a>> {
        let (entry, next) = (self.start(number)?, self.start(number + 1)?);
        let address = self.text.wrapping_add(entry.into());
        let room = u64::from(next).saturating_sub(entry.into()).min(code(address));
        let at = word32(self.bytes, self.functions + ENTRY * number + 4)? as usize;
        let at = self.functions.checked_add(at).filter(|_| room > 0)?;
        let name = self.name(word32(self.bytes, at.checked_add(4)?)?)?;
        let flags = *self.bytes.get(at.checked_add(self.fixed() - 3)?)?;
        Some(GoFunction {
            name,
            address,
            size: self.extent(at, room),
            is_assembly: flags & ASSEMBLY != 0,
            is_outermost: flags & TOP_FRAME != 0,
            switches: flags & SP_WRITE != 0,
            at,
        })
    }

    /// Returns the inlined calls of a function; `trees` has the bytes to which offsets of its data refer.
    pub fn inlined(&self, function: &GoFunction<'_>, trees: &[u8]) -> Vec<GoInlined<'a>> {
        let runs = self.runs(function);
        let tree = self.tree(function.at).and_then(|offset| trees.get(offset..));
        let Some(tree) = tree.filter(|_| !runs.is_empty()) else { return Vec::new() };
        let mut calls: Vec<GoInlined<'a>> = Vec::new();
        for (range, index) in &runs {
            let mut next = Some(*index);
            for _ in 0..DEEPEST {
                let Some(index) = next else { break };
                let Some((name, parent)) = self.call(tree, index, function.address, &runs) else { break };
                let place = calls.binary_search_by_key(&index, |call| call.index);
                let place = place.unwrap_or_else(|place| {
                    calls.insert(place, GoInlined { name, index, ranges: Vec::new() });
                    place
                });
                let ranges = &mut calls[place].ranges;
                match ranges.last_mut() {
                    // A call that is its own caller is damaged.
                    Some(last) if last.end > range.start => break,
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => ranges.push(range.clone()),
                }
                next = parent;
            }
        }
        calls
    }

    /// Returns the bytes of the stack from the stack pointer to the return address, at an instruction of a function.
    pub fn frame(&self, function: &GoFunction<'_>, address: u64) -> Option<u64> {
        let offset = address.checked_sub(function.address)?;
        let table = word32(self.bytes, function.at.checked_add(16)?).filter(|table| *table != 0)?;
        let mut found = None;
        self.each_value(table, function.size, |range, value| {
            if range.contains(&offset) {
                found = u64::try_from(value).ok();
            }
        });
        found
    }

    /// Returns the parts of a function that are inlined calls, and their numbers.
    fn runs(&self, function: &GoFunction<'_>) -> Vec<(Range<u64>, u32)> {
        let count = word32(self.bytes, function.at + 28).unwrap_or(0) as usize;
        let table =
            (count > TREE_INDEX).then(|| word32(self.bytes, function.at + self.fixed() + 4 * TREE_INDEX));
        let Some(offset) = table.flatten().filter(|offset| *offset != 0) else { return Vec::new() };
        let mut runs = Vec::new();
        self.each_value(offset, function.size, |range, value| {
            if let Ok(index) = u32::try_from(value) {
                let at = |offset: u64| function.address.wrapping_add(offset);
                runs.push((at(range.start)..at(range.end), index));
            }
        });
        runs
    }

    /// Returns the offset of a function's tree of inlined calls.
    fn tree(&self, at: usize) -> Option<usize> {
        let values = word32(self.bytes, at + 28)? as usize;
        let trees = usize::from(*self.bytes.get(at + self.fixed() - 1)?);
        let place = values.checked_add(TREE)?.checked_mul(4)?.checked_add(at + self.fixed())?;
        let offset = (trees > TREE).then(|| word32(self.bytes, place))??;
        (offset != u32::MAX).then_some(offset as usize)
    }

    /// Reads an inlined call: its function, and the call that it is in.
    fn call(
        &self,
        tree: &[u8],
        index: u32,
        start: u64,
        runs: &[(Range<u64>, u32)],
    ) -> Option<(&'a str, Option<u32>)> {
        match self.format {
            // parent, kind, file, line, name, place in the parent
            Format::Go118 => {
                let at = (index as usize).checked_mul(20)?;
                let parent = tree.get(at..at.checked_add(2)?)?;
                let parent = i16::from_le_bytes(parent.try_into().ok()?);
                Some((self.name(word32(tree, at + 12)?)?, u32::try_from(parent).ok()))
            }
            // kind, name, place in the parent, first line
            Format::Go120 => {
                let at = (index as usize).checked_mul(16)?;
                let place = start.wrapping_add(word32(tree, at.checked_add(8)?)?.into());
                let after = runs.partition_point(|(range, _)| range.start <= place);
                let parent = runs[..after].last().filter(|(range, _)| range.contains(&place));
                Some((self.name(word32(tree, at + 4)?)?, parent.map(|(_, index)| *index)))
            }
        }
    }

    /// Returns the bytes of code that the function's own tables describe; the rest up to the next function is padding.
    fn extent(&self, at: usize, room: u64) -> u64 {
        // Stack pointer, file, line.
        let tables = [16, 20, 24].map(|field| word32(self.bytes, at + field).unwrap_or(0));
        let ends = tables.into_iter().filter(|offset| *offset != 0).map(|offset| {
            let mut end = 0;
            self.each_value(offset, room, |range, _| end = range.end);
            end
        });
        ends.max().filter(|end| *end > 0).unwrap_or(room)
    }

    /// Calls `visit` with the ranges of a table of values, as offsets from the function, up to `room`.
    fn each_value(&self, offset: u32, room: u64, mut visit: impl FnMut(Range<u64>, i32)) {
        let Some(mut rest) = self.bytes.get(self.values..).and_then(|all| all.get(offset as usize..)) else {
            return;
        };
        let (mut start, mut value, mut is_first) = (0_u64, -1_i32, true);
        while start < room {
            let Some(change) = varint(&mut rest).filter(|change| is_first || *change != 0) else { return };
            // A sign in the lowest bit.
            let change = (change >> 1) as i32 ^ -((change & 1) as i32);
            value = value.wrapping_add(change);
            let Some(length) = varint(&mut rest).filter(|length| *length > 0) else { return };
            let end = start.saturating_add(length.into()).min(room);
            visit(start..end, value);
            (start, is_first) = (end, false);
        }
    }

    /// Returns the size of a description before its lists.
    fn fixed(&self) -> usize {
        match self.format {
            Format::Go118 => 40,
            Format::Go120 => 44,
        }
    }

    /// Returns the offset of a function's code, or of the end of the last one.
    fn start(&self, number: usize) -> Option<u32> {
        word32(self.bytes, self.functions + ENTRY * number)
    }

    fn name(&self, offset: u32) -> Option<&'a str> {
        let names = self.bytes.get(self.names..)?.get(offset as usize..)?;
        let end = memchr::memchr(0, names.get(..names.len().min(LONGEST_NAME))?)?;
        str::from_utf8(&names[..end]).ok().filter(|name| !name.is_empty())
    }
}

/// Longer names are damaged.
const LONGEST_NAME: usize = 1 << 14;

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Reads seven bits of each byte, the lowest first, up to one without the highest bit.
fn varint(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u32;
    for shift in (0..35).step_by(7) {
        let (first, others) = rest.split_first()?;
        *rest = others;
        value |= u32::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: u64 = 0x40_1000;
    const NAMES: &[u8] = b"\0main.main\0main.f\0main.small\0main.inner\0";

    /// Values by program counter: each value and its bytes of code.
    fn values(runs: &[(i32, u8)]) -> Vec<u8> {
        let mut last = -1;
        let mut bytes = Vec::new();
        for (value, length) in runs {
            let change = value - last;
            bytes.extend([((change << 1) ^ (change >> 31)) as u8, *length]);
            last = *value;
        }
        bytes.push(0);
        bytes
    }

    /// A table of two functions, and the data of the first: it has an inlined call with another one in it.
    fn table(magic: u32) -> (Vec<u8>, Vec<u8>) {
        let is_later = magic == 0xffff_fff1;
        let name = |text: &str| memchr::memmem::find(NAMES, text.as_bytes()).unwrap() as u32;
        let mut pctab = vec![0];
        let mut add = |runs: &[(i32, u8)]| {
            let at = pctab.len() as u32;
            pctab.extend(values(runs));
            at
        };
        let frames = add(&[(0, 4), (24, 40), (0, 4)]);
        let index = add(&[(-1, 16), (0, 8), (1, 8), (0, 4), (-1, 12)]);
        let leaf = add(&[(0, 16)]);
        let function = |entry: u32, text: &str, frames: u32, index: u32, flag: u8| {
            let mut words = vec![entry, name(text), 0, 0, frames, frames, frames, 3, 0];
            words.extend(is_later.then_some(7));
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.extend([0, flag, 0, 4]);
            let lists = [0, 0, index, u32::MAX, u32::MAX, u32::MAX, if index == 0 { u32::MAX } else { 8 }];
            bytes.extend(lists.iter().flat_map(|word| word.to_le_bytes()));
            bytes
        };
        // Three entries, the last one without a description.
        let (first, second) =
            (function(0, "main.main", frames, index, 0), function(0x40, "main.f", leaf, 0, ASSEMBLY));
        let at = 20_u32;
        let list = [0, at, 0x40, at + first.len() as u32, 0x60];
        let list: Vec<u8> = list.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (names, pctab_at) = (HEADER, HEADER + NAMES.len());
        let functions = pctab_at + pctab.len();
        let mut bytes = [&magic.to_le_bytes()[..], &[0, 0, 1, 8]].concat();
        for word in [2, 0, TEXT as usize, names, names, names, pctab_at, functions] {
            bytes.extend((word as u64).to_le_bytes());
        }
        bytes.extend([NAMES, &pctab, &list, &first, &second].concat());
        let call = |text: &str, parent: i16, place: u32| match is_later {
            true => [[0, 0, 0, 0], name(text).to_le_bytes(), place.to_le_bytes(), [1, 0, 0, 0]].concat(),
            false => {
                let parent = [&parent.to_le_bytes()[..], &[0, 0]].concat();
                [&parent[..], &[0; 8], &name(text).to_le_bytes(), &place.to_le_bytes()].concat()
            }
        };
        let trees = [vec![0; 8], call("main.small", -1, 4), call("main.inner", 0, 17)].concat();
        (bytes, trees)
    }

    fn code(address: u64) -> u64 {
        if address >= TEXT { (TEXT + 0x60).saturating_sub(address) } else { 0 }
    }

    #[test]
    fn functions_and_their_frames() {
        for magic in [0xffff_fff0, 0xffff_fff1] {
            let (bytes, _) = table(magic);
            let table = GoTable::parse(&bytes, None).unwrap();
            let functions = table.functions(&code);
            let found: Vec<_> =
                functions.iter().map(|one| (one.name, one.address, one.size, one.is_assembly)).collect();
            assert_eq!(found, [("main.main", TEXT, 48, false), ("main.f", TEXT + 0x40, 16, true)]);
            let frame = |offset: u64| table.frame(&functions[0], TEXT + offset);
            assert_eq!([frame(0), frame(4), frame(43), frame(44)], [Some(0), Some(24), Some(24), Some(0)]);
            assert_eq!(frame(48), None);
            let at = |offset: u64| table.containing(TEXT + offset, &code).map(|one| one.name);
            assert_eq!(
                [at(0), at(47), at(48), at(0x40)],
                [Some("main.main"), Some("main.main"), None, Some("main.f")]
            );
            assert_eq!((at(0x50), table.containing(TEXT - 1, &code)), (None, None));
            assert_eq!(GoTable::parse(&bytes, Some(0x1000)).unwrap().functions(&code), []);
        }
    }

    #[test]
    fn inlined_calls() {
        for magic in [0xffff_fff0, 0xffff_fff1] {
            let (bytes, trees) = table(magic);
            let table = GoTable::parse(&bytes, None).unwrap();
            let functions = table.functions(&code);
            let calls = table.inlined(&functions[0], &trees);
            let found: Vec<_> = calls.iter().map(|call| (call.name, &call.ranges[..])).collect();
            let (outer, inner) = (TEXT + 16..TEXT + 36, TEXT + 24..TEXT + 32);
            assert_eq!(found, [("main.small", &[outer][..]), ("main.inner", &[inner][..])]);
            assert_eq!(table.inlined(&functions[1], &trees), []);
            assert_eq!(table.inlined(&functions[0], &[]), []);
        }
    }

    #[test]
    fn other_formats() {
        let of = |magic: u32| GoTable::parse(&table(magic).0, None).err();
        assert_eq!(of(0xffff_fffa), Some(Unreadable::Old("1.16 or 1.17")));
        assert_eq!(of(0xffff_fffb), Some(Unreadable::Old("1.15 or older")));
        assert_eq!(of(0x1234), Some(Unreadable::Unknown));
        assert_eq!(GoTable::parse(&[], None).err(), Some(Unreadable::Damaged));
        assert_eq!(
            GoTable::parse(&table(0xffff_fff1).0[..HEADER - 1], None).err(),
            Some(Unreadable::Damaged)
        );
    }

    #[test]
    fn no_bytes_are_trusted() {
        let read = |bytes: &[u8], trees: &[u8]| {
            let Ok(table) = GoTable::parse(bytes, None) else { return };
            for function in table.functions(&code) {
                table.inlined(&function, trees);
                table.frame(&function, function.address + 1);
                table.containing(function.address, &code);
            }
        };
        for magic in [0xffff_fff0, 0xffff_fff1] {
            let (bytes, trees) = table(magic);
            for end in 0..bytes.len() {
                read(&bytes[..end], &trees);
            }
            for at in 0..bytes.len() + trees.len() {
                for value in [0, 1, 2, 8, 0x10, 0x7f, 0x80, 0xff] {
                    let (mut bytes, mut trees) = (bytes.clone(), trees.clone());
                    match bytes.get_mut(at) {
                        Some(byte) => *byte = value,
                        None => trees[at - bytes.len()] = value,
                    }
                    read(&bytes, &trees);
                }
            }
        }
    }
}
