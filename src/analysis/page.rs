//! analysis/page.rs: self-contained HTML pages with embedded data.

use serde_json::Value;

/// The parts that differ between pages.
pub(crate) struct Page {
    pub title: &'static str,
    /// The HTML of the buttons next to the title.
    pub buttons: &'static str,
    /// The keys and their functions.
    pub keys: &'static str,
    /// The CSS of the rows.
    pub style: &'static str,
    /// The script that makes rows from the data.
    pub script: &'static str,
}

impl Page {
    /// Makes a page that shows the data.
    pub(crate) fn fill(&self, data: &Value) -> String {
        // No part of the data may end the enclosing script.
        let data = data.to_string().replace('<', "\\u003c");
        let parts = [
            ("{{title}}", self.title),
            ("{{look}}", include_str!("look.css")),
            ("{{style}}\n", self.style),
            ("{{buttons}}", self.buttons),
            ("{{keys}}", self.keys),
            ("{{common}}\n", include_str!("page.js")),
            ("{{script}}\n", self.script),
            // The data last, since it may contain text that looks like a placeholder.
            ("{{data}}", &data),
        ];
        let page = include_str!("page.html").to_owned();
        parts.into_iter().fold(page, |page, (slot, part)| page.replacen(slot, part, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::Page;
    use serde_json::json;

    #[test]
    fn each_slot_is_filled_once() {
        let page = Page {
            title: "Title",
            buttons: "<button>",
            keys: "j down",
            style: "a {}\n",
            script: "draw();\n",
        };
        let filled = page.fill(&json!({ "text": "</script>{{title}}" }));
        assert!(filled.contains(r#"id="data">{"text":"\u003c/script>{{title}}"}</script>"#), "{filled}");
        assert_eq!(filled.matches("{{").count(), 1, "{filled}");
        for part in ["<title>Title</title>", "<button>", "j down", "a {}\n</style>", "draw();\n</script>"] {
            assert_eq!(filled.matches(part).count(), 1, "{part}: {filled}");
        }
    }
}
