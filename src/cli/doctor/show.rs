//! cli/doctor/show.rs: findings as lines for a person, and as JSON.

use super::{Finding, State};
use crate::diag::{Severity, color};

/// The columns of a check's name; a longer one moves its line.
const NAME: usize = 26;

pub fn text(findings: &[(&str, Finding)], colored: bool) -> String {
    let mut text = String::new();
    for (name, finding) in findings {
        let state = format!("{:<7}", word(finding.state));
        let state = match finding.state {
            State::Good => state,
            State::Warning => color::paint(&state, color::title_style(Severity::Warning), colored),
            State::Fault => color::paint(&state, color::title_style(Severity::Error), colored),
        };
        text += &format!("{state}  {name:<NAME$}  {}\n", finding.found);
        if let Some(mend) = &finding.mend {
            text += &format!("{:11}mend: {mend}\n", "");
        }
        if let Some(then) = &finding.then {
            text += &format!("{:11}then: {then}\n", "");
        }
    }
    let count = |state| findings.iter().filter(|(_, finding)| finding.state == state).count();
    text + &verdict(count(State::Fault), count(State::Warning))
}

fn verdict(faults: usize, warnings: usize) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    match (faults, warnings) {
        (0, 0) => "tracing works\n".to_owned(),
        (0, warnings) => format!("tracing works, with {}\n", plural(warnings, "warning")),
        (faults, _) => format!("tracing does not work: {}\n", plural(faults, "fault")),
    }
}

pub fn json(findings: &[(&str, Finding)]) -> String {
    let line = |(check, finding): &(&str, Finding)| {
        let Finding { state, found, mend, then } = finding;
        let state = word(*state);
        let object = serde_json::json!({
            "check": check, "state": state, "found": found, "mend": mend, "then": then
        });
        format!("{object}\n")
    };
    findings.iter().map(line).collect()
}

fn word(state: State) -> &'static str {
    match state {
        State::Good => "good",
        State::Warning => "warning",
        State::Fault => "fault",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Vec<(&'static str, Finding)> {
        vec![
            ("rights", Finding::good("root")),
            ("BTF", Finding::warning("there is none").mend("umount /sys/kernel/btf")),
            ("lockdown", Finding::fault("\"confidentiality\"").mend("a && b").then("reboot")),
        ]
    }

    #[test]
    fn a_line_a_check_and_the_command_below_it() {
        let expected = "\
good     rights                      root
warning  BTF                         there is none
           mend: umount /sys/kernel/btf
fault    lockdown                    \"confidentiality\"
           mend: a && b
           then: reboot
tracing does not work: 1 fault
";
        assert_eq!(text(&findings(), false), expected);
        assert!(text(&findings()[..2], false).ends_with("tracing works, with 1 warning\n"));
        assert!(text(&findings()[..1], false).ends_with("\ntracing works\n"));
    }

    #[test]
    fn an_object_a_line() {
        let text = json(&findings());
        let last = text.lines().last().unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!(value["mend"], "a && b");
        assert_eq!(value["state"], "fault");
        assert_eq!(text.lines().count(), 3);
    }
}
