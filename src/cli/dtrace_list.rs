//! cli/dtrace_list.rs: -l: the list of probes.

use super::compile::{compile, with_given};
use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_trace::report_left_out;
use super::processes;
use super::stability;
use super::subject::Subject;
use crate::backend::{bpf, probe_name};
use crate::options::key;
use crate::pipeline;
use crate::typeck::ProbeStability;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob;
use kinst_base::probe::{Description, Fields, Place, Probe, Site};
use kinst_dwarf::Frame;
use kinst_sites::listing::about::{About, Answers};
use kinst_sites::uprobe::{Refused, Way};
use kinst_sites::{Catalog, InScope, ProbeCatalog as _};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Lists the probes that the programs' descriptions match, or all probes without a program. Fails after the list if a
/// description matches nothing, unless -Z permits it.
pub(crate) fn list(config: &mut Config, subject: &mut Subject, console: &mut Console) -> Result<u8, Failed> {
    // A command of -c is started only for its probes, and ends with the list.
    let processes = match config.names_target() {
        true => processes::start(config, console)?,
        false => Vec::new(),
    };
    let target = processes::target(&processes);
    let descriptions = match config.files.is_empty() {
        true => vec![Description::Fields(Box::default())],
        false => {
            let compiled = compile(config, subject, console, target)?;
            compiled.program.clauses.into_iter().flat_map(|clause| clause.probes).collect()
        }
    };
    let catalog = subject.catalog(console)?;
    let (mut found, mut unmatched) = (Vec::new(), 0);
    // Through aliases, several descriptions may match one probe.
    let mut known = HashSet::new();
    for description in &descriptions {
        match catalog.matches(description) {
            Ok(probes) if !probes.is_empty() => {
                let inlined = description.inlined();
                let new = probes.into_iter().filter(|probe| known.insert((probe.id, inlined)));
                let new =
                    new.filter(|probe| !is_named(description, probe) || may_be(console, &catalog, probe));
                found.extend(new.map(|probe| Listed::new(probe, description)));
            }
            nothing => {
                no_match(console, description, nothing.err().map(|reason| *reason));
                unmatched += 1;
            }
        }
    }
    report_left_out(console, config.invocation.verbose, &catalog.left_out());
    console.put(&match config.invocation.objects {
        true => objects(config, subject, console, &found)?,
        false => table(config, subject, console, &found)?,
    })?;
    Ok(u8::from(unmatched > 0 && !config.options.flag(key::ZDEFS)))
}

/// Whether a description names the probe's function without a glob, or the probe has no function. The catalog has
/// already left out functions that match a glob and cannot be traced.
fn is_named(description: &Description, probe: &Probe) -> bool {
    let is_name = |field: &String| !field.is_empty() && !glob::is_glob(field);
    probe.name.function.is_empty() || description.fields().is_some_and(|fields| is_name(&fields.function))
}

/// Whether a probe can be traced, as far as is known before it is armed; if not, reports the reason.
fn may_be(console: &Console, catalog: &Catalog, probe: &Probe) -> bool {
    let refusal = catalog.refusal(probe);
    if let Some(why) = &refusal {
        console.report.notice(&format!("{} cannot be traced: {why}", probe_name(probe)));
    }
    refusal.is_none()
}

fn table(config: &Config, subject: &Subject, console: &Console, found: &[Listed]) -> Result<String, Failed> {
    let mut text = heading();
    match config.invocation.verbose {
        false => found.iter().for_each(|listed| row(&mut text, &listed.probe)),
        true => {
            let places = places(config, subject, console, found)?;
            let described = described(config, subject, console, found)?;
            for ((listed, place), described) in found.iter().zip(places).zip(described) {
                row(&mut text, &listed.probe);
                text += &place;
                text += &stability::describe(&described);
            }
        }
    }
    Ok(text)
}

