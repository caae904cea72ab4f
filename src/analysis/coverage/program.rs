//! analysis/coverage/program.rs: the D program that records coverage.

use crate::analysis::counts::aggregations::EXECUTIONS;
use crate::analysis::coverage::covered::Scope;
use crate::analysis::whose::Whose;
use std::fmt::Write as _;

/// The executions that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// The first of each place, in all threads that the probes are in.
    Once,
    /// The same in programs, where probes that were hit are removed when the status is read.
    OnceInPrograms,
    /// The ones of some threads: a place that another thread has passed is still watched.
    Of(Whose),
}

/// Writes the program; `time`: the time limit, as in a probe name: `10s`.
pub(crate) fn write(scope: &Scope, counting: Counting, time: Option<&str>) -> String {
    let mut d = match counting {
        Counting::Once => {
            "/* A place is noted at its first hit only; the probes that were hit are queried at the end. */\n\
             #pragma D option once\n\n"
        }
        Counting::OnceInPrograms => {
            "/* A place is noted at its first hit only. Its probe is removed soon after, when the status is read. */\n\
             #pragma D option once\n\
             #pragma D option statusrate=50ms\n\n"
        }
        Counting::Of(_) => "",
    }
    .to_owned();
    let sites = scope.functions.iter().flat_map(|function| &function.watched);
    for (number, (_, site)) in sites.enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(d, "{}{}", if number == 0 { "" } else { ",\n" }, site.fields());
    }
    let condition = match counting {
        Counting::Of(whose) => whose.condition(),
        Counting::Once | Counting::OnceInPrograms => None,
    };
    d += &condition.map(|condition| format!("\n/{condition}/")).unwrap_or_default();
    d += &match counting {
        Counting::Once | Counting::OnceInPrograms => "\n{\n\t@reached = count();\n}\n".to_owned(),
        Counting::Of(_) => format!("\n{{\n\t@{EXECUTIONS}[0, id] = count();\n}}\n"),
    };
    if let Some(time) = time {
        let _ = write!(d, "\nprofile:::tick-{time}\n{{\n\texit(0);\n}}\n");
    }
    d
}
