//! sites/cache/known.rs: the sites of an inlined function in one file, and why some of its copies have none.

use crate::flow::Undecodable;
use crate::flow::doubts::Doubt;
use crate::flow::points::Point;

/// The facts about one inlined function in one module. Addresses are those of [`crate::symtab::Symbols`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Whether a definition exists that was or could be inlined.
    pub inline: bool,
    /// Entries in the order of the debug information.
    pub entries: Vec<Point>,
    pub exits: Vec<Point>,
    pub dropped: Dropped,
}

/// Copies and boundaries that did not become sites, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    pub copies: u32,
    pub freed: u32,
    pub dead: u32,
    pub split_tails: u32,
    pub without_address: u32,
    pub duplicates: u32,
    /// Copies in an unreadable caller, with ranges that do not end at an instruction's end.
    pub undecodable: u32,
    /// Copies whose caller's control flow is unknown, and the reason for the first of them.
    pub unread: u32,
    pub why_unread: Option<Undecodable>,
    /// Exits that cannot have a probe.
    pub lost: u32,
    /// Exits shared with a copy that begins elsewhere.
    pub shared: u32,
    /// Copies that may also be entered elsewhere, and the reason for the first of them.
    pub doubtful: u32,
    pub why_doubtful: Option<Doubt>,
}

impl Dropped {
    /// Returns the reasons, as in `2 in code that is freed after boot, …`; empty if all copies became sites.
    pub fn reasons(&self) -> String {
        let reasons = [
            (self.freed, "in code that is freed after boot"),
            (self.dead, "in code that was not linked in"),
            (self.without_address, "without an address"),
            (self.split_tails, "the second half of a split function"),
            (self.undecodable, "with a range that does not consist of whole instructions"),
        ];
        let reasons: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        reasons.join(", ")
    }

    /// Returns remarks for -v, one line each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(why) = self.why_unread {
            let copies = self.unread;
            remarks.push(format!(
                "{copies} inlined copies return at the ends of their ranges, which is not exact: {why}"
            ));
        }
        if let Some(why) = self.why_doubtful {
            let copies = self.doubtful;
            remarks.push(format!("{copies} inlined copies may be entered elsewhere too: {why}"));
        }
        if self.lost > 0 {
            remarks.push(format!("{} exits by a fault cannot be traced", self.lost));
        }
        if self.duplicates > 0 {
            remarks.push(format!(
                "{} of {} inlined copies begin where another one does: entry and return fire once for them together",
                self.duplicates, self.copies
            ));
        }
        if self.shared > 0 {
            remarks.push(format!(
                "{} exits of inlined copies are shared with another one: return fires once for both",
                self.shared
            ));
        }
        let reasons = self.reasons();
        if !reasons.is_empty() {
            remarks.push(format!("{} inlined copies; left out: {reasons}", self.copies));
        }
        remarks
    }
}
