//! analysis/page.rs: pages that need nothing else: what they show is put into them.

use serde_json::Value;

/// The part of a page that is not the same in all.
pub(crate) struct Page {
    pub title: &'static str,
    /// HTML, in the line with the title.
    pub buttons: &'static str,
    /// The keys, and what each does.
    pub keys: &'static str,
    /// The looks of its rows.
    pub style: &'static str,
    /// Makes rows of the data.
    pub script: &'static str,
}

impl Page {
    /// Makes a page that shows the data.
    pub(crate) fn fill(&self, data: &Value) -> String {
        // Nothing in the data ends the script that it is in.
        let data = data.to_string().replace('<', "\\u003c");
        let parts = [
            ("{{title}}", self.title),
            ("{{look}}", include_str!("look.css")),
            ("{{style}}\n", self.style),
            ("{{buttons}}", self.buttons),
            ("{{keys}}", self.keys),
            ("{{common}}\n", include_str!("page.js")),
            ("{{script}}\n", self.script),
            // The last one, as it may have what looks like another.
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
