//! analysis/page.rs: pages that need nothing else: what they show is put into them.

use serde_json::Value;

/// The looks that all pages share.
const LOOK: &str = include_str!("look.css");

/// Puts the looks and the data into a page.
pub fn fill(page: &str, data: &Value) -> String {
    // Nothing in the data ends the script that it is in.
    let data = data.to_string().replace('<', "\\u003c");
    page.replacen("{{look}}", LOOK, 1).replacen("{{data}}", &data, 1)
}
