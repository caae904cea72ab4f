//! names.rs: inlined functions whose names have paths and arguments.

struct List {
    v: Vec<i32>,
}

trait Area {
    fn area(&self) -> i32;
}

impl List {
    #[inline(always)]
    fn put(&mut self, x: i32) {
        self.v.push(x)
    }
}

impl Area for List {
    #[inline(always)]
    fn area(&self) -> i32 {
        self.v.iter().sum()
    }
}

fn main() {
    let n = std::env::args().count() as i32;
    let mut list = List { v: Vec::new() };
    for i in 0..n * 10 {
        list.put(i)
    }
    println!("{} {:?}", list.area(), std::env::args().next().unwrap());
}
