//! dwarf/frames/all.rs: all code that debug information describes, unit by unit.

use rayon::prelude::*;

use super::body::Body;
use super::functions::functions;
use super::info::DebugInfo;
use crate::lines::{self, Lines};
use crate::split::Opened;

impl DebugInfo<'_> {
    /// Reads the functions and the line table of each unit, on all cores; units that cannot be read are left
    /// out.
    pub fn all<T: Send>(&self, take: impl Fn(Vec<Body>, Lines) -> T + Sync) -> Vec<T> {
        let read = |unit: usize| {
            let Opened { dwarf, unit: opened } = self.unit(unit).ok()?;
            let mut lines = lines::read(&dwarf, &opened).unwrap_or_default();
            lines.retain(|start| self.image().section_at(start).is_some());
            let is_there = |address: u64| self.image().section_at(address).is_some();
            let mut dies: Vec<u64> = functions(&dwarf, &opened)
                .unwrap_or_default()
                .into_iter()
                .filter(|(range, _)| is_there(range.start))
                .map(|(_, die)| die)
                .collect();
            dies.sort_unstable();
            dies.dedup();
            let bodies = dies.into_iter().filter_map(|die| self.read_body(unit, die, &lines).ok()).collect();
            Some(take(bodies, lines))
        };
        self.units().into_par_iter().filter_map(read).collect()
    }
}