/// Formats one JSON object a line; with -v also each probe's instruction and the types of its arguments.
fn objects(
    config: &Config,
    subject: &Subject,
    console: &Console,
    found: &[Listed],
) -> Result<String, Failed> {
    let name = |probe: &Probe| {
        let Probe { id, name: Fields { provider, module, function, name }, .. } = probe;
        let fields =
            json!({ "id": id, "provider": provider, "module": module, "function": function, "name": name });
        // A JSON literal in braces is always an object.
        fields.as_object().cloned().unwrap_or_default()
    };
    if !config.invocation.verbose {
        return Ok(found.iter().map(|listed| format!("{}\n", Value::Object(name(&listed.probe)))).collect());
    }
    let abouts = abouts(&*subject.catalog(console)?, found);
    let described = described(config, subject, console, found)?;
    let mut text = String::new();
    for ((Listed { probe, .. }, about), described) in found.iter().zip(abouts).zip(described) {
        let mut object = name(probe);
        let types: Vec<String> = described.types.iter().map(ToString::to_string).collect();
        object.insert("args".to_owned(), json!(types));
        object.insert("instruction".to_owned(), about.map_or(Value::Null, |about| instruction(&about)));
        text += &format!("{}\n", Value::Object(object));
    }
    Ok(text)
}

fn instruction(about: &About) -> Value {
    let frames = |frames: &[Frame]| -> Vec<Value> {
        let called =
            |frame: &Frame| frame.call.as_ref().map(|at| json!({ "file": at.file, "line": at.line }));
        frames.iter().map(|frame| json!({ "function": frame.name, "called": called(frame) })).collect()
    };
    let mut object = json!({
        "address": about.address.map(|address| format!("{address:#x}")),
        "text": about.text,
        "file": about.place.as_ref().map(|place| &place.file),
        "line": about.place.as_ref().map(|place| place.line),
        "frames": frames(&about.frames),
        "entered": frames(&about.entered),
    });
    // Only a program's instruction is executed elsewhere.
    if let Some(way) = &about.way {
        object["executed"] = json!(executed(way));
    }
    object
}

/// Returns the facts about the instruction of each probe that is at one, in the kernel or in a program.
fn abouts(catalog: &Catalog, listed: &[Listed]) -> Vec<Option<About>> {
    let mut answers = Answers::new(catalog.kernel());
    let about = |listed: &Listed| match &listed.probe.place {
        Place::Program(_) => catalog.about_in_program(&listed.probe, &bpf::nop5),
        place => place.offset().and_then(|_| answers.about(&listed.probe)),
    };
    listed.iter().map(about).collect()
}

/// A listed probe.
struct Listed {
    probe: Probe,
    /// A description of only this probe. It keeps the inlined copy that the user's description named by its function.
    description: Description,
}

impl Listed {
    fn new(probe: Probe, asked: &Description) -> Listed {
        let description = match (probe.site(), asked) {
            (Some(site), Description::Site(asked)) => {
                let (copy, inlined) = (asked.copy.clone(), asked.inlined);
                Description::Site(Box::new(Site { copy, inlined, ..site }))
            }
            (Some(site), _) => Description::Site(Box::new(site)),
            (None, Description::Site(asked)) => Description::Site(asked.clone()),
            (None, _) => Description::Fields(Box::new(probe.name.clone())),
        };
        Listed { probe, description }
    }
}

/// Returns the stability of each probe.
fn described(
    config: &Config,
    subject: &Subject,
    console: &Console,
    listed: &[Listed],
) -> Result<Vec<ProbeStability>, Failed> {
    let probes: Vec<Description> = listed.iter().map(|listed| listed.description.clone()).collect();
    let described = with_given(config, subject, 0, |given| {
        pipeline::describe(&config.sources, &probes, given, &config.options)
    });
    described.map_err(|diagnostics| {
        diagnostics.iter().for_each(|d| console.report.diagnostic(&config.sources, d, None));
        Failed
    })
}

/// Describes the place of each probe at an instruction, and the variables in scope there.
fn places(
    config: &Config,
    subject: &Subject,
    console: &Console,
    listed: &[Listed],
) -> Result<Vec<String>, Failed> {
    let places = abouts(&*subject.catalog(console)?, listed);
    let instruction = |(listed, about): (&Listed, &Option<About>)| {
        let about = about.as_ref()?;
        let Description::Site(site) = &listed.description else { return None };
        if site.copy.is_some() {
            return Some(Site::clone(site));
        }
        let inner = about.frames.iter().map(|frame| frame.die).collect::<Vec<u64>>();
        // A copy without instructions is entered at an instruction of another copy, which is shown instead if it is
        // entered there too.
        let with_code = about.entered.iter().any(|frame| inner.contains(&frame.die));
        let empty = about.entered.first().filter(|_| !with_code);
        Some(Site { copy: empty.map(|frame| frame.name.clone()), ..Site::clone(site) })
    };
    let asked: Vec<Site> = listed.iter().zip(&places).filter_map(instruction).collect();
    let mut variables = with_given(config, subject, 0, |given| {
        let scopes = given.places.scopes(&asked);
        scopes.iter().map(|scope| variables(given.kernel, scope)).collect::<Vec<String>>().into_iter()
    });
    let text = |about: Option<About>| match about {
        Some(about) => place(&about) + &variables.next().unwrap_or_default(),
        None => String::new(),
    };
    Ok(places.into_iter().map(text).collect())
}

