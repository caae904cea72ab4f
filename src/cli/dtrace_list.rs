//! cli/dtrace_list.rs: -l: the probes there are.

use super::dtrace::{Failed, Run, print};
use crate::diag::{Diagnostic, tags};
use crate::dif::ProbeDesc;
use crate::kernel::session::matches;
use crate::sites::{Catalog, Probe};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Lists what the programs' descriptions match, or all.
pub fn list(run: &mut Run) -> Result<u8, Failed> {
    let descriptions = match run.files.is_empty() {
        true => vec![ProbeDesc::Fields {
            provider: String::new(),
            module: String::new(),
            function: String::new(),
            name: String::new(),
        }],
        false => {
            let compiled = run.compile(0)?;
            compiled.program.clauses.into_iter().flat_map(|clause| clause.probes).collect()
        }
    };
    let live = super::dtrace_trace::live_text();
    let catalog = Catalog::new(run.kernel()?, live);
    let mut text = heading();
    for description in &descriptions {
        match matches(description, &catalog) {
            Ok(probes) if probes.is_empty() => no_match(run, description, None),
            Ok(probes) => probes.iter().for_each(|probe| row(&mut text, probe, run.invocation.verbose)),
            Err(reason) => no_match(run, description, Some(*reason)),
        }
    }
    let Some(path) = &run.invocation.output else {
        print(&text);
        return Ok(0);
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(0),
        Err(error) => run.fail(&format!("failed to open {path}: {}", super::dtrace::reason(&error)), None),
    }
}

/// Said, but no failure: the others are listed.
fn no_match(run: &Run, description: &ProbeDesc, reason: Option<Diagnostic>) {
    let title = format!("failed to match {}: No probe matches description", shown(description));
    let mut diagnostic = Diagnostic::error(tags::PDESC_ZERO, title);
    if let Some(reason) = reason {
        diagnostic.notes.push(reason.title);
        diagnostic.notes.extend(reason.notes);
        diagnostic.help = reason.help;
    }
    run.report.diagnostic(&run.sources, &diagnostic, None);
}

fn heading() -> String {
    format!("{:>5} {:>10} {:>17} {:>33} {}\n", "ID", "PROVIDER", "MODULE", "FUNCTION", "NAME")
}

fn row(text: &mut String, probe: &Probe, verbose: bool) {
    let Probe { id, provider, module, function, name, .. } = probe;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{id:>5} {provider:>10} {module:>17} {function:>33} {name}");
    if verbose {
        text.push_str(ATTRIBUTES);
    }
}

/// Kernel functions and instructions promise nothing; their arguments have no types yet.
const ATTRIBUTES: &str = "
\tProbe Description Attributes
\t\tIdentifier Names: Private
\t\tData Semantics:   Private
\t\tDependency Class: ISA

\tArgument Attributes
\t\tIdentifier Names: Private
\t\tData Semantics:   Private
\t\tDependency Class: ISA

\tArgument Types
\t\tNone

";

/// As a person writes it.
pub fn shown(description: &ProbeDesc) -> String {
    match description {
        ProbeDesc::Id(id) => id.to_string(),
        ProbeDesc::Fields { provider, module, function, name } => {
            format!("{provider}:{module}:{function}:{name}")
        }
    }
}
