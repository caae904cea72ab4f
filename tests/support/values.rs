//! values.rs: values of Rust for the tests: slices, enums with and without a niche, generics, methods of traits.

pub enum Shape {
    Empty,
    Circle(f64),
    Rect { w: u32, h: u32 },
}

pub struct P {
    pub x: i32,
    pub tags: Vec<u16>,
    pub next: Option<Box<P>>,
    pub ok: bool,
    pub pair: (u8, i16),
    pub result: Result<u8, String>,
    pub some: Option<u32>,
    pub shape: Shape,
}

pub trait Area {
    fn area(&self) -> i32;
}

impl Area for P {
    #[inline(never)]
    fn area(&self) -> i32 {
        std::hint::black_box(self).x * 2
    }
}

#[inline(never)]
pub fn look(p: &P) -> i32 {
    std::hint::black_box(p).x
}

#[inline(never)]
pub fn see(shape: &Shape) -> u32 {
    match std::hint::black_box(shape) {
        Shape::Empty => 0,
        Shape::Circle(r) => *r as u32,
        Shape::Rect { w, h } => w * h,
    }
}

#[inline(never)]
pub fn text(name: &str, list: &[u32]) -> usize {
    std::hint::black_box(name).len() + std::hint::black_box(list).len()
}

fn main() {
    let last = P {
        x: 1,
        tags: vec![],
        next: None,
        ok: false,
        pair: (1, -2),
        result: Ok(9),
        some: None,
        shape: Shape::Empty,
    };
    let p = P {
        x: 7,
        tags: vec![1, 2, 3],
        next: Some(Box::new(last)),
        ok: true,
        pair: (3, -4),
        result: Err("no".into()),
        some: Some(77),
        shape: Shape::Rect { w: 3, h: 4 },
    };
    println!("{} {}", look(&p), p.area());
    look(p.next.as_ref().unwrap());
    println!("{}", see(&p.shape) + see(&Shape::Circle(1.5)) + see(&Shape::Empty));
    let (name, list) = std::hint::black_box(("hello".to_owned(), vec![1, 2, 3]));
    println!("{} {}", text(&name, &list), text(&name[5..], &list));
}
