//! xtask: the development commands of the project.
fn main() {}
