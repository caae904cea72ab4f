//! sites/copies/resolve.rs: the addresses to probe for copies of functions, for all copies of one caller together.

use std::collections::HashSet;

use rayon::prelude::*;

use super::together::{doubt_conditions, together};
use crate::cache::known::Known;
use crate::flow::Undecodable;
use crate::flow::callers::Left;
use crate::flow::points::Point;
use crate::image::Image;
use crate::image::naming::NoSite;
use kinst_dwarf::{Function, InlineCopy};

/// Returns one result for each of `functions`.
pub(crate) fn resolve(image: Image<'_>, functions: &[Function]) -> Vec<Known> {
    let (mut known, live): (Vec<Known>, Vec<Vec<&InlineCopy>>) =
        functions.par_iter().map(|function| counted(image, function)).unzip();
    let copies: Vec<&InlineCopy> = live.iter().flatten().copied().collect();
    let callers = if copies.is_empty() { None } else { image.callers() };
    let mut left = match &callers {
        Some(callers) => callers.left(&copies),
        None => copies.iter().map(|copy| unread(copy)).collect(),
    };
    if let Some(callers) = &callers {
        doubt_conditions(&live, &mut left);
        together(callers, &live, &mut left);
    }
    let mut rest = &left[..];
    let parts: Vec<&[Left]> = live.iter().filter_map(|live| rest.split_off(..live.len())).collect();
    known.par_iter_mut().zip(parts).for_each(|(known, left)| known.add(image, left));
    known
}

/// Returns the exits of a copy in a module whose code is unavailable.
fn unread(copy: &InlineCopy) -> Left {
    let entries = vec![Point::At(copy.entry())];
    Left { entry: copy.entry(), entries, unread: Some(Undecodable::NoCode), ..Left::default() }
}

/// Returns all facts except sites, and the copies that exist in the code.
fn counted<'f>(image: Image<'_>, function: &'f Function) -> (Known, Vec<&'f InlineCopy>) {
    let mut known = Known { inline: function.inline, ..Known::default() };
    known.dropped.split_tails = count(function.split_tails);
    known.dropped.without_address = count(function.without_address);
    known.dropped.copies = count(function.copies.len() + function.without_address);
    let mut live = Vec::new();
    for copy in &function.copies {
        match image.caller(copy.entry()) {
            // A copy that cannot be entered is not exited either.
            Err(NoSite::Freed) => known.dropped.freed += 1,
            Err(NoSite::Dead) => known.dropped.dead += 1,
            Ok(_) => live.push(copy),
        }
    }
    (known, live)
}

impl Known {
    /// Adds the sites of the copies.
    fn add(&mut self, image: Image<'_>, copies: &[Left]) {
        let (mut entered, mut left) = (HashSet::new(), HashSet::new());
        for copy in copies {
            self.enter(copy, &mut entered);
            self.leave(image, copy, &mut left);
        }
    }

    /// Adds the points where a copy is entered, unless another copy is entered there.
    fn enter(&mut self, left: &Left, seen: &mut HashSet<Point>) {
        let before = self.entries.len();
        self.entries.extend(left.entries.iter().copied().filter(|point| seen.insert(*point)));
        self.dropped.duplicates += u32::from(self.entries.len() == before);
    }

    /// Adds the points where a copy is exited, unless another copy is exited there.
    fn leave(&mut self, image: Image<'_>, left: &Left, seen: &mut HashSet<Point>) {
        self.dropped.undecodable += count(left.missing);
        self.dropped.lost += left.lost;
        if let Some(reason) = left.unread {
            self.dropped.unread += 1;
            self.dropped.why_unread.get_or_insert(reason);
        }
        if let Some(doubt) = left.doubt {
            self.dropped.doubtful += 1;
            self.dropped.why_doubtful.get_or_insert(doubt);
        }
        for exit in left.sites.iter().copied() {
            if !seen.insert(exit) {
                self.dropped.shared += 1;
            } else if image.caller(exit.address()).is_ok() {
                self.exits.push(exit);
            }
        }
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
