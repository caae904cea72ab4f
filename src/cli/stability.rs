//! cli/stability.rs: the stability reports of -v, for a program and for a probe.

use super::config::Config;
use crate::pipeline::Compiled;
use crate::typeck::{ProbeStability, Stability};
use kinst_base::attributes::{Attributes, CLASSES, STABILITIES, STABLE};

/// Formats the stability of a program on the command line; empty without -v. With `each`, also by description.
pub(crate) fn report(config: &Config, compiled: &Compiled, program: usize, each: bool) -> String {
    let Some(file) = config.files.get(program).filter(|_| config.invocation.verbose) else {
        return String::new();
    };
    let clauses = compiled.descriptions.iter().zip(&compiled.stability);
    let of_file = clauses.filter(|(spans, _)| spans.first().is_some_and(|span| span.file == *file));
    let clauses: Vec<&Stability> = of_file.map(|(_, stability)| stability).collect();
    let probes = || clauses.iter().flat_map(|clause| &clause.probes);
    let descriptions = probes().map(|probe| probe.description);
    let statements = clauses.iter().map(|clause| clause.statements);
    let (what, name) = config.program_name(program);
    let mut text = format!("\nStability attributes for {what} {name}:\n");
    text += &block("Minimum Probe Description Attributes", least(descriptions));
    text += &block("Minimum Statement Attributes", least(statements));
    if each {
        for probe in probes() {
            text += &format!("\n{}\n", probe.probe);
            text += &describe(probe);
        }
    } else {
        text.push('\n');
    }
    text
}

/// Formats the stability of a probe, which a listing shows below its row.
pub(crate) fn describe(probe: &ProbeStability) -> String {
    let mut text = block("Probe Description Attributes", probe.description);
    text += &block("Argument Attributes", probe.arguments);
    text += "\n\tArgument Types\n";
    for (number, ty) in probe.types.iter().enumerate() {
        text += &format!("\t\targs[{number}]: {ty}\n");
    }
    if probe.types.is_empty() {
        text += "\t\tNone\n";
    }
    text.push('\n');
    text
}

fn block(heading: &str, attributes: Attributes) -> String {
    let Attributes { name, data, class } = attributes;
    let (name, data, class) = (STABILITIES[name], STABILITIES[data], CLASSES[class]);
    let lines = format!(
        "\t\tIdentifier Names: {name}\n\t\tData Semantics:   {data}\n\t\tDependency Class: {class}\n"
    );
    format!("\n\t{heading}\n{lines}")
}

fn least(all: impl Iterator<Item = Attributes>) -> Attributes {
    all.reduce(Attributes::min).unwrap_or(STABLE)
}
