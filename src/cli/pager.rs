//! cli/pager.rs: long output on a terminal, through the user's pager.

use std::io::Write as _;
use std::process::{Command, Stdio};

pub(super) struct Pager;

impl Pager {
    /// Shows the text through `PAGER`, or less; returns whether a pager ran. less exits at once if the text fits the
    /// terminal.
    pub(super) fn show(text: &str) -> bool {
        let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        if pager.is_empty() || pager == "cat" {
            return false;
        }
        let child = Command::new("sh").args(["-c", &pager]).env("LESS", "FRX").stdin(Stdio::piped()).spawn();
        let Ok(mut child) = child else { return false };
        if let Some(mut input) = child.stdin.take() {
            // Quitting the pager early closes the pipe; that is not an error.
            let _ = input.write_all(text.as_bytes());
        }
        child.wait().is_ok_and(|status| status.code() != Some(127))
    }
}
