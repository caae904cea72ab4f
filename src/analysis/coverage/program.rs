//! analysis/coverage/program.rs: the D program that records coverage.

use crate::analysis::coverage::covered::Scope;
use std::fmt::Write as _;

/// Writes the program; `time`: the time limit, as in a probe name: `10s`.
pub(crate) fn write(scope: &Scope, time: Option<&str>) -> String {
    let mut d =
        "/* Each probe is removed at its first hit; the probes that were hit are queried at the end. */\n\
                 #pragma D option once\n\n"
            .to_owned();
    let sites = scope.functions.iter().flat_map(|function| &function.watched);
    for (number, (_, site)) in sites.enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(d, "{}{}", if number == 0 { "" } else { ",\n" }, site.fields());
    }
    d += "\n{\n\t@reached = count();\n}\n";
    if let Some(time) = time {
        let _ = write!(d, "\nprofile:::tick-{time}\n{{\n\texit(0);\n}}\n");
    }
    d
}
