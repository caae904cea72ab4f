//! manual/tests/guide.rs: every page of the guide is in the contents, a guest runs its commands, and its links work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the links of a page to files.
fn links(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let links = Parser::new_ext(&text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    links.filter(|link| !link.contains(':')).collect()
}

fn source() -> PathBuf {
    Path::new(ROOT).join("docs/guide/src")
}

fn pages() -> BTreeSet<String> {
    let entries = std::fs::read_dir(source()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md").collect()
}

#[test]
fn the_contents_name_every_page() {
    let named: BTreeSet<String> = links(&source().join("SUMMARY.md")).into_iter().collect();
    assert_eq!(named, pages());
}

#[test]
fn links_lead_somewhere() {
    let folder = |path: &str| std::fs::read_dir(Path::new(ROOT).join(path)).unwrap();
    let folders = ["docs", "docs/decisions", "docs/guide/src"].into_iter().flat_map(folder);
    let mut documents: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    documents.retain(|path| path.extension().is_some_and(|end| end == "md"));
    documents.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| Path::new(ROOT).join(name)));
    let mut count = 0;
    for document in documents {
        for link in links(&document) {
            let file = link.split('#').next().unwrap();
            let target = document.parent().unwrap().join(file);
            assert!(file.is_empty() || target.exists(), "{}: {link}", document.display());
            count += 1;
        }
    }
    assert!(count > 40, "only {count} links");
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

/// The page of the options has the table from the program; UPDATE=1 writes it.
#[test]
fn every_option_is_in_its_page() {
    const MARKS: (&str, &str) =
        ("<!-- table: made by UPDATE=1 cargo nextest run -p manual -->\n\n", "\n<!-- end -->");
    let path = source().join("options.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(MARKS.0).unwrap();
    let (shown, after) = rest.split_once(MARKS.1).unwrap();
    let table = kinst::options::markdown();
    if std::env::var_os("UPDATE").is_some() {
        let (begin, end) = MARKS;
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert_eq!(shown, table);
    }
}

/// Code shown in the pages is the same as in its source file.
#[test]
fn sources_in_the_pages_are_those_of_their_files() {
    let mut shown = 0;
    for page in pages() {
        let text = std::fs::read_to_string(Path::new(ROOT).join("docs/guide/src").join(&page)).unwrap();
        for part in text.split("<!-- source: ").skip(1) {
            let (path, rest) = part.split_once(" -->\n").unwrap();
            let code = rest.split("```").nth(1).unwrap().split_once('\n').unwrap().1;
            let source = std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap();
            assert!(source.contains(code), "{page}: {path} differs");
            shown += 1;
        }
    }
    assert!(shown > 0);
}
