//! bpf/btf.rs: a description of a program's functions in BTF, the kernel's type format.

use super::asm::{Code, FunctionKind};
use std::collections::HashMap;

/// Header: the magic number, a version, flags, and the header's size.
const HEADER: [u8; 8] = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0];

/// Kinds of types.
const INT: u32 = 1;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
/// The linkage of a function: static or global.
const STATIC: u32 = 0;
const GLOBAL: u32 = 1;

/// Types of a program's functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Types {
    /// The types, as BPF_BTF_LOAD takes them.
    pub btf: Vec<u8>,
    /// For each function, the unit that it begins at and its type: 4 bytes each.
    pub functions: Vec<u8>,
}

struct Writer {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Id of the last type.
    last: u32,
}

impl Writer {
    fn word(&mut self, word: u32) {
        self.types.extend(word.to_ne_bytes());
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.strings.len() as u32;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        at
    }

    /// Begins a type: its name, kind, a small number that depends on the kind, and a size or another type.
    fn begin(&mut self, name: &str, kind: u32, number: u32, other: u32) -> u32 {
        let name = self.string(name);
        self.word(name);
        self.word(kind << 24 | number);
        self.word(other);
        self.last += 1;
        self.last
    }
}

/// Describes the functions of a program.
pub fn describe(code: &Code) -> Types {
    let mut writer = Writer { types: Vec::new(), strings: vec![0], last: 0 };
    let number = writer.begin("u64", INT, 0, 8);
    writer.word(64);
    let mut known: HashMap<FunctionKind, u32> = HashMap::new();
    let mut functions = Vec::new();
    for (at, kind) in &code.functions {
        let ty = match known.get(kind) {
            Some(ty) => *ty,
            None => function(&mut writer, *kind, number),
        };
        known.insert(*kind, ty);
        functions.extend((*at as u32).to_ne_bytes());
        functions.extend(ty.to_ne_bytes());
    }
    let mut btf = HEADER.to_vec();
    let (types, strings) = (writer.types.len() as u32, writer.strings.len() as u32);
    [0, types, types, strings].iter().for_each(|word| btf.extend(word.to_ne_bytes()));
    btf.extend(writer.types);
    btf.extend(writer.strings);
    Types { btf, functions }
}

fn function(writer: &mut Writer, kind: FunctionKind, number: u32) -> u32 {
    let (name, arity, linkage) = match kind {
        FunctionKind::Static => ("object", 0, STATIC),
        FunctionKind::Global { name, arity } => (name, u32::from(arity), GLOBAL),
    };
    let prototype = writer.begin("", FUNC_PROTO, arity, number);
    for argument in 0..arity {
        let name = writer.string(["a", "b", "c", "d", "e"].get(argument as usize).unwrap_or(&"f"));
        writer.word(name);
        writer.word(number);
    }
    writer.begin(name, FUNC, linkage, prototype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_types() {
        let global = FunctionKind::Global { name: "join", arity: 2 };
        let functions =
            vec![(0, FunctionKind::Static), (7, global), (90, FunctionKind::Static), (95, global)];
        let types = describe(&Code { insns: Vec::new(), functions });
        let words: Vec<u32> = types
            .functions
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(words, [0, 3, 7, 5, 90, 3, 95, 5]);
        // u64: 16 bytes; a prototype and a function: 24; with two parameters: 40.
        assert_eq!(types.btf[12..16], 80u32.to_ne_bytes());
        assert!(types.btf.ends_with(b"\0u64\0object\0a\0b\0join\0"));
    }
}
