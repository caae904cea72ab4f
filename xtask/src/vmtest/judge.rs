//! The comparison of a case's outcome with its expectations.

use crate::vm::machine::End;
use crate::vmtest::case::{Case, Ending, Expectation, Place, Rule};

/// The outcome of a run of a case.
pub(super) struct Outcome {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// The kernel's lines during the run.
    pub log: Vec<String>,
    /// The first line that shows trouble in the kernel.
    pub trouble: Option<String>,
}

/// All differences from the expectations; empty if the case passes.
pub(super) fn judge(case: &Case, outcome: &Outcome) -> Vec<String> {
    let mut faults = Vec::new();
    faults.extend(ending(case.ending, &outcome.end));
    // If a panic is expected, so is the trouble.
    if let (Some(line), false) = (&outcome.trouble, case.ending == Ending::Panic) {
        faults.push(format!("the kernel is in trouble: {line}"));
    }
    let stdout = String::from_utf8_lossy(&outcome.stdout);
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    let log = outcome.log.iter().map(|l| format!("{l}\n")).collect::<String>();
    for expectation in &case.expectations {
        let text = match expectation.place {
            Place::Stdout => &stdout,
            Place::Stderr => &stderr,
            Place::Log => log.as_str(),
        };
        faults.extend(check(&case.file, expectation, text));
    }
    faults
}

fn ending(wanted: Ending, end: &End) -> Option<String> {
    let good = match (wanted, end) {
        (Ending::Exit(wanted), End::Exit(status)) => wanted == *status,
        (Ending::Failure, End::Exit(status)) => *status != 0,
        (Ending::Panic | Ending::Reboot, End::Crash) | (Ending::TimeOut, End::TimeOut) => true,
        _ => false,
    };
    let wanted = match wanted {
        Ending::Exit(status) => format!("exit status {status}"),
        Ending::Failure => "an exit status other than 0".into(),
        Ending::Panic => "a panic of the kernel".into(),
        Ending::Reboot => "a reboot".into(),
        Ending::TimeOut => "the time running out".into(),
    };
    let got = match end {
        End::Exit(status) => format!("exit status {status}"),
        End::TimeOut => "the time running out".into(),
        End::Hang => "a guest that no longer answers".into(),
        End::Crash => "a dead guest".into(),
    };
    (!good).then(|| format!("wanted {wanted}, got {got}"))
}

fn check(file: &str, expectation: &Expectation, text: &str) -> Option<String> {
    let why = match &expectation.rule {
        Rule::Is(wanted) if trimmed(wanted) == trimmed(text) => return None,
        Rule::Is(_) => "differs".into(),
        Rule::Line(wanted) if text.lines().any(|l| l == wanted) => return None,
        Rule::Line(_) => "no such line".into(),
        Rule::Count { at_least, at_most, pattern } => {
            let count = text.lines().filter(|l| pattern.is_match(l)).count();
            if (*at_least..=*at_most).contains(&count) {
                return None;
            }
            format!("{count} lines match")
        }
    };
    Some(format!("{file}:{}: {}: {why}", expectation.line, expectation.text.trim_end()))
}

/// Removes the final newline: a case's block cannot express whether the output has one.
fn trimmed(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vmtest::case::parse;

    fn faults(case: &str, end: End, stdout: &str) -> Vec<String> {
        let case = parse(Path::new("x.case"), &format!("case: x\nrun: x\n{case}")).unwrap().remove(0);
        let stdout = stdout.as_bytes().to_vec();
        judge(&case, &Outcome { end, stdout, stderr: Vec::new(), log: Vec::new(), trouble: None })
    }

    #[test]
    fn each_rule_is_kept_or_broken() {
        let exit = End::Exit(0);
        assert_eq!(faults("stdout: b", exit.clone(), "a\nb\n"), [""; 0]);
        assert_eq!(faults("stdout: b", exit.clone(), "ab\n"), ["x.case:3: stdout: b: no such line"]);
        assert_eq!(faults("stdout-is:\n    a\n    b\n", exit.clone(), "a\nb\n"), [""; 0]);
        assert_eq!(faults("stdout-is:\n    a\n", exit.clone(), "a\nb\n").len(), 1);
        assert_eq!(
            faults("stdout-not: ^a", exit.clone(), "ab\nab\n"),
            ["x.case:3: stdout-not: ^a: 2 lines match"]
        );
        assert_eq!(faults("stdout-count: 2.. a", exit, "a\na\na\n"), [""; 0]);
    }

    #[test]
    fn the_ending_counts() {
        assert_eq!(faults("", End::Exit(1), ""), ["wanted exit status 0, got exit status 1"]);
        assert_eq!(faults("exit: failure", End::Exit(1), ""), [""; 0]);
        assert_eq!(faults("ends-by: panic", End::Crash, ""), [""; 0]);
        assert_eq!(faults("ends-by: timeout", End::Hang, "").len(), 1);
    }
}
