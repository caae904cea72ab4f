//! fuzz/src/types.rs: arbitrary bytes read as types of the kernel proper or of a module.

use super::exhaust::exhaust;
use super::kernel::{self, Fixture};

/// The first byte decides whether the rest is BTF of the kernel, of a module, or of a module based on itself.
pub fn btf(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    let module = || vec![("m".to_owned(), bytes.to_vec())];
    let fixture = match kind % 3 {
        0 => Fixture { btf: Some(bytes.to_vec()), ..Fixture::default() },
        1 => Fixture { btf: Some(kernel::btf()), modules: module(), ..Fixture::default() },
        _ => Fixture { btf: Some(bytes.to_vec()), modules: module(), ..Fixture::default() },
    };
    exhaust(&fixture.types());
}
