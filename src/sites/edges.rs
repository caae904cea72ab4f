//! sites/edges.rs: of the catalogue, the edges of the control flow: `kinst::f:53-61` fires when control goes from 53 to 61.

use std::ops::Range;

use super::catalog::{Catalog, LiveInsn};
use super::glob::{self, Pattern};
use super::symtab::Symbol;
use super::{Probe, Target, decode, refusals};
use crate::diag::{Diagnostic, tags};

/// Is the field about edges? A range of characters (`[0-9]`) has a dash too.
pub fn is_edge(name: &str) -> bool {
    let mut depth = 0u32;
    name.bytes().any(|byte| {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte == b'-' && depth == 0
    })
}

/// A way from an instruction to another.
struct Way {
    /// Address of [`super::Kernel::symbols`].
    to: u64,
    target: Target,
}

impl Catalog {
    /// The edges of a function that the name means. `insns` are all of its instructions.
    pub(super) fn edges(
        &self,
        module: usize,
        symbol: &Symbol,
        function: &str,
        name: &str,
        insns: &[LiveInsn],
        live: bool,
    ) -> Result<Vec<Probe>, Box<Diagnostic>> {
        if glob::is_glob(name) {
            let pattern = Pattern::new(name);
            let mut probes = Vec::new();
            for insn in insns.iter().filter(|insn| insn.refused.is_none()) {
                let ways = self.all_ways(module, symbol, insn, live);
                // An instruction that goes one way is no branch; it can be asked for by its numbers.
                for way in ways.iter().filter(|_| ways.len() > 1) {
                    if pattern.matches(&edge_name(insn.offset, &way.target)) {
                        probes.extend(self.make_edge(module, symbol, function, insn.offset, way));
                    }
                }
            }
            return Ok(probes);
        }
        let Some((from, to)) = name.split_once('-') else { return Ok(Vec::new()) };
        let Some(from) = refusals::decimal(from).filter(|_| !to.is_empty()) else {
            return Err(Box::new(refusals::no_such_name(function, name)));
        };
        let Some(insn) = insns.iter().find(|insn| insn.offset == from) else {
            return Err(Box::new(refusals::no_boundary(function, symbol, from, insns)));
        };
        let make = |ways: &[Way]| {
            let meant = ways.iter().find(|way| way.target.to_string() == to)?;
            self.make_edge(module, symbol, function, from, meant)
        };
        // The tables of the file need not be read for the sake of what the bytes tell.
        let in_memory =
            if live { self.ways(module, symbol, insn, memory_ways(symbol, insn)) } else { Vec::new() };
        if let Some(probe) = make(&in_memory) {
            return Ok(vec![probe]);
        }
        let ways = self.all_ways(module, symbol, insn, live);
        make(&ways)
            .map(|probe| vec![probe])
            .ok_or_else(|| Box::new(no_edge(function, symbol, insn, to, &ways)))
    }

    /// Where an instruction goes, in memory and in the file: what the kernel patches may go both ways.
    fn all_ways(&self, module: usize, symbol: &Symbol, insn: &LiveInsn, live: bool) -> Vec<Way> {
        let mut to = match self.kernel.callers(module) {
            Some(callers) => callers.ways(symbol.address + u64::from(insn.offset)),
            None => Vec::new(),
        };
        if live || to.is_empty() {
            to.extend(memory_ways(symbol, insn));
        }
        to.sort_unstable();
        to.dedup();
        self.ways(module, symbol, insn, to)
    }

    fn ways(&self, module: usize, symbol: &Symbol, insn: &LiveInsn, to: Vec<u64>) -> Vec<Way> {
        let from = symbol.address + u64::from(insn.offset);
        // Sections of a module do not stand in memory as they do in the file: a distance in memory tells only about
        // the function itself.
        let known = |to: &u64| {
            within(symbol).contains(to) || module == 0 || !self.kernel.is_running() || {
                self.kernel.callers(module).is_none_or(|callers| callers.ways(from).contains(to))
            }
        };
        let to = to.into_iter().filter(known);
        to.filter_map(|to| Some(Way { to, target: self.kernel.target(module, from, to)? })).collect()
    }

    fn make_edge(
        &self,
        module: usize,
        symbol: &Symbol,
        function: &str,
        from: u32,
        way: &Way,
    ) -> Option<Probe> {
        let start = self.kernel.run_time(module, symbol.address).unwrap_or(0);
        let distance = match within(symbol).contains(&way.to) {
            true => way.to - symbol.address,
            false => self.kernel.run_time(module, way.to)?.wrapping_sub(start),
        };
        let to = i32::try_from(distance.cast_signed()).ok()?;
        let name = edge_name(from, &way.target);
        Some(self.make(module, symbol, function, from, Some((to.cast_unsigned(), name))))
    }
}

/// By the instruction's bytes.
fn memory_ways(symbol: &Symbol, insn: &LiveInsn) -> Vec<u64> {
    let step = decode::steps(&insn.bytes, symbol.address + u64::from(insn.offset)).next();
    step.map(|step| decode::ways(&step)).unwrap_or_default()
}

fn within(symbol: &Symbol) -> Range<u64> {
    symbol.address..symbol.address.saturating_add(symbol.size)
}

fn edge_name(from: u32, to: &Target) -> String {
    format!("{from}-{to}")
}

/// Control does not go there.
fn no_edge(function: &str, symbol: &Symbol, insn: &LiveInsn, to: &str, ways: &[Way]) -> Diagnostic {
    let from = insn.offset;
    let error = Diagnostic::error(
        tags::PDESC_ZERO,
        format!("control does not go from {from} to {to} in `{function}`"),
    );
    let text = decode::text(&insn.bytes, symbol.address + u64::from(from));
    let next = symbol.address + u64::from(from) + insn.bytes.len() as u64;
    let leads = |way: &Way| match way.to == next {
        true => format!("falls through to {}", way.target),
        false => format!("goes to {}", way.target),
    };
    let mut sorted: Vec<&Way> = ways.iter().collect();
    sorted.sort_by_key(|way| way.to == next);
    match &sorted[..] {
        [] => error
            .note(format!("{from} `{text}` leaves the function"))
            .help(format!("trace the instruction: kinst::{function}:{from}")),
        [only] if only.to == next => error
            .note(format!("{from} `{text}` does not branch: it only goes on to {}", only.target))
            .help(format!("trace the instruction: kinst::{function}:{from}")),
        ways => {
            let leads: Vec<String> = ways.iter().map(|way| leads(way)).collect();
            let tries: Vec<String> =
                ways.iter().map(|way| format!("kinst::{function}:{from}-{}", way.target)).collect();
            error
                .note(format!("{from} `{text}` {}", leads.join(" or ")))
                .help(format!("try {}", tries.join(" or ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_edge;

    #[test]
    fn a_dash_between_brackets_is_no_edge() {
        for (name, edge) in
            [("53-61", true), ("53-f.cold+4", true), ("5*-*", true), ("[0-9]*", false), ("53", false)]
        {
            assert_eq!(is_edge(name), edge, "{name}");
        }
    }
}
