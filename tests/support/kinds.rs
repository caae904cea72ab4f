//! kinds.rs: values of Rust of many kinds, each of which the program prints itself, for a comparison.

#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::hint::black_box;
use std::num::{NonZeroU8, NonZeroU64};
use std::rc::Rc;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plain {
    Red,
    Green = 7,
    Blue = -3,
}

#[derive(Debug, Clone)]
pub enum Shape {
    Empty,
    Circle(f64),
    Rect { w: u32, h: u32 },
    Named(String, Option<u8>),
}

#[derive(Debug, Clone)]
#[repr(C)]
pub struct Fields {
    small: i8,
    wide: u64,
    flag: bool,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, packed)]
pub struct Packed {
    a: u8,
    b: u32,
    c: u16,
}

#[derive(Debug, Clone, Copy)]
pub struct Unit;

#[derive(Debug, Clone, Copy)]
pub struct Tuple(u16, i64);

#[derive(Debug, Clone, Copy)]
pub struct Wrapper<T> {
    inner: T,
}

#[derive(Debug, Clone)]
pub struct Node {
    number: u32,
    next: Option<Box<Node>>,
}

#[derive(Debug)]
pub struct Borrowed<'a> {
    name: &'a str,
    list: &'a [i16],
    one: &'a u64,
}

pub trait Speak {
    fn speak(&self) -> u32;
}

impl Speak for Tuple {
    fn speak(&self) -> u32 {
        u32::from(self.0)
    }
}

#[inline(never)]
pub fn see<T: ?Sized>(value: &T) {
    black_box(value);
}

pub mod shown {
    //! A function for each kind, so that its value has a name.
    macro_rules! shown {
        ($($name:ident: $ty:ty;)*) => {
            $(
                #[inline(never)]
                pub fn $name(value: &$ty) {
                    println!("{}={:?}", stringify!($name), value);
                    super::see(value);
                }
            )*
        };
    }
    use super::*;
    shown! {
        a_u8: u8;
        a_i8: i8;
        a_u16: u16;
        a_i16: i16;
        a_u32: u32;
        a_i32: i32;
        a_u64: u64;
        a_i64: i64;
        a_u128: u128;
        a_i128: i128;
        a_usize: usize;
        a_isize: isize;
        a_bool: bool;
        a_char: char;
        a_f32: f32;
        a_f64: f64;
        a_nan: f64;
        a_infinity: f32;
        a_plain: Plain;
        a_negative: Plain;
        a_empty_shape: Shape;
        a_circle: Shape;
        a_rect: Shape;
        a_named: Shape;
        a_fields: Fields;
        a_packed: Packed;
        a_tuple_struct: Tuple;
        a_wrapper: Wrapper<u8>;
        a_nested: Wrapper<Wrapper<Tuple>>;
        a_pair: (u8, i16);
        a_triple: (bool, (u8, char), f64);
        a_array: [u32; 4];
        a_array_of_arrays: [[i8; 2]; 3];
        a_array_of_tuples: [(u8, u8); 2];
        a_some: Option<u32>;
        a_none: Option<u32>;
        a_some_box: Option<Box<u32>>;
        a_none_box: Option<Box<u32>>;
        a_some_of_some: Option<Option<u8>>;
        a_some_of_none: Option<Option<u8>>;
        a_none_of_option: Option<Option<u8>>;
        a_some_box_some: Option<Box<Option<u16>>>;
        a_some_bool: Option<bool>;
        a_none_bool: Option<bool>;
        a_some_char: Option<char>;
        a_some_str: Option<&'static str>;
        a_none_str: Option<&'static str>;
        a_some_string: Option<String>;
        a_none_string: Option<String>;
        a_ok: Result<u8, String>;
        a_err: Result<u8, String>;
        a_ok_io: Result<String, std::io::Error>;
        a_nonzero: NonZeroU8;
        a_some_nonzero: Option<NonZeroU64>;
        a_none_nonzero: Option<NonZeroU64>;
        a_str: &'static str;
        a_empty_str: &'static str;
        a_unicode: &'static str;
        a_long_str: &'static str;
        a_string: String;
        a_empty_string: String;
        a_boxed_str: Box<str>;
        a_slice: &'static [u16];
        a_bytes: &'static [u8];
        a_empty_slice: &'static [u64];
        a_slice_of_strs: &'static [&'static str];
        a_vec: Vec<i32>;
        a_empty_vec: Vec<i32>;
        a_vec_of_tuples: Vec<(u8, u32)>;
        a_vec_of_strings: Vec<String>;
        a_vec_of_options: Vec<Option<u8>>;
        a_vec_of_plain: Vec<Plain>;
        a_vec_of_floats: Vec<f32>;
        a_boxed_slice: Box<[u8]>;
        a_box: Box<u64>;
        a_box_struct: Box<Fields>;
        a_list: Node;
        a_ref: &'static u32;
        a_ref_ref: &'static &'static u32;
        a_borrowed: Borrowed<'static>;
        a_ordering: std::cmp::Ordering;
        a_range: std::ops::Range<u32>;
        a_duration: std::time::Duration;
        a_rc: Rc<u32>;
        a_arc: Arc<Tuple>;
        a_cell: std::cell::Cell<u16>;
        a_vec_deque: VecDeque<u8>;
        a_map: HashMap<u8, u8>;
        a_tree: BTreeMap<u8, u8>;
        a_function: fn(u8) -> u8;
    }
    #[inline(never)]
    pub fn a_dyn(value: &dyn Speak) -> u32 {
        black_box(value).speak()
    }
    #[inline(never)]
    pub fn a_box_dyn(value: &Box<dyn Speak>) -> u32 {
        black_box(value).speak()
    }
    #[inline(never)]
    pub fn a_unit(value: &Unit) {
        super::see(value);
    }
    #[inline(never)]
    pub fn a_path(value: &std::path::PathBuf) {
        super::see(value);
    }
    #[inline(never)]
    pub fn known(value: &u8) {
        super::see(value);
    }
    #[inline(never)]
    pub fn by_value(text: &str, list: &[u32], some: Option<u32>, number: u128, last: char) -> usize {
        black_box((text, list, some, number, last));
        text.len()
    }
}

