//! analysis/paths/text.rs: paths as text.

use super::differ::{Comparison, Parting};
use super::followed::Followed;
use super::gathered::Counts;
use super::lines::{self, Decided, Line, Note, Piece};
use super::program::Group;
use super::ways::{Item, Way};
use crate::analysis::listing::{short, titled};
use crate::analysis::source::Sources;
use anstyle::{AnsiColor, Style};
use kinst_base::diag::color;
use kinst_sites::listing::Place;
use std::fmt::Write as _;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const CYAN: Style = AnsiColor::Cyan.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();

/// The style of the output.
pub(crate) struct Form<'s> {
    pub color: bool,
    /// Instructions rather than lines.
    pub instructions: bool,
    pub sources: &'s mut Sources,
}

/// The column of a line's branches, after its text.
const TEXT: usize = 72;
const PLACE: usize = 20;

/// `10 calls, 3 paths; 34 probes for 30 blocks`
pub(crate) fn title(groups: &[Group], ways: &[Way], counts: &Counts) -> String {
    let mut out = String::new();
    for group in groups.iter().filter(|group| !group.into) {
        for listing in group.members.iter().filter_map(|member| member.listings.first()) {
            out += &format!("{}\n", titled(listing));
        }
    }
    let members = || groups.iter().flat_map(|group| &group.members);
    let probes: usize = members().map(|member| member.witnesses.len()).sum();
    let blocks: usize = members().map(|member| member.blocks).sum();
    let broken = match counts.broken + counts.long {
        0 => String::new(),
        broken => format!(", {broken} broken"),
    };
    let calls = number(counts.whole, "call");
    out + &format!(
        "{calls}{broken}, {}; {probes} probes for {blocks} blocks\n",
        number(ways.len() as u64, "path")
    )
}

pub(crate) fn number(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

impl Form<'_> {
    fn paint(&self, style: Style, text: &str) -> String {
        color::paint(text, style, self.color)
    }

    /// Writes a path.
    pub(crate) fn way(&mut self, number: usize, way: &Way, groups: &[Group]) -> String {
        let returned = match way.end() {
            Some(Item::Leave { returned: Some(returned), .. }) => {
                format!(", returned {}", lines::seen(returned))
            }
            _ => String::new(),
        };
        let title = format!("path {}: {}{returned}", number + 1, self::number(way.calls, "call"));
        let mut out = format!("\n{}\n", self.paint(BOLD, &title));
        if self.instructions {
            self.items(&mut out, way, groups);
            return out;
        }
        let mut inside = Vec::new();
        self.pieces(&mut out, &lines::folded(lines::lines(way, groups)), 0, &mut inside);
        out
    }

    fn pieces(
        &mut self,
        out: &mut String,
        pieces: &[Piece],
        loops: usize,
        inside: &mut Vec<(String, Option<Place>)>,
    ) {
        for piece in pieces {
            match piece {
                Piece::Line(line) => self.line(out, line, loops, inside),
                Piece::Loop { times, body } => {
                    let depth = first(body).map_or(0, |line| line.depth + line.within.len().min(2));
                    let indent = "  ".repeat(1 + loops + depth);
                    // Writing to a String cannot fail.
                    let _ = writeln!(out, "{indent}{}", self.paint(YELLOW, &format!("{times} times:")));
                    self.pieces(out, body, loops + 1, inside);
                }
            }
        }
    }

    fn line(
        &mut self,
        out: &mut String,
        line: &Line,
        loops: usize,
        inside: &mut Vec<(String, Option<Place>)>,
    ) {
        let indent = |depth: usize| "  ".repeat(1 + loops + depth);
        if let Some(note) = &line.note {
            inside.clear();
            let _ = writeln!(out, "{}{}", indent(line.depth), self.paint(CYAN, &note_text(note)));
            return;
        }
        // A heading where an inlined function begins.
        let same = inside.iter().zip(&line.within).take_while(|(one, other)| one == other).count();
        let begun = line.within.iter().skip(same).map(|(name, call)| {
            let at = call.as_ref().map(|call| format!(" ({})", short(call))).unwrap_or_default();
            format!("{name}{at}")
        });
        let begun: Vec<String> = begun.collect();
        if !begun.is_empty() {
            let text = format!("{}{}", indent(line.depth + usize::from(same > 0)), begun.join(" > "));
            let _ = writeln!(out, "{}", self.paint(CYAN, &text));
        }
        inside.clone_from(&line.within);
        let place = line.place.as_ref().map_or_else(|| "?".to_owned(), short);
        let text = line.place.as_ref().and_then(|place| self.sources.line(&place.file, place.line));
        let text = text.map(|text| text.trim().replace('\t', " ")).unwrap_or_default();
        let shown = format!("{}{place:<PLACE$} {text}", indent(line.depth + line.within.len().min(2)));
        let notes = notes(line);
        if notes.is_empty() {
            let _ = writeln!(out, "{}", shown.trim_end());
        } else {
            let width = if text.is_empty() { 0 } else { TEXT };
            let shown = if text.is_empty() { format!("{} ", shown.trim_end()) } else { shown };
            let _ = writeln!(out, "{shown:<width$} {}", self.paint(YELLOW, &notes));
        }
    }

    /// Writes the blocks, by the offsets of their first and last instruction.
    fn items(&self, out: &mut String, way: &Way, groups: &[Group]) {
        for item in &way.items {
            let _ = match item {
                Item::Unknown => writeln!(out, "  ?"),
                Item::Enter { of, arguments } => {
                    let name = of.followed(groups).map(Followed::shown).unwrap_or_default();
                    writeln!(out, "  {name}({})", lines::arguments(arguments))
                }
                Item::Leave { of, returned, .. } => {
                    let name = of.followed(groups).map(Followed::shown).unwrap_or_default();
                    let returned = returned.as_ref().map(lines::seen).unwrap_or_default();
                    writeln!(out, "  {name} returns {returned}")
                }
                Item::Block { of, insns } => {
                    let Some(followed) = of.followed(groups) else { continue };
                    for insn in insns {
                        if let (Some(insn), Some(listing)) =
                            (followed.insn(*insn), followed.listings.get(insn.0))
                        {
                            let place = insn.place.as_ref().map(short).unwrap_or_default();
                            let at =
                                format!("{}+{}", listing.in_source(), listing.number(insn.offset.into()));
                            let _ = writeln!(out, "    {at:<28} {:<44} {place}", insn.text);
                        }
                    }
                    Ok(())
                }
                Item::Branch { of, to, jumps, values, .. } => {
                    let offset = to.and_then(|to| {
                        let followed = of.followed(groups)?;
                        Some(followed.space().number(followed.insn(to)?.offset.into()))
                    });
                    let to =
                        offset.filter(|_| *jumps).map(|offset| format!("-> {offset}")).unwrap_or_default();
                    let text = format!("{} {to}", lines::values(values));
                    if text.trim().is_empty() {
                        continue;
                    }
                    writeln!(out, "      {}", self.paint(YELLOW, text.trim()))
                }
            };
        }
    }

    /// Writes where calls diverge from the others.
    pub(crate) fn comparison(&mut self, comparison: &Comparison, predicate: &str) -> String {
        let Comparison { failed, others, partings, same, unknown } = comparison;
        let mut out = format!("\n{failed} with {predicate}, {others} without\n");
        if *unknown > 0 {
            let calls = number(*unknown, "call");
            out += &format!(
                "{calls} ended in a tail call, whose return value is not known here: try --path on that function\n"
            );
        }
        if *failed == 0 || *others == 0 {
            let which = if *failed == 0 { "no call" } else { "each call" };
            out += &format!("{which} has it: nothing to compare\n");
            return out;
        }
        for parting in partings {
            self.parting(&mut out, parting);
        }
        if *same > 0 {
            out += &format!(
                "{} took the same path as others: a called function makes the difference; --into follows it\n",
                number(*same, "call")
            );
        }
        out
    }

    fn parting(&mut self, out: &mut String, parting: &Parting) {
        let Parting { calls, line, decided, others, by_order } = parting;
        let place = line
            .place
            .as_ref()
            .map_or_else(|| "?".to_owned(), |place| format!("{}:{}", place.file, place.line));
        let within: Vec<&str> = line.within.iter().map(|(name, _)| name.as_str()).collect();
        let within = if within.is_empty() { String::new() } else { format!(", in {}", within.join(" > ")) };
        let order = if *by_order { " (others did the same in another order)" } else { "" };
        let _ =
            writeln!(out, "\n{}", self.paint(BOLD, &format!("{} at {place}{within}{order}", parts(*calls))));
        if let Some(text) = line.place.as_ref().and_then(|place| self.sources.line(&place.file, place.line)) {
            let text = format!("  {}", text.trim().replace('\t', " "));
            let _ = writeln!(out, "{text}");
        }
        let _ = writeln!(out, "{}", self.paint(RED, &side(*calls, decided)));
        for (calls, decided) in others {
            let _ = writeln!(out, "{}", side(*calls, decided));
        }
        if others.is_empty() {
            let _ = writeln!(out, "{}", self.paint(DIM, "  the others do not get here"));
        }
    }
}

