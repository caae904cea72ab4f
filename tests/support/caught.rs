//! tests/support/caught.rs: a program with panics that are caught, and destructors that run on their way.

use std::cell::Cell;
use std::hint::black_box;
use std::panic;

thread_local! {
    static DROPPED: Cell<u32> = const { Cell::new(0) };
}

struct Noted(u32);

impl Drop for Noted {
    fn drop(&mut self) {
        let weight = if self.0 > 3 { 2 } else { 1 };
        DROPPED.with(|dropped| dropped.set(dropped.get() + weight));
    }
}

#[inline(never)]
fn picky(number: u32) -> u32 {
    if number % 4 == 1 {
        panic!("{number} is refused");
    }
    number * 2
}

#[inline(never)]
fn through(number: u32) -> u32 {
    let noted = Noted(number);
    let mut sum = 0;
    for add in 0..number {
        sum += match black_box(add) % 3 {
            0 => picky(add),
            1 => add + noted.0,
            _ => 1,
        };
    }
    sum
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut sum = 0;
    for number in 0..12 {
        sum += panic::catch_unwind(|| through(black_box(number))).unwrap_or(1000);
    }
    println!("{sum} {}", DROPPED.with(Cell::get));
}
