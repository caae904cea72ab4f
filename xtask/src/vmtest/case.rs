//! The notation of test cases: the script to run in a guest and the expectations. Described in tests/vm/README.md.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use regex_lite::Regex;

use crate::kernels::{Arch, Name};

/// One case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub file: String,
    pub name: String,
    pub kernels: Vec<Name>,
    /// The debugging kernels whose checks would make it a different test.
    pub without: Vec<Name>,
    pub guest: Shape,
    /// Whether it needs a guest in which no other case has run.
    pub own_boot: bool,
    /// Whether `cargo xtask test` leaves it out by default.
    pub long: bool,
    /// The reason why the case needs the module.
    pub module_only: Option<String>,
    /// The only architecture that the case is for, and the reason.
    pub arch: Option<(Arch, String)>,
    pub timeout: Duration,
    /// Files of the checkout for the guest's /root; C sources are compiled.
    pub push: Vec<PathBuf>,
    pub script: String,
    pub ending: Ending,
    pub expectations: Vec<Expectation>,
    pub allowed_log: Vec<Regex>,
}

/// The guest that a case needs. Cases of the same shape share a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub smp: u32,
    pub mem: u32,
    pub append: String,
    pub cpu: String,
    /// Each CPU on a separate thread or all on one, by default depending on QEMU's version; or `icount`: on one, with
    /// a clock that counts instructions.
    pub thread: Option<String>,
    pub module: bool,
    /// Whether the kernel's inlined functions have been indexed.
    pub index: bool,
}

/// How the run must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Exit(i32),
    /// Any status but 0.
    Failure,
    /// The kernel panics.
    Panic,
    /// The guest ends by itself, and its kernel is not in trouble.
    Reboot,
    TimeOut,
}

/// The output that an expectation refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Stdout,
    Stderr,
    /// The lines that the kernel logged during the run.
    Log,
}

/// A condition on the output.
#[derive(Clone, Debug)]
pub(super) struct Expectation {
    pub place: Place,
    pub rule: Rule,
    /// As written, for the report.
    pub text: String,
    pub line: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// The whole text.
    Is(String),
    /// Some line is exactly this.
    Line(String),
    /// The number of lines that match is in this range.
    Count { at_least: usize, at_most: usize, pattern: Regex },
}

/// Parses a file of cases.
pub(super) fn parse(file: &Path, text: &str) -> Result<Vec<Case>> {
    let shown = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut defaults = Case::empty(&shown);
    let mut cases: Vec<Case> = Vec::new();
    for directive in directives(text).with_context(|| shown.clone())? {
        let at = || format!("{shown}:{}", directive.line);
        if directive.key == "case" {
            if directive.value.is_empty() {
                bail!("{}: a case needs a name", at());
            }
            cases.push(Case { name: directive.value.clone(), ..defaults.clone() });
        } else {
            let case = cases.last_mut().unwrap_or(&mut defaults);
            case.apply(&directive, file).with_context(at)?;
        }
    }
    if let Some(case) = cases.iter().find(|c| c.script.is_empty()) {
        bail!("{shown}: the case {:?} runs nothing: it needs `run:`", case.name);
    }
    Ok(cases)
}

struct Directive {
    line: usize,
    key: String,
    /// The rest of the line, or the indented lines below it.
    value: String,
}

