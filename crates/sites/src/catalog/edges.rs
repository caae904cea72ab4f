//! sites/catalog/edges.rs: edges of the control flow as probes: `kinst::f:53-61` fires when control goes from 53 to 61.

use kinst_base::image::ModuleId;
use std::ops::Range;

use super::refusals;
use super::store::Catalog;
use crate::code::decode::{self, Control};
use crate::flow::points::Over;
use crate::model::LiveInsn;
use crate::symtab::Symbol;
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob::Pattern;
use kinst_base::probe::{Probe, Target};

/// Whether a name denotes edges. A character class (`[0-9]`) contains a dash too.
pub(crate) fn is_edge(name: &str) -> bool {
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

/// The end of an edge, in the kernel's format.
pub(crate) struct EdgeTo {
    /// Static keys on the edge, as offsets from the symbol; 0 for none.
    pub over: [u32; 2],
    /// Signed distance from the symbol.
    pub to: u32,
    /// Name of the probe.
    pub name: String,
}

/// A successor of an instruction.
struct Way {
    /// Address as in [`crate::Kernel::symbols`] of the module.
    to: u64,
    module: ModuleId,
    target: Target,
}

/// The function whose instructions or edges are looked up.
pub(crate) struct Asked<'a> {
    pub module: ModuleId,
    pub symbol: &'a Symbol,
    pub function: &'a str,
    /// All of its instructions; if `live`, as they are in memory.
    pub insns: &'a [LiveInsn],
    pub live: bool,
}

/// The end of an edge in a description.
pub(crate) struct Destination {
    pub(super) target: Target,
    /// The end as written.
    pub(super) text: String,
}

impl Destination {
    pub(super) fn of_text(text: &str) -> Destination {
        let own = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let target = match (own, text.split_once('+')) {
            (Some(offset), _) => Target { function: None, offset },
            (None, Some((function, offset))) if offset.parse::<u64>().is_ok() => {
                Target { function: Some(function.to_owned()), offset: offset.parse().unwrap_or_default() }
            }
            (None, _) => Target { function: Some(text.to_owned()), offset: 0 },
        };
        Destination { target, text: text.to_owned() }
    }
}

impl Catalog {
    /// Returns the edges of a function whose names match.
    pub(crate) fn edges_matching(&self, asked: &Asked<'_>, pattern: &Pattern) -> Vec<Probe> {
        let Asked { module, symbol, function, insns, live } = *asked;
        let mut probes = Vec::new();
        for insn in insns.iter().filter(|insn| insn.refused.is_none()) {
            let ways = self.all_ways(module, symbol, insn, live);
            // An instruction with one successor is not a branch; its edge can still be named explicitly.
            for way in ways.iter().filter(|_| ways.len() > 1) {
                if pattern.matches(&edge_name(&insn.offset.to_string(), &way.target)) {
                    probes.extend(self.make_edge(module, symbol, function, insn.offset, &[], way));
                }
            }
        }
        probes
    }

    /// Returns the edge from the path's first instruction over the others.
    pub(crate) fn edge(
        &self,
        asked: &Asked<'_>,
        path: &[u32],
        to: &Destination,
    ) -> Result<Probe, Box<Diagnostic>> {
        let Asked { symbol, function, insns, .. } = *asked;
        let mut run = Vec::with_capacity(path.len());
        for offset in path {
            let insn = insns.iter().find(|insn| insn.offset == *offset);
            run.push(insn.ok_or_else(|| Box::new(refusals::no_boundary(function, symbol, *offset, insns)))?);
        }
        let [from, keys @ ..] = &run[..] else {
            return Err(Box::new(refusals::no_such_name(function, &to.text)));
        };
        let over: Vec<u64> = keys.iter().map(|key| symbol.address + u64::from(key.offset)).collect();
        if Over::new(&over).is_none() {
            return Err(Box::new(too_many_keys(function)));
        }
        for (at, hop) in run.windows(2).enumerate() {
            let [one, key] = hop else { break };
            let target = Target { function: None, offset: key.offset.into() };
            let key_place = Destination { text: target.to_string(), target };
            self.way(asked, &run[..at], one, &key_place)?;
            if !self.is_key(asked, key) {
                return Err(Box::new(no_key(function, symbol, key)));
            }
        }
        let last = keys.last().unwrap_or(from);
        let way = match self.way(asked, &run[..keys.len()], last, to) {
            Err(_) if keys.is_empty() && self.is_indirect(asked, from) => self.named(asked, from, to)?,
            way => way?,
        };
        let keys: Vec<u32> = keys.iter().map(|key| key.offset).collect();
        self.make_edge(asked.module, symbol, function, from.offset, &keys, &way)
            .ok_or_else(|| Box::new(out_of_reach(function, &to.text)))
    }

