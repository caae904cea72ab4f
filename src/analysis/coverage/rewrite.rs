//! analysis/coverage/rewrite.rs: an lcov file, parsed and written again.

use super::{against, html, lcov, object, text};
use crate::analysis::source::Sources;

/// Parses an lcov file and writes it as --lcov does, for tests of external input.
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
