//! analysis/paths/ways.rs: the paths of calls, inferred from the records.

use super::gathered::{Calls, Mark, Seen, Shape};
use super::program::Group;
use super::values::Form;
use crate::analysis::paths::followed::{Exit, Followed, Piece};
use kinst_base::probe::{Fields, Site, Target};
use kinst_base::space::Space;
use kinst_sites::flow::routes::Passed;
use kinst_sites::listing::disas::{Listed, in_source};
use std::collections::HashMap;

/// A path that calls took.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Way {
    pub calls: u64,
    /// The calls for which the predicate of --differ was true.
    pub failed: u64,
    pub items: Vec<Item>,
    /// The number of probes that fired.
    pub fired: usize,
}

/// A part of a path. Functions followed within others are included, from Enter to Leave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Enter { of: Of, arguments: Vec<Shown> },
    Block { of: Of, insns: Vec<(usize, usize)> },
    Branch { of: Of, insn: (usize, usize), to: Option<(usize, usize)>, jumps: bool, values: Vec<Shown> },
    Unknown,
    Leave { of: Of, returned: Option<Shown>, tail: Option<String> },
}

/// A function or copy, by its group and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Of {
    pub group: usize,
    pub member: usize,
}

/// The values of one item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    pub name: String,
    pub form: Form,
    pub seen: Seen,
}

/// A call with its marks in order.
struct Call {
    group: usize,
    probe: u32,
    arguments: Vec<Seen>,
    passed: Vec<(u32, Vec<Seen>)>,
    /// The followed calls that it makes, each with the number of preceding witnesses.
    inner: Vec<(usize, Call)>,
    exit: (u32, u64),
    returned: Vec<Seen>,
}

/// Infers the paths. Calls without a consistent path count as broken.
pub(crate) fn ways(calls: &mut Calls, groups: &[Group]) -> Vec<Way> {
    let solver = Solver::new(&calls.probes, groups);
    let mut all = Vec::new();
    for (marks, shape) in std::mem::take(&mut calls.shapes) {
        match solver.way(&marks, &shape) {
            Some(way) => all.push(way),
            None => {
                calls.counts.whole -= shape.calls;
                calls.counts.broken += shape.calls;
            }
        }
    }
    // The most frequent first; ties in a stable order.
    all.sort_by_cached_key(|way| (std::cmp::Reverse(way.calls), way.key()));
    all
}

impl Way {
    /// The blocks and branches, as a sort key.
    fn key(&self) -> Vec<(usize, usize)> {
        let places = self.items.iter().filter_map(|item| match item {
            Item::Block { insns, .. } => insns.first().copied(),
            Item::Branch { to, .. } => *to,
            _ => None,
        });
        places.collect()
    }

    /// Whether its calls end in a tail call, so that their return value is unknown.
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self.end(), Some(Item::Leave { tail: Some(_), .. }))
    }

    /// The end of its calls.
    pub(crate) fn end(&self) -> Option<&Item> {
        self.items.last().filter(|item| matches!(item, Item::Leave { .. }))
    }
}

impl Of {
    pub(crate) fn followed(self, groups: &[Group]) -> Option<&Followed> {
        groups.get(self.group)?.members.get(self.member)
    }
}

struct Solver<'a> {
    probes: &'a HashMap<u32, Fields>,
    groups: &'a [Group],
    /// The edges of witnesses, by function or copy and probe.
    witnesses: HashMap<(Of, u32), (u32, &'a Site)>,
}