static THREE: u32 = 3;
static REF: &u32 = &THREE;
const LONG: &str = match std::str::from_utf8(&[b'x'; 300]) {
    Ok(text) => text,
    Err(_) => "",
};

fn scalars_and_enums() {
    use shown::*;
    a_u8(black_box(&200));
    a_i8(black_box(&-100));
    a_u16(black_box(&60000));
    a_i16(black_box(&-30000));
    a_u32(black_box(&4_000_000_000));
    a_i32(black_box(&-2_000_000_000));
    a_u64(black_box(&18_000_000_000_000_000_000));
    a_i64(black_box(&-9_000_000_000_000_000_000));
    a_u128(black_box(&300_000_000_000_000_000_000_000_000_000_000_000_000));
    a_i128(black_box(&-100_000_000_000_000_000_000_000_000_000_000_000_000));
    a_usize(black_box(&17));
    a_isize(black_box(&-17));
    a_bool(black_box(&true));
    a_char(black_box(&'\u{e9}'));
    a_f32(black_box(&0.1));
    a_f64(black_box(&-1.5e300));
    a_nan(black_box(&f64::NAN));
    a_infinity(black_box(&f32::NEG_INFINITY));
    a_plain(black_box(&Plain::Green));
    a_negative(black_box(&Plain::Blue));
    a_empty_shape(black_box(&Shape::Empty));
    a_circle(black_box(&Shape::Circle(2.5)));
    a_rect(black_box(&Shape::Rect { w: 3, h: 4 }));
    a_named(black_box(&Shape::Named("n".to_owned(), Some(1))));
    a_fields(black_box(&Fields { small: -1, wide: 1 << 40, flag: true }));
    a_packed(black_box(&Packed { a: 1, b: 0x0203_0405, c: 6 }));
    a_tuple_struct(black_box(&Tuple(7, -8)));
    a_wrapper(black_box(&Wrapper { inner: 9 }));
    a_nested(black_box(&Wrapper { inner: Wrapper { inner: Tuple(10, 11) } }));
    a_pair(black_box(&(12, -13)));
    a_triple(black_box(&(false, (14, 'z'), 0.5)));
    a_array(black_box(&[1, 2, 3, 4]));
    a_array_of_arrays(black_box(&[[1, -2], [3, -4], [5, -6]]));
    a_array_of_tuples(black_box(&[(1, 2), (3, 4)]));
    a_some(black_box(&Some(15)));
    a_none(black_box(&None));
    a_some_box(black_box(&Some(Box::new(16))));
    a_none_box(black_box(&None));
    a_some_of_some(black_box(&Some(Some(17))));
    a_some_of_none(black_box(&Some(None)));
    a_none_of_option(black_box(&None));
    a_some_box_some(black_box(&Some(Box::new(Some(18)))));
    a_some_bool(black_box(&Some(false)));
    a_none_bool(black_box(&None));
    a_some_char(black_box(&Some('q')));
}

