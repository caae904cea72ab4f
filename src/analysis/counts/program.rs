//! analysis/counts/program.rs: the D program that counts.

use super::aggregations::{BEGUN, ENDED, EXECUTIONS, KEEP};
use super::group::Group;
use super::timing;
use crate::analysis::whose::Whose;
use kinst_base::space::Space;
use std::fmt::Write as _;

/// The options of a count.
pub(crate) struct Question<'a> {
    pub whose: Whose,
    /// A D expression about the arguments of a call: only calls for which it is true are counted.
    pub when: Option<&'a str>,
    /// The time limit, as in a probe name: `10s`.
    pub time: Option<&'a str>,
    /// Whether to measure the time between the places too.
    pub latency: bool,
}

/// Writes the program. A site is counted once for each function, even if several of its copies use it.
pub(crate) fn write(groups: &[Group<'_>], question: &Question<'_>) -> String {
    let whose = question.whose.condition();
    let mut d = String::new();
    if groups.iter().any(|group| group.by_call) {
        d += "/*\n * calls has a bit for each call of the thread: nested calls, and calls from interrupts on top.\n \
              * The highest bit keeps the variable allocated.\n */\n";
        let by_call = groups.iter().enumerate().filter(|(_, group)| group.by_call);
        by_call.for_each(|(number, _)| d += &format!("self uint64_t calls{number};\n"));
        d += "\n";
    }
    if question.latency {
        let in_programs = groups.iter().any(|group| group.space != Space::Kernel);
        d += &timing::variables(groups.len(), in_programs);
    }
    for (number, group) in groups.iter().enumerate() {
        let probes: Vec<String> = group.sites().iter().map(|site| site.fields().to_string()).collect();
        let probes = probes.join(",\n");
        let conditions: Vec<String> = whose
            .map(str::to_owned)
            .into_iter()
            .chain(question.when.map(|when| format!("({when})")))
            .collect();
        let conditions = conditions.join(" && ");
        let calls = format!("self->calls{number}");
        let [entry, exit] = ["entry", "return"].map(|name| group.end(name));
        // Writing to a String cannot fail.
        let _ = if question.latency && group.by_call {
            let begins =
                if conditions.is_empty() { "1".to_owned() } else { format!("({conditions} ? 1 : 0)") };
            write!(d, "{}", timing::clauses(number, group, &probes, &begins))
        } else if group.by_call {
            let begins =
                if conditions.is_empty() { "1".to_owned() } else { format!("({conditions} ? 1 : 0)") };
            writeln!(
                d,
                "{entry}\n{{\n\t{calls} = {calls} << 1 | {begins} | {KEEP};\n\t@{BEGUN}[{number}] = sum({calls} & 1);\n}}\n\n\
                 {probes}\n/{calls} & 1/\n{{\n\t@{EXECUTIONS}[{number}, id] = count();\n}}\n\n\
                 {exit}\n{{\n\t@{ENDED}[{number}] = sum({calls} & 1);\n\t{calls} = {calls} >> 1 | {KEEP};\n}}\n"
            )
        } else {
            let predicate = whose.map(|text| format!("/{text}/\n")).unwrap_or_default();
            writeln!(d, "{probes}\n{predicate}{{\n\t@{EXECUTIONS}[{number}, id] = count();\n}}\n")
        };
    }
    if let Some(time) = question.time {
        d += &format!("profile:::tick-{time}\n{{\n\texit(0);\n}}\n");
    }
    d
}
