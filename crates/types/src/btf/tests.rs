//! types/btf/tests.rs: tests of both variants of the format, on files that are built here.

use super::format::Malformed;
use super::reader::Btf;
use crate::ty::Type;
use std::sync::Arc;

/// The kinds of inline sites, with their proposed numbers.
const LOC_PARAM: u32 = 20;
const LOC_PROTO: u32 = 21;
const LOC_SECTION: u32 = 22;

/// A BTF file under construction.
#[derive(Default)]
struct File {
    types: Vec<u8>,
    strings: Vec<u8>,
    layout: Vec<u8>,
    /// The offset of the first string, and the id of the first type.
    first: (u32, u32),
    count: u32,
}

impl File {
    fn name(&mut self, name: &str) -> u32 {
        let at = self.first.0 + self.strings.len() as u32;
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        at
    }

    /// Adds a record and returns its id.
    fn record(&mut self, name: &str, kind: u32, count: u32, size: u32, tail: &[u32]) -> u32 {
        let name = if name.is_empty() { 0 } else { self.name(name) };
        let words = [name, kind << 24 | count, size];
        self.types.extend(words.iter().chain(tail).flat_map(|word| word.to_le_bytes()));
        self.count += 1;
        self.first.1 + self.count
    }

    /// Describes kinds 0 to 22, as the kernel does from those that its pahole knew.
    fn with_layout(mut self) -> File {
        let sizes = |kind: u32| match kind {
            1 | 14 | 17 => [4, 0],
            3 => [12, 0],
            4 | 5 | 15 | 19 => [0, 12],
            6 | 13 => [0, 8],
            LOC_PARAM => [8, 0],
            LOC_PROTO => [0, 4],
            LOC_SECTION => [0, 16],
            _ => [0, 0],
        };
        self.layout = (0..=LOC_SECTION).flat_map(|kind| [sizes(kind)[0], sizes(kind)[1], 0, 0]).collect();
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let header = if self.layout.is_empty() { 24 } else { 32_u32 };
        let lens = [&self.types, &self.layout, &self.strings].map(|section| section.len() as u32);
        let mut words = vec![header, 0, lens[0], lens[0] + lens[1], lens[2]];
        if header == 32 {
            words.extend([lens[0], lens[1]]);
        }
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        [bytes, self.types.clone(), self.layout.clone(), self.strings.clone()].concat()
    }
}

/// `int`, records of inline sites, and after them a struct and a function with an `int`.
fn with_sites() -> File {
    let mut file = File::default();
    file.name("");
    let int = file.record("int", 1, 0, 4, &[1 << 24 | 32]);
    let parameter = file.record("", LOC_PARAM, 0, 8, &[5, 0]);
    let places = file.record("", LOC_PROTO, 2, 0, &[parameter, parameter]);
    file.record(".text", LOC_SECTION, 2, 0, &[0, 0, places, 0x1000, 0, 0, places, 0x2000]);
    let field = file.name("field");
    file.record("after", 4, 1, 4, &[field, int, 0]);
    let prototype = file.record("", 13, 1, int, &[field, int]);
    file.record("called", 12, 1, prototype, &[]);
    file
}

fn parsed(file: &File) -> Result<Btf, Malformed> {
    Btf::parse(file.bytes(), None, 0)
}

#[test]
fn kinds_of_inline_sites_are_skipped_by_the_layout() {
    let btf = parsed(&with_sites().with_layout()).expect("a file");
    let Some(Type::Record(after)) = btf.tagged(crate::TagKind::Struct, "after") else {
        panic!("no struct");
    };
    let members = btf.members(after.id.index);
    assert_eq!(members.len(), 1, "{members:?}");
    assert_eq!(members[0].name, "field");
    let called = btf.prototype("called").expect("a function");
    assert_eq!(called.params.len(), 1);
    assert_eq!(called.params[0].0, "field");
    assert!(btf.named("int").is_some());
}

#[test]
fn without_a_layout_they_are_named() {
    assert_eq!(parsed(&with_sites()).err(), Some(Malformed::Kind(LOC_PARAM)));
    let mut short = with_sites().with_layout();
    short.layout.truncate(20 * 4);
    assert_eq!(parsed(&short).err(), Some(Malformed::Kind(LOC_PARAM)));
    let text = Malformed::Kind(LOC_PARAM).to_string();
    assert!(text.contains("kind 20"), "{text}");
}

#[test]
fn a_module_may_have_the_layout_of_the_kernel() {
    let base = Arc::new(parsed(&with_sites().with_layout()).expect("a file"));
    let kernel = with_sites();
    let mut module = File { first: (kernel.strings.len() as u32, kernel.count), ..File::default() };
    module.record("", LOC_PARAM, 0, 8, &[5, 0]);
    module.record("own", 8, 0, 1, &[]);
    let module = Btf::parse(module.bytes(), Some(base), 1).expect("a module");
    assert!(matches!(module.named("own"), Some(Type::Typedef { .. })));
}

#[test]
fn more_elements_than_sixteen_bits_count() {
    const MANY: u32 = 70_000;
    let mut file = File::default();
    file.name("");
    let values: Vec<u32> = (0..MANY).flat_map(|value| [0, value]).collect();
    let many = file.record("many", 6, MANY, 4, &values);
    file.record("after", 8, 0, many, &[]);
    let btf = parsed(&file.with_layout()).expect("a file");
    assert!(btf.named("after").is_some());
    let values = btf.enumerators(many.into());
    assert_eq!(values.len(), MANY as usize);
    assert_eq!(values.last().map(|(_, value)| *value), Some(i64::from(MANY) - 1));
}

#[test]
fn a_kind_beyond_five_bits() {
    let mut file = File::default();
    file.name("");
    file.record("", 0x7f, 3, 0, &[1, 2, 3, 4]);
    let int = file.record("int", 1, 0, 4, &[1 << 24 | 32]);
    assert_eq!(parsed(&file).err(), Some(Malformed::Kind(0x7f)));
    file.layout = (0..0x80).flat_map(|kind| if kind == 0x7f { [4, 4, 0, 0] } else { [0; 4] }).collect();
    let btf = parsed(&file).expect("a file");
    assert!(btf.named("int").is_some() && btf.record(int).is_some() && btf.record(1).is_none());
}

#[test]
fn a_file_that_is_cut_is_refused() {
    let bytes = with_sites().with_layout().bytes();
    for len in 0..bytes.len() {
        assert!(Btf::parse(bytes[..len].to_vec(), None, 0).is_err(), "cut to {len}");
    }
}

proptest::proptest! {
    #[test]
    fn damage_does_not_panic(edits in proptest::collection::vec((0_usize..600, 0_u8..), 0..10)) {
        let mut bytes = with_sites().with_layout().bytes();
        for (at, value) in edits {
            let len = bytes.len();
            bytes[at % len] = value;
        }
        let Ok(btf) = Btf::parse(bytes, None, 0) else { return Ok(()) };
        for name in ["int", "after", "called", "field"] {
            btf.named(name);
            btf.prototype(name);
            btf.tagged(crate::TagKind::Struct, name);
        }
        for id in 0..20 {
            btf.ty(id);
            btf.members(id.into());
            btf.enumerators(id.into());
        }
    }
}
