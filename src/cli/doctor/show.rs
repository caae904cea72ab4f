//! cli/doctor/show.rs: findings as text and as JSON.

use super::finding::{Finding, State};
use kinst_base::diag::{Severity, color};

/// The width of the column of names; a longer name shifts its line.
const NAME: usize = 26;

pub(super) fn text(findings: &[(&str, Finding)], verdict: &Finding, colored: bool) -> String {
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
    text += &format!("{}\n", verdict.found);
    if let Some(then) = &verdict.then {
        text += &format!("{then}\n");
    }
    text
}

/// Formats one JSON object a line; the verdict is the last one.
pub(super) fn json(findings: &[(&str, Finding)], verdict: &Finding) -> String {
    let line = |(check, finding): (&str, &Finding)| {
        let Finding { state, found, mend, then } = finding;
        let state = word(*state);
        let object = serde_json::json!({
            "check": check, "state": state, "found": found, "mend": mend, "then": then
        });
        format!("{object}\n")
    };
    let findings = findings.iter().map(|(check, finding)| (*check, finding));
    findings.chain([("tracing", verdict)]).map(line).collect()
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
tracing does not work: it needs root
";
        let verdict = Finding::fault("tracing does not work: it needs root");
        assert_eq!(text(&findings(), &verdict, false), expected);
        let verdict = Finding::good("tracing works").then("but");
        assert!(text(&findings(), &verdict, false).ends_with("reboot\ntracing works\nbut\n"));
    }

    #[test]
    fn an_object_a_line() {
        let text = json(&findings(), &Finding::good("tracing works"));
        let last = text.lines().nth(2).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(last).unwrap();
        assert_eq!(value["mend"], "a && b");
        assert_eq!(value["state"], "fault");
        let verdict: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!((&verdict["check"], &verdict["found"]), (&"tracing".into(), &"tracing works".into()));
        assert_eq!(text.lines().count(), 4);
    }
}