/// Lists the types, names and locations of variables, by function from the innermost out.
fn variables(kernel: &dyn kinst_types::KernelTypes, scope: &InScope) -> String {
    let mut text = "\n\tVariables\n".to_owned();
    let scope = match &**scope {
        Ok(scope) => scope,
        Err(why) => return format!("{text}\t\t{why}\n"),
    };
    for frame in &scope.frames {
        let parameters = frame.parameters.iter().map(|variable| (variable, ""));
        let locals = frame.locals.iter().map(|variable| (variable, " (local)"));
        let named: Vec<_> =
            parameters.chain(locals).filter(|(variable, _)| !variable.name.is_empty()).collect();
        text += &format!("\t\t{}(){}\n", frame.function, if named.is_empty() { ": none" } else { "" });
        for (variable, kind) in named {
            let ty = variable
                .ty
                .map_or_else(|| "void".to_owned(), |at| kernel.type_at(&scope.module, at).to_string());
            let name = format!("{ty} {}{kind}", variable.name);
            text += &format!("\t\t\t{name:<36} {}\n", variable.place());
        }
    }
    text
}

/// Describes the place of an instruction, in the kernel and in its source.
fn place(about: &About) -> String {
    let mut text = "\n\tInstruction\n".to_owned();
    let mut line = |name: &str, value: &str| text += &format!("\t\t{name:<13} {value}\n");
    if let Some(address) = about.address {
        line("Address:", &format!("{address:#x}"));
    }
    if let Some(insn) = &about.text {
        line("Text:", insn);
    }
    if let Some(way) = &about.way {
        line("Executed:", &executed(way));
    }
    if let Some(place) = &about.place {
        line("Source:", &format!("{}:{}", place.file, place.line));
    }
    // From the innermost out, as in a stack.
    for (depth, frame) in about.frames.iter().enumerate() {
        line(if depth == 0 { "Function:" } else { "" }, &called(frame, depth > 0));
    }
    for (number, frame) in about.entered.iter().enumerate() {
        line(if number == 0 { "Entry of:" } else { "" }, &called(frame, false));
    }
    text
}

/// Describes how the kernel executes the instruction that a probe in a program displaces.
fn executed(way: &Result<Way, Refused>) -> String {
    match way {
        Ok(Way::Emulated) => "emulated".to_owned(),
        Ok(Way::Stepped) => "stepped, at ten times the cost of an emulated one".to_owned(),
        Err(why) => format!("cannot have a probe: {why}"),
    }
}

/// Returns `f, called at fs/read_write.c:604`, or `in f, …` for an outer frame.
fn called(frame: &Frame, outer: bool) -> String {
    let name = if frame.name.is_empty() { "?" } else { &frame.name };
    let name = if outer { format!("in {name}") } else { name.to_owned() };
    match &frame.call {
        Some(call) => format!("{name}, called at {}:{}", call.file, call.line),
        None => name,
    }
}

/// Reports a description that matches no probe. The others are still listed.
fn no_match(console: &Console, description: &Description, reason: Option<Diagnostic>) {
    let title = format!("failed to match {}: No probe matches description", description);
    let mut diagnostic = Diagnostic::error(tags::PDESC_ZERO, title);
    if let Some(reason) = reason {
        diagnostic.notes.push(reason.title);
        diagnostic.notes.extend(reason.notes);
        diagnostic.help = reason.help;
    }
    console.diagnostic(&diagnostic);
}

fn heading() -> String {
    format!("{:>5} {:>10} {:>17} {:>33} {}\n", "ID", "PROVIDER", "MODULE", "FUNCTION", "NAME")
}

fn row(text: &mut String, probe: &Probe) {
    let Probe { id, name: Fields { provider, module, function, name }, .. } = probe;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{id:>5} {provider:>10} {module:>17} {function:>33} {name}");
}
