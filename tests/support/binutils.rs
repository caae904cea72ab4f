//! tests/support/binutils.rs: the binutils for the machine of a file.

use std::path::Path;

/// Returns the name of the binutils program that reads the file.
pub(crate) fn tool(name: &str, file: &Path) -> String {
    match is_aarch64(file) {
        true => format!("aarch64-linux-gnu-{name}"),
        false => name.to_owned(),
    }
}

/// Whether e_machine is EM_AARCH64.
fn is_aarch64(file: &Path) -> bool {
    use std::io::Read as _;
    let mut header = [0; 20];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header.starts_with(b"\x7fELF") && header[18..] == [183, 0]
}