/// `3 calls part`, `1 call parts`
fn parts(calls: u64) -> String {
    format!("{} part{}", number(calls, "call"), if calls == 1 { "s" } else { "" })
}

/// `  3 calls: error=-2 ENOENT -> 3914`
fn side(calls: u64, decided: &Decided) -> String {
    let values = lines::values(&decided.values);
    let values = if values.is_empty() { values } else { format!(" {values}") };
    let to = decided.to.as_ref().map(short).unwrap_or_default();
    let way = if decided.jumps { format!(" -> {to}") } else { " goes on".to_owned() };
    format!("  {}:{values}{way}", number(calls, "call"))
}

fn notes(line: &Line) -> String {
    let calls = line.calls.iter().map(|name| {
        let name = if name.is_empty() { "(*)" } else { name };
        format!("{name}()")
    });
    let branches = line.branches.iter().filter_map(|decided| {
        let values = lines::values(&decided.values);
        let same = |to: &Place| line.place.as_ref().is_some_and(|place| place.file == to.file);
        let name = |to: &Place| if same(to) { to.line.to_string() } else { short(to) };
        let to = decided.to.as_ref().filter(|_| decided.jumps).map(|to| format!("-> {}", name(to)));
        let text = [Some(values).filter(|values| !values.is_empty()), to];
        let text: Vec<String> = text.into_iter().flatten().collect();
        Some(text.join(" ")).filter(|text| !text.is_empty())
    });
    calls.chain(branches).collect::<Vec<_>>().join("; ")
}

fn note_text(note: &Note) -> String {
    match note {
        Note::Unknown => "? several paths lead from here to the next point".to_owned(),
        Note::Enter { function, arguments } => format!("{function}({})", lines::arguments(arguments)),
        Note::Leave { function, returned, tail } => {
            let returned = returned.as_ref().map(|one| format!(" {}", lines::seen(one))).unwrap_or_default();
            match tail {
                Some(tail) if tail.is_empty() => format!("{function} continues as (*)()"),
                Some(tail) => format!("{function} continues as {tail}()"),
                None => format!("{function} returns{returned}"),
            }
        }
    }
}

fn first(pieces: &[Piece]) -> Option<&Line> {
    match pieces.first()? {
        Piece::Line(line) => Some(line),
        Piece::Loop { body, .. } => first(body),
    }
}