impl<'a> Solver<'a> {
    fn new(probes: &'a HashMap<u32, Fields>, groups: &'a [Group]) -> Solver<'a> {
        let ids: HashMap<&Fields, u32> = probes.iter().map(|(id, fields)| (fields, *id)).collect();
        let mut witnesses = HashMap::new();
        for (group, of_group) in groups.iter().enumerate() {
            for (member, followed) in of_group.members.iter().enumerate() {
                for witness in &followed.witnesses {
                    if let (Some(id), Some(way)) =
                        (ids.get(&witness.site.fields()), followed.witness(&witness.site))
                    {
                        witnesses.insert((Of { group, member }, *id), (way, &witness.site));
                    }
                }
            }
        }
        Solver { probes, groups, witnesses }
    }

    fn way(&self, marks: &[Mark], shape: &Shape) -> Option<Way> {
        let call = call(&mut marks.iter().zip(&shape.values))?;
        let mut items = Vec::new();
        self.write(&call, &mut items)?;
        Some(Way { calls: shape.calls, failed: shape.failed, items, fired: marks.len() })
    }

    fn write(&self, call: &Call, items: &mut Vec<Item>) -> Option<()> {
        let group = self.groups.get(call.group)?;
        let (of, pieces) =
            self.candidates(call).into_iter().find_map(|of| Some((of, self.pieces(call, of)?)))?;
        let followed = of.followed(self.groups)?;
        let name = |values: &[super::values::Value], seen: &[Seen]| -> Vec<Shown> {
            let shown = values.iter().zip(seen);
            shown
                .map(|(value, seen)| Shown { name: value.name.clone(), form: value.form, seen: seen.clone() })
                .collect()
        };
        items.push(Item::Enter { of, arguments: name(&group.arguments, &call.arguments) });
        let mut inner = call.inner.iter().peekable();
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Unknown => items.push(Item::Unknown),
                Piece::Branch { insn, to, jumps, event } => {
                    let (probe, seen) = call.passed.get(*event)?;
                    let (_, site) = self.witnesses.get(&(of, *probe))?;
                    let values = group.decided.get(*site).map(Vec::as_slice).unwrap_or_default();
                    let values = name(values, seen);
                    items.push(Item::Branch { of, insn: *insn, to: *to, jumps: *jumps, values });
                }
                Piece::Block(insns) => {
                    let next = next_event(&pieces[at..]).unwrap_or(usize::MAX);
                    let mut rest = &insns[..];
                    while let Some((_, callee)) = inner.next_if(|(before, _)| *before <= next) {
                        let after = self.caller(followed, rest, callee);
                        items.push(Item::Block { of, insns: rest[..after].to_vec() });
                        rest = &rest[after..];
                        self.write(callee, items)?;
                    }
                    items.push(Item::Block { of, insns: rest.to_vec() });
                }
            }
        }
        // Calls without a known call instruction, such as exceptions.
        for (_, callee) in inner {
            self.write(callee, items)?;
        }
        let tail = self.tail(call, followed);
        let returned = group.returns.zip(call.returned.first()).filter(|_| tail.is_none());
        let returned = returned.map(|(form, seen)| Shown { name: String::new(), form, seen: seen.clone() });
        items.push(Item::Leave { of, returned, tail });
        Some(())
    }

    /// The number of instructions before a callee runs: through the one that calls it, or may; otherwise
    /// through the last call, which must have called it indirectly.
    fn caller(&self, followed: &Followed, insns: &[(usize, usize)], callee: &Call) -> usize {
        let name = self.groups.get(callee.group).map(Group::name).unwrap_or_default();
        let is_call = |insn: &(usize, usize)| followed.insn(*insn).and_then(self::callee).is_some();
        let found = insns.iter().position(|insn| calls_it(followed, *insn, name));
        found.or_else(|| insns.iter().rposition(is_call)).map_or(insns.len(), |at| at + 1)
    }

    /// The target of a tail call at a return, or of a call that does not return; empty for an indirect one.
    fn tail(&self, call: &Call, followed: &Followed) -> Option<String> {
        if followed.is_copy() {
            return None;
        }
        let insn = followed.exit_insn(Exit::Offset(call.exit.1))?;
        if let Some(callee) = callee(insn) {
            return Some(callee);
        }
        let jumps = insn.text.starts_with('j') && !insn.text.contains("return_thunk");
        jumps.then(|| target(insn).filter(|name| !name.contains("indirect_thunk")).unwrap_or_default())
    }

    fn pieces(&self, call: &Call, of: Of) -> Option<Vec<Piece>> {
        let passed = call.passed.iter().enumerate();
        let passed: Option<Vec<Passed>> = passed
            .map(|(event, (probe, _))| {
                let (way, _) = self.witnesses.get(&(of, *probe))?;
                Some(Passed { way: *way, event })
            })
            .collect();
        let followed = of.followed(self.groups)?;
        let begun = self.probes.get(&call.probe).map_or("", |fields| &fields.name);
        let pieces = match followed.is_copy() {
            false => followed.way(begun, &passed?, Exit::Offset(call.exit.1)),
            true => followed.way(begun, &passed?, Exit::Site(&site(self.probes.get(&call.exit.0)?)?)),
        };
        // Consecutive blocks without a branch in between are joined.
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces? {
            match (joined.last_mut(), piece) {
                (Some(Piece::Block(before)), Piece::Block(more)) => before.extend(more),
                (_, piece) => joined.push(piece),
            }
        }
        Some(joined)
    }

    /// Returns the functions or copies that begin at the probe: usually one.
    fn candidates(&self, call: &Call) -> Vec<Of> {
        let Some(group) = self.groups.get(call.group) else { return Vec::new() };
        let all = (0..group.members.len()).map(|member| Of { group: call.group, member });
        let Some(fields) = self.probes.get(&call.probe).filter(|_| group.is_copies()) else {
            return all.collect();
        };
        let of_caller = all.filter(|of| {
            of.followed(self.groups).is_some_and(|one| {
                one.caller() == fields.function || in_source(one.caller()) == fields.function
            })
        });
        let (exact, others): (Vec<Of>, Vec<Of>) = of_caller
            .partition(|of| of.followed(self.groups).is_some_and(|one| one.is_entered_at(&fields.name)));
        if exact.is_empty() { others } else { exact }
    }
}