    /// Returns the successor of an instruction that matches `to`.
    fn way(
        &self,
        asked: &Asked<'_>,
        before: &[&LiveInsn],
        insn: &LiveInsn,
        to: &Destination,
    ) -> Result<Way, Box<Diagnostic>> {
        let Asked { module, symbol, live, .. } = *asked;
        let is_meant = |way: &Way| way.target == to.target;
        // The tables of the file are read only if the bytes do not suffice.
        let in_memory =
            if live { self.ways(module, symbol, insn, memory_ways(symbol, insn)) } else { Vec::new() };
        if let Some(way) = in_memory.into_iter().find(is_meant) {
            return Ok(way);
        }
        let mut ways = self.all_ways(module, symbol, insn, live);
        match ways.iter().position(is_meant) {
            Some(way) => Ok(ways.swap_remove(way)),
            None => {
                let before: String = before.iter().map(|insn| format!("{}-", insn.offset)).collect();
                Err(Box::new(no_edge(asked, &before, insn, &to.text, &ways)))
            }
        }
    }

    /// Whether an instruction is a static key according to the file; the kernel module checks again.
    fn is_key(&self, asked: &Asked<'_>, insn: &LiveInsn) -> bool {
        let address = asked.symbol.address + u64::from(insn.offset);
        self.kernel.callers(asked.module).is_none_or(|callers| {
            callers.marks().jump_labels.binary_search_by_key(&address, |label| label.0).is_ok()
        })
    }

    /// Whether an instruction jumps through a register or memory, or to a thunk that replaces such a jump.
    fn is_indirect(&self, asked: &Asked<'_>, insn: &LiveInsn) -> bool {
        let address = asked.symbol.address + u64::from(insn.offset);
        let Some(step) = decode::step(insn.machine, &insn.bytes, address) else { return false };
        match step.control {
            Control::JumpIndirect | Control::JumpThrough => true,
            Control::Jump(to) => {
                let is_thunk =
                    |name: &str| name.strip_prefix("__pi_").unwrap_or(name).starts_with("__x86_indirect_");
                self.kernel
                    .symbols(ModuleId::PROPER)
                    .is_some_and(|symbols| symbols.names_at(to).any(is_thunk))
            }
            _ => false,
        }
    }

    /// Returns the successor that a description names for an indirect jump: `61` in the same function, `f+0`
    /// in another one.
    fn named(&self, asked: &Asked<'_>, insn: &LiveInsn, to: &Destination) -> Result<Way, Box<Diagnostic>> {
        let Asked { module, symbol, function, .. } = *asked;
        let Destination { target, text } = to;
        let Some(name) = &target.function else {
            let address = symbol.address.saturating_add(target.offset);
            let inside = within(symbol).contains(&address);
            let way = inside.then(|| Way { to: address, module, target: target.clone() });
            return way.ok_or_else(|| Box::new(no_target(function, insn.offset, text)));
        };
        if name.is_empty() || name.contains('+') {
            return Err(Box::new(no_target(function, insn.offset, text)));
        }
        let all = self.kernel.modules_matching("");
        let mut found = self.kernel.functions_named(&all, name);
        found.retain(|(_, symbol)| target.offset < symbol.size.max(1));
        match &found[..] {
            [(module, symbol)] => {
                let address = symbol.address + target.offset;
                Ok(Way { to: address, module: *module, target: target.clone() })
            }
            [] => Err(Box::new(refusals::no_function(&self.kernel, &all, name, text))),
            several => Err(Box::new(ambiguous(name, several.len()))),
        }
    }