fn texts_and_collections() {
    use shown::*;
    a_some_str(black_box(&Some("text")));
    a_none_str(black_box(&None));
    a_some_string(black_box(&Some("owned".to_owned())));
    a_none_string(black_box(&None));
    a_ok(black_box(&Ok(19)));
    a_err(black_box(&Err("failed".to_owned())));
    a_ok_io(black_box(&Ok("done".to_owned())));
    a_nonzero(black_box(&NonZeroU8::new(20).unwrap()));
    a_some_nonzero(black_box(&NonZeroU64::new(21)));
    a_none_nonzero(black_box(&NonZeroU64::new(0)));
    a_str(black_box(&"hello \"world\"\n"));
    a_empty_str(black_box(&""));
    a_unicode(black_box(&"d\u{e9}j\u{e0} vu \u{1f600}"));
    a_long_str(black_box(&LONG));
    a_string(black_box(&"a string".to_owned()));
    a_empty_string(black_box(&String::new()));
    a_boxed_str(black_box(&"boxed".into()));
    a_slice(black_box(&&[1, 2, 65535][..]));
    a_bytes(black_box(&&b"\x00ab"[..]));
    a_empty_slice(black_box(&&[][..]));
    a_slice_of_strs(black_box(&&["one", "two", "three"][..]));
    a_vec(black_box(&vec![1, -2, 3]));
    a_empty_vec(black_box(&Vec::new()));
    a_vec_of_tuples(black_box(&vec![(1, 2), (3, 4)]));
    a_vec_of_strings(black_box(&vec!["uno".to_owned(), "dos".to_owned()]));
    a_vec_of_options(black_box(&vec![Some(1), None, Some(3)]));
    a_vec_of_plain(black_box(&vec![Plain::Red, Plain::Blue]));
    a_vec_of_floats(black_box(&vec![1.25, -2.5]));
    a_boxed_slice(black_box(&vec![1, 2, 3].into_boxed_slice()));
    a_box(black_box(&Box::new(22)));
    a_box_struct(black_box(&Box::new(Fields { small: 1, wide: 2, flag: false })));
    a_list(black_box(&Node { number: 1, next: Some(Box::new(Node { number: 2, next: None })) }));
    a_ref(black_box(&&THREE));
    a_ref_ref(black_box(&&REF));
    a_borrowed(black_box(&Borrowed { name: "borrowed", list: &[-1, -2], one: &23 }));
    a_ordering(black_box(&std::cmp::Ordering::Less));
    a_range(black_box(&(24..25)));
    a_duration(black_box(&std::time::Duration::new(26, 27)));
    a_rc(black_box(&Rc::new(28)));
    a_arc(black_box(&Arc::new(Tuple(29, 30))));
    a_cell(black_box(&std::cell::Cell::new(31)));
    a_vec_deque(black_box(&VecDeque::from([1, 2])));
    a_map(black_box(&HashMap::from([(1, 2)])));
    a_tree(black_box(&BTreeMap::from([(1, 2)])));
    a_function(black_box(&(u8::swap_bytes as fn(u8) -> u8)));
}

fn main() {
    use shown::*;
    scalars_and_enums();
    texts_and_collections();
    a_dyn(black_box(&Tuple(32, 33)));
    let boxed: Box<dyn Speak> = Box::new(Tuple(34, 35));
    a_box_dyn(black_box(&boxed));
    a_unit(black_box(&Unit));
    a_path(black_box(&"/tmp/x".into()));
    let text = black_box("by value");
    by_value(text, black_box(&[1, 2]), black_box(Some(36)), black_box(37), black_box('l'));
    known(&39);
}
