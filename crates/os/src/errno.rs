//! os/errno.rs: system errors as text.

use rustix::io::Errno;

/// Returns the system's text for an error number, without Rust's "(os error 2)".
pub fn errno_text(errno: Errno) -> String {
    io_text(&std::io::Error::from(errno))
}

/// The same for an error of the standard library.
pub fn io_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