    /// Returns the successors of an instruction, in memory and in the file: a patched instruction may have both.
    fn all_ways(&self, module: ModuleId, symbol: &Symbol, insn: &LiveInsn, live: bool) -> Vec<Way> {
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

    fn ways(&self, module: ModuleId, symbol: &Symbol, insn: &LiveInsn, to: Vec<u64>) -> Vec<Way> {
        let from = symbol.address + u64::from(insn.offset);
        // A module's sections are not at the same distances in memory as in the file: a distance in memory is
        // valid only within the function.
        let known = |to: &u64| {
            within(symbol).contains(to) || module == ModuleId::PROPER || !self.kernel.is_running() || {
                self.kernel.callers(module).is_none_or(|callers| callers.ways(from).contains(to))
            }
        };
        let to = to.into_iter().filter(known);
        to.filter_map(|to| Some(Way { to, module, target: self.kernel.image(module).target(from, to)? }))
            .collect()
    }

    fn make_edge(
        &self,
        module: ModuleId,
        symbol: &Symbol,
        function: &str,
        from: u32,
        keys: &[u32],
        way: &Way,
    ) -> Option<Probe> {
        let start = self.kernel.run_time(module, symbol.address).unwrap_or(0);
        let distance = match way.module == module && within(symbol).contains(&way.to) {
            true => way.to - symbol.address,
            false => self.kernel.run_time(way.module, way.to)?.wrapping_sub(start),
        };
        let to = i32::try_from(distance.cast_signed()).ok()?.cast_unsigned();
        let path: Vec<String> = std::iter::once(&from).chain(keys).map(u32::to_string).collect();
        let mut over = [0; 2];
        over.get_mut(..keys.len())?.copy_from_slice(keys);
        let name = edge_name(&path.join("-"), &way.target);
        Some(self.make(module, symbol, function, from, Some(EdgeTo { over, to, name })))
    }
}

/// Returns the successors according to the instruction's bytes.
fn memory_ways(symbol: &Symbol, insn: &LiveInsn) -> Vec<u64> {
    let step = decode::step(insn.machine, &insn.bytes, symbol.address + u64::from(insn.offset));
    step.map(|step| decode::ways(&step)).unwrap_or_default()
}

fn within(symbol: &Symbol) -> Range<u64> {
    symbol.address..symbol.address.saturating_add(symbol.size)
}

fn edge_name(from: &str, to: &Target) -> String {
    format!("{from}-{to}")
}

fn too_many_keys(function: &str) -> Diagnostic {
    let most = Over::MOST;
    Diagnostic::error(
        tags::PDESC_ZERO,
        format!("an edge of `{function}` cannot lead over more than {most} static keys"),
    )
    .help(format!("begin it at the last instruction before {most} of them"))
}

fn no_key(function: &str, symbol: &Symbol, insn: &LiveInsn) -> Diagnostic {
    let offset = insn.offset;
    let text = decode::text(insn.machine, &insn.bytes, symbol.address + u64::from(offset));
    Diagnostic::error(tags::PDESC_ZERO, format!("{offset} in `{function}` is not a static key"))
        .note(format!("it is `{text}`"))
        .help("an edge leads from one instruction to another; only static keys, which the kernel rewrites, can be between them")
}

fn no_target(function: &str, from: u32, to: &str) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, format!("{from} in `{function}` cannot jump to `{to}`"))
        .note("it is an indirect jump")
        .help(format!("name an offset in `{function}`, or another function and an offset in it: {from}-f+0"))
}

fn ambiguous(name: &str, count: usize) -> Diagnostic {
    Diagnostic::error(tags::PDESC_ZERO, format!("`{name}` is ambiguous: {count} functions have this name"))
        .help(format!("name one of them: {name}#1+0 to {name}#{count}+0"))
}

fn out_of_reach(function: &str, to: &str) -> Diagnostic {
    Diagnostic::error(
        tags::PDESC_ZERO,
        format!("`{to}` is too far from `{function}`, or at an unknown distance"),
    )
    .note("the address of another section of a module is known only while it is loaded")
}

/// Refuses an edge that does not exist. `before` is the part of the description before the instruction.
fn no_edge(asked: &Asked<'_>, before: &str, insn: &LiveInsn, to: &str, ways: &[Way]) -> Diagnostic {
    let Asked { symbol, function, .. } = *asked;
    let from = insn.offset;
    let error = Diagnostic::error(
        tags::PDESC_ZERO,
        format!("control does not go from {from} to {to} in `{function}`"),
    );
    let text = decode::text(insn.machine, &insn.bytes, symbol.address + u64::from(from));
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
            .note(format!("{from} `{text}` does not branch: it continues at {}", only.target))
            .help(format!("trace the instruction: kinst::{function}:{from}")),
        ways => {
            let leads: Vec<String> = ways.iter().map(|way| leads(way)).collect();
            let tries: Vec<String> =
                ways.iter().map(|way| format!("kinst::{function}:{before}{from}-{}", way.target)).collect();
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