/// Assembles a call from its marks.
fn call<'m>(marks: &mut impl Iterator<Item = (&'m Mark, &'m Vec<Seen>)>) -> Option<Call> {
    let (Mark::Entry { group, probe }, arguments) = marks.next()? else { return None };
    inside(*group, *probe, arguments.clone(), marks)
}

fn inside<'m>(
    group: usize,
    probe: u32,
    arguments: Vec<Seen>,
    marks: &mut impl Iterator<Item = (&'m Mark, &'m Vec<Seen>)>,
) -> Option<Call> {
    let mut open = vec![Call {
        group,
        probe,
        arguments,
        passed: Vec::new(),
        inner: Vec::new(),
        exit: (0, 0),
        returned: Vec::new(),
    }];
    loop {
        let (mark, values) = marks.next()?;
        match mark {
            Mark::Witness { probe } => open.last_mut()?.passed.push((*probe, values.clone())),
            Mark::Entry { group, probe } => open.push(Call {
                group: *group,
                probe: *probe,
                arguments: values.clone(),
                passed: Vec::new(),
                inner: Vec::new(),
                exit: (0, 0),
                returned: Vec::new(),
            }),
            Mark::Return { probe, offset } => {
                let mut done = open.pop()?;
                (done.exit, done.returned) = ((*probe, *offset), values.clone());
                match open.last_mut() {
                    Some(around) => around.inner.push((around.passed.len(), done)),
                    None => return Some(done),
                }
            }
        }
    }
}

fn next_event(pieces: &[Piece]) -> Option<usize> {
    pieces.iter().find_map(|piece| match piece {
        Piece::Branch { event, .. } => Some(*event),
        _ => None,
    })
}

/// Whether an instruction calls a function, or may, as the call is indirect.
fn calls_it(followed: &Followed, insn: (usize, usize), name: &str) -> bool {
    followed.insn(insn).and_then(callee).is_some_and(|called| called == name || called.is_empty())
}

/// Returns the function that an instruction calls; empty for an indirect call. `None`: not a call.
pub(crate) fn callee(insn: &Listed) -> Option<String> {
    let rest = insn.text.strip_prefix("call").filter(|_| !insn.fentry)?.trim_start_matches('q').trim();
    let indirect = rest.starts_with('*') || rest.contains("x86_indirect_thunk");
    Some(if indirect { String::new() } else { target(insn).unwrap_or_default() })
}

/// Returns the name of the target of a call or jump.
fn target(insn: &Listed) -> Option<String> {
    let name = insn.text.rsplit(' ').next()?;
    let name = name.strip_suffix("+0").or(name.strip_suffix("+0x0")).unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then(|| name.to_owned())
}

/// Returns the site of a probe at an instruction from its name: `53`, `53-61`.
fn site(fields: &Fields) -> Option<Site> {
    let space = Space::of_program(&fields.provider).unwrap_or_default();
    let radix = if space == Space::Kernel { 10 } else { 16 };
    let number = |text: &str| u64::from_str_radix(text, radix).ok();
    let mut parts = fields.name.split('-');
    let offset = number(parts.next()?)?;
    let to = parts.next_back().map(|to| Target { function: None, offset: number(to).unwrap_or(0) });
    let (module, function) = (fields.module.clone(), fields.function.clone());
    Some(Site { space, module, function, offset, to, ..Site::default() })
}
