//! cli/refused.rs: messages about places that the kernel refuses to trace.

use super::config::Config;
use super::console::{Console, Failed};
use crate::backend::{Matched, Plan, Refused};
use crate::options::key;
use crate::pipeline::Compiled;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::{Sources, Span};
use std::collections::{HashMap, HashSet};

/// The number of refused places that are reported one by one without -v.
const FOLD: usize = 5;

/// A description in the program whose places were all refused.
struct Lost<'a> {
    /// The description as written.
    text: String,
    span: Option<Span>,
    /// The first of the places; its reason is the one reported.
    first: &'a Refused,
    /// The refused places, in order.
    places: Vec<&'a Refused>,
}

impl Lost<'_> {
    fn diagnostic(&self) -> Diagnostic {
        let title = match &self.places[..] {
            [only] => only.text(),
            all => {
                format!("none of the {} places of {} can be traced: {}", all.len(), self.text, self.first.why)
            }
        };
        let mut diagnostic = Diagnostic::error(tags::ENABLE, title);
        if let Some(span) = self.span {
            diagnostic = diagnostic.at(span, "no place left to trace");
        }
        match self.first.why.help() {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

/// Reports refused places one a line, and folds many into a count. A description whose places were all refused is an
/// error; with -Z it is left out.
pub(super) fn report(
    config: &Config,
    console: &Console,
    compiled: &Compiled,
    plan: &Plan,
    refused: &[Refused],
) -> Result<(), Failed> {
    let verbose = config.invocation.verbose;
    let lost = lost(&config.sources, compiled, plan, refused);
    let Some(first) = lost.first() else {
        warn(console, verbose, refused.iter());
        return Ok(());
    };
    if config.options.flag(key::ZDEFS) {
        let of_lost: HashSet<usize> =
            lost.iter().flat_map(|lost| &lost.places).map(|place| place.probe).collect();
        warn(console, verbose, refused.iter().filter(|refused| !of_lost.contains(&refused.probe)));
        for lost in &lost {
            let places = match lost.places.len() {
                1 => "it cannot be traced".to_owned(),
                places => format!("none of its {places} places can be traced"),
            };
            console.report.warning(&format!("{} is left out: {places}: {}", lost.text, lost.first.why));
        }
        let ecbs = plan.enabled.ecbs.iter();
        return match ecbs.map(|ecb| ecb.probe as usize).all(|probe| of_lost.contains(&probe)) {
            true => console.fail("no place left to trace", None),
            false => Ok(()),
        };
    }
    // One cause, one message.
    if refused.iter().any(|refused| refused.why != first.first.why) {
        let only = Some(first.first.probe).filter(|_| first.places.len() == 1);
        warn(console, verbose, refused.iter().filter(|refused| Some(refused.probe) != only));
    }
    console.report.diagnostic(&config.sources, &first.diagnostic(), None);
    Err(Failed)
}

/// Like [`report`], for a generated program, in which no span was written by the user.
pub(super) fn report_some(
    console: &Console,
    verbose: bool,
    plan: &Plan,
    refused: &[Refused],
) -> Result<(), Failed> {
    let places = plan.enabled.probes.iter().filter(|probe| probe.place.is_text()).count();
    let Some(first) = refused.first().filter(|_| refused.len() >= places) else {
        warn(console, verbose, refused.iter());
        return Ok(());
    };
    if refused.iter().all(|refused| refused.why == first.why) {
        return console
            .fail(&format!("none of the {places} places can be traced: {}", first.why), first.why.help());
    }
    warn(console, verbose, refused.iter());
    console.fail(&format!("none of the {places} places can be traced"), first.why.help())
}

fn warn<'a>(console: &Console, verbose: bool, refused: impl Iterator<Item = &'a Refused>) {
    let texts: Vec<String> = refused.map(Refused::text).collect();
    let shown = if verbose { texts.len() } else { FOLD };
    texts.iter().take(shown).for_each(|text| console.report.warning(text));
    if texts.len() > shown {
        console.report.warning(&format!("… and {} more; -v lists all", texts.len() - shown));
    }
}

/// Returns the descriptions in the program whose places were all refused. A description such as `kinst::f:return`
/// expands to several, which count as one.
fn lost<'a>(sources: &Sources, compiled: &Compiled, plan: &Plan, refused: &'a [Refused]) -> Vec<Lost<'a>> {
    let mut lost = plan.lost(refused).peekable();
    let mut written: Vec<(usize, Option<Span>, Vec<&Matched>)> = Vec::new();
    let mut place: HashMap<(usize, Option<Span>), usize> = HashMap::new();
    for description in &plan.descriptions {
        let spans = compiled.descriptions.get(description.clause);
        let span = spans.and_then(|spans| spans.get(description.index)).copied();
        let at = *place.entry((description.clause, span)).or_insert(written.len());
        if at == written.len() {
            written.push((0, span, Vec::new()));
        }
        written[at].0 += 1;
        if let Some(lost) = lost.next_if(|lost| std::ptr::eq(*lost, description)) {
            written[at].2.push(lost);
        }
    }
    let places: HashMap<usize, &Refused> = refused.iter().map(|refused| (refused.probe, refused)).collect();
    let whole = written.into_iter().filter(|(all, _, lost)| lost.len() == *all);
    whole
        .filter_map(|(_, span, lost)| {
            let ecbs =
                lost.iter().flat_map(|lost| plan.enabled.ecbs.get(lost.ecbs.clone()).unwrap_or_default());
            let places: Vec<_> = ecbs.filter_map(|ecb| places.get(&(ecb.probe as usize)).copied()).collect();
            Some(Lost { text: text(sources, span), span, first: places.first().copied()?, places })
        })
        .collect()
}

/// The text of a description.
fn text(sources: &Sources, span: Option<Span>) -> String {
    let text = span.and_then(|at| sources.get(at.file).text.get(at.start as usize..at.end as usize));
    text.unwrap_or_default().trim().to_owned()
}
