//! manual/tests/guide.rs: the guide builds, every page is in it, a guest runs each page with commands, and no link leads nowhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mdbook_driver::MDBook;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The values of an attribute in a page.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    html.split(&begin).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn pages() -> BTreeSet<String> {
    let entries = std::fs::read_dir(Path::new(ROOT).join("docs/guide/src")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "SUMMARY.md").collect()
}

#[test]
fn the_guide_builds_and_its_links_lead_somewhere() {
    let built = tempfile::tempdir().unwrap();
    let mut book = MDBook::load(Path::new(ROOT).join("docs/guide")).unwrap();
    book.config.build.build_dir = built.path().to_owned();
    book.build().unwrap();
    let mut links = 0;
    for page in pages() {
        let path = built.path().join(page.replace(".md", ".html"));
        let html = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{page} is not in SUMMARY.md"));
        for link in values(&html, "href").into_iter().filter(|link| !link.contains(':')) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { built.path().join(file) };
            assert!(target.is_file(), "{page}: {link}");
            if !anchor.is_empty() {
                let there = std::fs::read_to_string(&target).unwrap();
                assert!(values(&there, "id").contains(&anchor), "{page}: {link}");
            }
            links += 1;
        }
    }
    assert!(links > 200, "only {links} links");
}

/// The links of other documents to files of the repository.
#[test]
fn links_of_the_documents_lead_somewhere() {
    let folder = |path: &str| std::fs::read_dir(Path::new(ROOT).join(path)).unwrap();
    let mut documents: Vec<PathBuf> =
        ["docs", "docs/decisions"].into_iter().flat_map(folder).map(|entry| entry.unwrap().path()).collect();
    documents.retain(|path| path.extension().is_some_and(|end| end == "md"));
    documents.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| Path::new(ROOT).join(name)));
    let mut links = 0;
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains(':') || link.contains(char::is_whitespace) {
                continue;
            }
            let file = link.split('#').next().unwrap();
            let target = document.parent().unwrap().join(file);
            assert!(file.is_empty() || target.exists(), "{}: {link}", document.display());
            links += 1;
        }
    }
    assert!(links > 15, "only {links} links");
}

#[test]
fn a_guest_runs_each_page_that_has_commands() {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let cases = read(Path::new(ROOT).join("tests/vm/cases/guide.case"));
    for page in pages() {
        let text = read(Path::new(ROOT).join("docs/guide/src").join(&page));
        let is_run = cases.contains(&format!("sh guide.sh src/{page}"));
        assert_eq!(is_run, text.contains("```console\n"), "{page}");
    }
}

/// What the pages show of a source is that source.
#[test]
fn sources_in_the_pages_are_those_of_their_files() {
    let mut shown = 0;
    for page in pages() {
        let text = std::fs::read_to_string(Path::new(ROOT).join("docs/guide/src").join(&page)).unwrap();
        for part in text.split("<!-- source: ").skip(1) {
            let (path, rest) = part.split_once(" -->\n").unwrap();
            let code = rest.split("```").nth(1).unwrap().split_once('\n').unwrap().1;
            let source = std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap();
            assert!(source.contains(code), "{page}: {path} has another text");
            shown += 1;
        }
    }
    assert!(shown > 0);
}
