//! traits.rs: methods of traits, generics, a closure and async functions, by the names that a user types.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub trait Area {
    fn area(&self) -> i32;
    fn twice(&self) -> i32 {
        self.area() * 2
    }
}

pub struct P(i32);
pub struct Q<T>(T);

impl Area for P {
    #[inline(never)]
    fn area(&self) -> i32 {
        black_box(self).0
    }
}

impl<T: Copy + Into<i32>> Area for Q<T> {
    #[inline(never)]
    fn area(&self) -> i32 {
        black_box(self).0.into()
    }
    #[inline(never)]
    fn twice(&self) -> i32 {
        black_box(self).0.into() * 3
    }
}

impl std::fmt::Display for P {
    #[inline(never)]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[inline(never)]
async fn leaf(n: u32) -> u32 {
    black_box(n) + 1
}

#[inline(never)]
async fn twofold(n: u32) -> u32 {
    leaf(n).await + leaf(n + 1).await
}

#[inline(never)]
fn apply(f: impl Fn(u32) -> u32) -> u32 {
    f(black_box(3))
}

fn block_on<T>(mut future: Pin<&mut dyn Future<Output = T>>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

struct Iter(u32);
impl Iterator for Iter {
    type Item = u32;
    #[inline(never)]
    fn next(&mut self) -> Option<u32> {
        self.0 = black_box(self.0) + 1;
        (self.0 < 5).then_some(self.0)
    }
}

fn main() {
    let mut list: Vec<u32> = black_box(Vec::new());
    for n in 0..9 {
        list.push(black_box(n));
    }
    let mut names: Vec<String> = black_box(Vec::new());
    names.push(black_box("a".to_owned()));
    println!("{} {}", P(4).area(), P(4).twice());
    println!("{} {} {}", Q(5u8).area(), Q(6i32).twice(), P(7));
    println!("{}", apply(|x| black_box(x) * 2));
    let mut future = std::pin::pin!(twofold(8));
    println!("{}", block_on(future.as_mut()));
    println!("{:?}", Iter(0).collect::<Vec<_>>());
}
