//! analysis/coverage/rewrite.rs: a file of lcov, read and written again.

use super::{against, html, lcov, object, text};
use crate::analysis::source::Sources;

/// Reads a file of lcov and writes it as --lcov does, for tests of what comes from outside.
pub fn rewrite(text: &str) -> Result<String, (usize, String)> {
    let tally = lcov::read(text)?;
    let _ = (
        text::summary(&tally, true, false),
        object::objects(&tally),
        against::write(&tally, &tally, "", false),
    );
    let _ = html::page(&tally, Some(&tally), &mut Sources::default());
    Ok(lcov::write(&tally, &mut Sources::default()))
}
