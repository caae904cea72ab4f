//! cli/output.rs: standard output and standard error, and the texts of the system's errors.

use std::io::Write;

/// Returns the system's text, without Rust's "(os error 2)".
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Prints to standard output, without a panic if the pipe is closed.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

pub fn eprint(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
