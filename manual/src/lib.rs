//! manual/src/lib.rs: the manual pages, with tables from the program, and the shell completions.

mod parameters;
mod tables;

use anyhow::{Context as _, Result, bail};
use clap::Command;
use clap_complete::aot::{Shell, generate};
use kinst::cli::{complete, dtrace_args, inlinecall};

/// A manual page.
pub struct Page {
    /// The file name, with the section: `dtrace.1`.
    pub name: &'static str,
    /// The page in roff, including its tables.
    pub text: String,
}

/// A generated part: its mark, which is alone on a line of a page after `@`, and the function that makes it.
type Part = (&'static str, fn() -> Result<String>);

const PARTS: &[Part] = &[
    ("options-dtrace", || options(dtrace_args::command())),
    ("options-inlinecall", || options(inlinecall::command())),
    ("settings", || Ok(tables::settings())),
    ("reasons", || Ok(tables::reasons())),
    ("parameters", parameters::table),
    ("variables", || Ok(tables::variables())),
    ("subroutines", || Ok(tables::subroutines())),
    ("actions", || Ok(tables::actions())),
    ("aggregating", || Ok(tables::aggregating())),
];

const PAGES: &[(&str, &str)] = &[
    ("dtrace.1", include_str!("../pages/dtrace.1")),
    ("inlinecall.1", include_str!("../pages/inlinecall.1")),
    ("kinst.4", include_str!("../pages/kinst.4")),
    ("kinst-d.7", include_str!("../pages/kinst-d.7")),
];

/// Returns all pages. Fails if a mark in a page has no part, or a table cannot be made.
pub fn pages() -> Result<Vec<Page>> {
    PAGES.iter().map(|(name, text)| Ok(Page { name, text: filled(text).with_context(|| *name)? })).collect()
}

/// Returns a page with its marks replaced.
fn filled(page: &str) -> Result<String> {
    let mut text = String::new();
    for line in page.lines() {
        match line.strip_prefix('@') {
            None => text += &line.replace("%VERSION%", env!("CARGO_PKG_VERSION")),
            Some(mark) => match PARTS.iter().find(|(name, _)| *name == mark) {
                Some((_, part)) => text += part()?.trim_end(),
                None => bail!("unknown mark @{mark}"),
            },
        }
        text.push('\n');
    }
    Ok(text)
}

/// Returns the options of a command, with a subsection for each group.
fn options(command: Command) -> Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render_options_section(&mut text)?;
    let text = String::from_utf8(text)?;
    // The groups are subsections of the page's OPTIONS.
    Ok(text.replace("\n.SH ", "\n.SS "))
}

/// Returns the completion scripts, under the names that the shells look for.
pub fn completions() -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for name in ["dtrace", "kinst"] {
        for (shell, file) in
            [("bash", name.to_owned()), ("zsh", format!("_{name}")), ("fish", format!("{name}.fish"))]
        {
            let script =
                complete::registration(shell, name).with_context(|| format!("{shell} is not supported"))?;
            files.push((format!("{shell}/{file}"), script));
        }
    }
    for (shell, file) in
        [(Shell::Bash, "inlinecall"), (Shell::Zsh, "_inlinecall"), (Shell::Fish, "inlinecall.fish")]
    {
        let mut script = Vec::new();
        generate(shell, &mut inlinecall::command(), "inlinecall", &mut script);
        files.push((format!("{shell}/{file}"), String::from_utf8(script)?));
    }
    Ok(files)
}

#[cfg(test)]
#[path = "../../tests/support/needs.rs"]
mod needs;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    fn page(name: &str) -> String {
        let all = pages().unwrap();
        // Undo roff's escapes, to compare with plain text.
        all.into_iter()
            .find(|page| page.name == name)
            .unwrap()
            .text
            .replace("\\-", "-")
            .replace("\\*(Aq", "'")
    }

    #[test]
    fn every_option_is_in_the_manual() {
        let text = page("dtrace.1");
        let options = dtrace_args::command();
        let shown = options.get_arguments().filter(|option| !option.is_hide_set());
        for long in shown.filter_map(|option| option.get_long()) {
            assert!(text.contains(&format!("\\fB--{long}\\fR")), "--{long}");
        }
        for (_, spec, _) in kinst::options::described() {
            assert!(text.contains(&format!("\\fB{}\\fR", spec.name)), "-x {}", spec.name);
        }
    }

    #[test]
    fn every_reason_and_every_parameter_is_in_the_manual() {
        let text = page("kinst.4");
        for (words, help) in kinst::reason::all() {
            assert!(text.contains(words), "{words}");
            assert!(help.is_empty() || text.contains(&tables::sentence(help)), "{help}");
        }
        let of_limits =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../kmod/session/limits.c")).unwrap();
        let named =
            of_limits.lines().filter_map(|line| line.strip_prefix("module_param(")?.split(',').next());
        let named: Vec<&str> = named.collect();
        assert!(named.contains(&"max_probes"), "{named:?}");
        for name in named {
            assert!(text.contains(&format!("\\fB{name}\\fR")), "{name}");
        }
    }

    #[test]
    fn every_name_of_the_language_is_in_the_manual() {
        let text = page("kinst-d.7");
        let known = kinst::vocabulary::builtin::TABLE.iter().filter(|known| known.supported);
        for name in known.map(|known| known.name) {
            assert!(text.contains(&format!("\\fB{name}")), "{name}");
        }
    }

    #[test]
    fn the_pages_render_without_a_warning() {
        if !needs::program("groff") {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        for Page { name, text } in pages().unwrap() {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            let out =
                Command::new("groff").args(["-Kutf8", "-man", "-Tutf8", "-ww"]).arg(&path).output().unwrap();
            assert!(
                out.status.success() && out.stderr.is_empty(),
                "{name}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
            assert!(out.stdout.len() > 1000, "{name}");
        }
    }

    #[test]
    fn the_shells_read_their_completions() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in completions().unwrap() {
            let (shell, file) = name.split_once('/').unwrap();
            if !needs::program(shell) {
                continue;
            }
            let path = folder.path().join(file);
            fs::write(&path, text).unwrap();
            let out = Command::new(shell).arg("-n").arg(&path).output().unwrap();
            assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
        }
    }
}
