//! manual/src/tables.rs: tables from the program, as parts of a page.

use kinst::options;
use kinst::reason;
use kinst::vocabulary::builtin::{self, Entry, Prototype, What};
use roff::{Inline, Roff, bold, italic, roman};

/// Returns the options of -x, with a subsection for each group.
pub(crate) fn settings() -> String {
    let mut page = Roff::new();
    let mut last = "";
    for (group, spec, does) in options::described() {
        if group != last {
            page.control("SS", [format!("-x: {group}").as_str()]);
            last = group;
        }
        let value = options::value_of(spec);
        let mut text = vec![roman(sentence(does))];
        if !spec.default.is_empty() {
            text.push(roman(format!(" The default is {}.", spec.default)));
        }
        let when = match spec.when {
            options::When::Dynamic => " It can be changed by setopt() while tracing.",
            options::When::Context => " It cannot be set in a program.",
            _ => "",
        };
        text.push(roman(when));
        entry(&mut page, vec![bold(spec.name), italic(value)], text);
    }
    page.render()
}

/// Returns the reasons why a place is refused, with a remedy.
pub(crate) fn reasons() -> String {
    let mut page = Roff::new();
    for (words, help) in reason::all() {
        let text = if help.is_empty() { Vec::new() } else { vec![roman(sentence(help))] };
        entry(&mut page, vec![bold(words)], text);
    }
    page.render()
}

pub(crate) fn variables() -> String {
    let mut page = Roff::new();
    for known in supported() {
        let ty = match known.what {
            What::Variable { ty, .. } => ty,
            What::Array(_) => "array",
            What::Library => "from a library",
            _ => continue,
        };
        page.text([bold(known.name), roman(format!(" ({ty})"))]);
        page.control("br", []);
    }
    page.render()
}

pub(crate) fn subroutines() -> String {
    let mut page = Roff::new();
    for known in supported() {
        if let What::Subroutine(prototype) = &known.what {
            page.text([
                roman(format!("{} ", prototype.returns)),
                bold(known.name),
                roman(parameters(prototype)),
            ]);
            page.control("br", []);
        }
    }
    page.render()
}

fn parameters(Prototype { params, optional, .. }: &Prototype) -> String {
    let needed = params.len() - optional;
    let (needed, more) = params.split_at(needed);
    let more: String = more.iter().map(|ty| format!("[, {ty}]")).collect();
    format!("({}{more})", needed.join(", "))
}

pub(crate) fn actions() -> String {
    names(|what| matches!(what, What::Action(_)))
}

pub(crate) fn aggregating() -> String {
    names(|what| matches!(what, What::Aggregating(_)))
}

/// Returns names in one paragraph.
fn names(is_one: fn(&What) -> bool) -> String {
    let mut page = Roff::new();
    let mut inlines: Vec<Inline> = Vec::new();
    for known in supported().filter(|known| is_one(&known.what)) {
        if !inlines.is_empty() {
            inlines.push(roman(", "));
        }
        inlines.push(bold(format!("{}()", known.name)));
    }
    inlines.push(roman("."));
    page.text(inlines);
    page.render()
}

/// Returns the names that programs can use, including those that libraries define.
fn supported() -> impl Iterator<Item = &'static Entry> {
    builtin::TABLE.iter().filter(|known| known.supported || matches!(known.what, What::Library))
}

fn entry(page: &mut Roff, term: Vec<Inline>, text: Vec<Inline>) {
    page.control("TP", []);
    page.text(term);
    page.text(text);
}

/// Converts a note to a sentence: with a capital letter and a full stop.
pub(crate) fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}