fn directives(text: &str) -> Result<Vec<Directive>> {
    let mut found: Vec<Directive> = Vec::new();
    let mut block = false;
    let mut gap = 0;
    for (index, line) in text.lines().enumerate() {
        if block && let Some(rest) = line.strip_prefix("    ") {
            let directive = found.last_mut().context("a block belongs to a directive")?;
            directive.value.push_str(&"\n".repeat(std::mem::take(&mut gap)));
            directive.value.push_str(rest);
            directive.value.push('\n');
            continue;
        }
        if line.trim().is_empty() {
            gap += 1;
            continue;
        }
        gap = 0;
        block = false;
        if line.starts_with('#') {
            continue;
        }
        let key_and_value = line.split_once(':').filter(|(key, _)| is_key(key));
        let Some((key, value)) = key_and_value else {
            bail!(
                "line {}: neither `key: value`, an indented line of a block, nor a `#` remark: {line}",
                index + 1
            );
        };
        block = value.trim().is_empty();
        found.push(Directive { line: index + 1, key: key.into(), value: value.trim().into() });
    }
    Ok(found)
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

impl Case {
    fn empty(file: &str) -> Case {
        Case {
            file: file.into(),
            name: String::new(),
            kernels: Name::ALL.to_vec(),
            without: Vec::new(),
            guest: Shape {
                smp: 2,
                mem: 2048,
                append: String::new(),
                cpu: "max".into(),
                thread: None,
                module: true,
                index: true,
            },
            own_boot: false,
            long: false,
            module_only: None,
            arch: None,
            timeout: Duration::from_secs(120),
            push: Vec::new(),
            script: String::new(),
            ending: Ending::Exit(0),
            expectations: Vec::new(),
            allowed_log: Vec::new(),
        }
    }

    /// Whether the case is for a kernel. A debugging kernel runs its own cases and the cases of its base kernel.
    pub(super) fn is_for(&self, arch: Arch, kernel: Name) -> bool {
        let wanted = self.kernels.contains(&kernel) || self.kernels.contains(&kernel.base(arch));
        wanted && !self.without.contains(&kernel)
    }

    /// The reason why the case cannot run in these guests; `None` if it can, or is for other kernels.
    pub(super) fn why_not(&self, arch: Arch, kernel: Name) -> Option<&str> {
        let (only, why) = self.arch.as_ref()?;
        (*only != arch && self.is_for(arch, kernel)).then_some(why.as_str())
    }

    fn apply(&mut self, directive: &Directive, file: &Path) -> Result<()> {
        let value = directive.value.as_str();
        let number = || value.parse::<u32>().with_context(|| format!("{value:?} is not a number"));
        match directive.key.as_str() {
            "run" => self.script = value.into(),
            "kernel" => self.kernels = kernels(value)?,
            "without" => self.without = kernels(value)?,
            "smp" => self.guest.smp = number()?,
            "mem" => self.guest.mem = number()?,
            "append" => self.guest.append = value.into(),
            "cpu" => self.guest.cpu = value.into(),
            "thread" => {
                let known = ["single", "multi", "icount"].map(|one| (one, one));
                self.guest.thread = Some(one_of(value, known)?.into());
            }
            "timeout" => self.timeout = Duration::from_secs(number()?.into()),
            "module" => self.guest.module = one_of(value, [("yes", true), ("no", false)])?,
            "index" => self.guest.index = one_of(value, [("yes", true), ("no", false)])?,
            "boot" => self.own_boot = one_of(value, [("shared", false), ("own", true)])?,
            "long" => self.long = one_of(value, [("no", false), ("yes", true)])?,
            "arch" => self.arch = only_arch(value)?,
            "module-only" => self.module_only = (value != "no").then(|| value.into()),
            "push" => self.push.extend(value.split_whitespace().map(|name| beside(file, name))),
            "exit" if value == "failure" => self.ending = Ending::Failure,
            "exit" => self.ending = Ending::Exit(number()? as i32),
            "ends-by" => {
                let endings =
                    [("panic", Ending::Panic), ("reboot", Ending::Reboot), ("timeout", Ending::TimeOut)];
                self.ending = one_of(value, endings)?
            }
            "allow-log" => self.allowed_log.push(Regex::new(value)?),
            key => {
                let rule = expectation(key, value)?;
                let Some((place, rule)) = rule else { bail!("no directive `{key}`") };
                let text = format!("{key}: {value}");
                self.expectations.push(Expectation { place, rule, text, line: directive.line });
            }
        }
        Ok(())
    }
}

fn kernel(word: &str) -> Result<Name> {
    let all = Name::value_variants();
    let found = all.iter().copied().find(|name| name.as_str() == word);
    found.with_context(|| {
        format!("{word:?} is none of {}", all.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(", "))
    })
}

fn kernels(value: &str) -> Result<Vec<Name>> {
    value.split_whitespace().map(kernel).collect()
}

/// `any`, or `ARCH WHY`.
fn only_arch(value: &str) -> Result<Option<(Arch, String)>> {
    if value == "any" {
        return Ok(None);
    }
    let (word, why) = value.split_once(' ').context("`any`, or `ARCH WHY`")?;
    let arch = one_of(word, [Arch::Amd64, Arch::Arm64].map(|arch| (arch.as_str(), arch)))?;
    Ok(Some((arch, why.trim_start().into())))
}

fn one_of<T: Copy, const N: usize>(value: &str, choices: [(&str, T); N]) -> Result<T> {
    let found = choices.iter().find(|(word, _)| *word == value);
    found.map(|(_, choice)| *choice).with_context(|| format!("none of {}", choices.map(|c| c.0).join(", ")))
}

/// The path of a file that a case names: in tests/vm/files, or the examples and documents of the checkout.
fn beside(file: &Path, name: &str) -> PathBuf {
    let folder = file.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    match name {
        "examples" | "docs" | "README.md" => folder.join("../..").join(name),
        _ => folder.join("files").join(name),
    }
}

fn expectation(key: &str, value: &str) -> Result<Option<(Place, Rule)>> {
    let (place, kind) = key.split_once('-').unwrap_or((key, ""));
    let place = match place {
        "stdout" => Place::Stdout,
        "stderr" => Place::Stderr,
        "log" => Place::Log,
        _ => return Ok(None),
    };
    let count = |at_least, at_most, pattern: &str| -> Result<Rule> {
        Ok(Rule::Count { at_least, at_most, pattern: Regex::new(pattern)? })
    };
    let rule = match kind {
        "is" => Rule::Is(value.into()),
        "" => Rule::Line(value.into()),
        "regex" => count(1, usize::MAX, value)?,
        "not" => count(0, 0, value)?,
        "count" => {
            let (range, pattern) = value.split_once(char::is_whitespace).context("`count: RANGE REGEX`")?;
            let (at_least, at_most) = self::range(range)?;
            count(at_least, at_most, pattern.trim_start())?
        }
        _ => return Ok(None),
    };
    Ok(Some((place, rule)))
}

/// `3`, `3..`, `..3` or `3..5`, both ends included.
fn range(text: &str) -> Result<(usize, usize)> {
    let number = |t: &str, absent: usize| if t.is_empty() { Ok(absent) } else { t.parse() };
    let parsed = match text.split_once("..") {
        Some((low, high)) => number(low, 0).and_then(|low| Ok((low, number(high, usize::MAX)?))),
        None => text.parse().map(|n| (n, n)),
    };
    parsed.with_context(|| format!("{text:?} is not a number or a range such as 3..5, 3.. or ..3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# a remark
kernel: 6.1 7.2
case: first
run:
    echo a

      indented
stdout-is:
    a

stderr-count: 2..3 ^x

case: second
smp: 4
run: exit 3
exit: 3
";

    fn parsed(text: &str) -> Result<Vec<Case>> {
        parse(Path::new("tests/vm/cases/x.case"), text)
    }

    #[test]
    fn a_file_holds_defaults_and_cases() {
        let cases = parsed(FILE).unwrap();
        let [first, second] = cases.as_slice() else { panic!("{cases:?}") };
        assert_eq!(first.script, "echo a\n\n  indented\n");
        assert_eq!(first.kernels, [Name::V6_1, Name::V7_2]);
        assert!(matches!(&first.expectations[0].rule, Rule::Is(text) if text == "a\n"));
        assert!(matches!(first.expectations[1].rule, Rule::Count { at_least: 2, at_most: 3, .. }));
        assert_eq!((second.guest.smp, second.ending), (4, Ending::Exit(3)));
        assert_eq!(second.kernels, [Name::V6_1, Name::V7_2]);
    }

    #[test]
    fn kernels_that_look_for_bugs_run_the_cases_of_their_base_and_their_own() {
        let are_for = |text: &str, kernel| parsed(text).unwrap()[0].is_for(Arch::Amd64, kernel);
        assert!(are_for("case: x\nrun: a", Name::Debug));
        assert!(are_for("case: x\nrun: a\nkernel: 6.1", Name::Rt));
        assert!(!are_for("case: x\nrun: a\nkernel: 6.12 7.2", Name::Kcsan));
        assert!(are_for("case: x\nrun: a\nkernel: debug", Name::Debug));
        assert!(!are_for("case: x\nrun: a\nkernel: debug", Name::V6_1));
        assert!(!are_for("case: x\nrun: a\nwithout: debug kcsan", Name::Debug));
        assert!(are_for("case: x\nrun: a\nwithout: debug kcsan", Name::V6_1));
        let of_arm64 = |text: &str, kernel| parsed(text).unwrap()[0].is_for(Arch::Arm64, kernel);
        assert!(!of_arm64("case: x\nrun: a\nkernel: 6.1", Name::Debug));
        assert!(of_arm64("case: x\nrun: a\nkernel: 6.12 7.3", Name::Debug));
        assert!(of_arm64("case: x\nrun: a\nkernel: kcsan", Name::Kcsan));
        assert!(!of_arm64("case: x\nrun: a\nkernel: 7.3", Name::Kcsan));
    }

    #[test]
    fn a_case_for_one_architecture_has_the_reason() {
        let case = &parsed("case: x\nrun: a\narch: amd64 its registers\nkernel: 6.12").unwrap()[0];
        assert_eq!(case.why_not(Arch::Arm64, Name::V6_12), Some("its registers"));
        assert_eq!(case.why_not(Arch::Arm64, Name::V7_3), None);
        assert_eq!(case.why_not(Arch::Amd64, Name::V6_12), None);
        let any = &parsed("arch: amd64 its registers\ncase: x\nrun: a\narch: any").unwrap()[0];
        assert_eq!(any.why_not(Arch::Arm64, Name::V6_12), None);
        assert!(parsed("case: x\nrun: a\narch: amd64").is_err());
    }

    #[test]
    fn mistakes_name_the_line() {
        let message = |text: &str| format!("{:#}", parsed(text).unwrap_err());
        assert_eq!(message("case: x\nrun: a\nstdout-regxe: a"), "x.case:3: no directive `stdout-regxe`");
        assert_eq!(message("case: x"), "x.case: the case \"x\" runs nothing: it needs `run:`");
        assert!(message("case: x\nrun: a\nexit: many").starts_with("x.case:3: \"many\" is not a number"));
        assert!(message("case: x\nwhat is this").contains("line 2"));
    }
}
