//! sites/catalog/in_program.rs: the places in one function of a program: its entry, exits, instructions and edges.

use super::program_function::{At, FIRST_PROGRAM_ID, Function, Known, NoEnd};
use super::program_refusals as refusals;
use super::store::{Catalog, InPrograms};
use crate::code::decode::{self, Control, Insn, Step};
use crate::code::leaving::Leaving;
use crate::flow::Undecodable;
use crate::flow::points::Point;
use crate::image::Image;
use crate::symtab::Symbol;
use kinst_base::diag::Diagnostic;
use kinst_base::machine::Machine;
use kinst_base::probe::{End, Fields, InProgram, Place, Probe, Site, Spot, Target, When};

impl<'a> Function<'a> {
    pub(super) fn image(&self) -> Image<'a> {
        self.meant.file.image()
    }

    /// Returns the site of an offset, or of an edge from it.
    pub(super) fn site(&self, offset: u64, to: Option<Target>) -> Site {
        Site {
            space: self.space,
            module: self.meant.module.clone(),
            function: self.own_name.to_owned(),
            offset,
            to,
            ..Site::default()
        }
    }

    /// Returns the instructions of the function, as they are in the file.
    fn instructions(&self) -> Result<Vec<Insn>, Box<Diagnostic>> {
        let found = self.image().instructions(&self.symbol);
        found.ok_or_else(|| Box::new(refusals::no_code(self)))
    }

    pub(super) fn offsets(&self) -> Result<Vec<u64>, Box<Diagnostic>> {
        let found = self.meant.file.offsets(&self.symbol);
        let found = found.ok_or_else(|| Box::new(refusals::no_code(self)))?;
        Ok(found.iter().map(|offset| u64::from(*offset)).collect())
    }

    /// Returns the spot of the function's first instruction; in Go, of the first one after the check of the stack, which
    /// may run twice for one call.
    pub(super) fn entry(&self) -> Result<Vec<Spot>, NoEnd> {
        let check = self.meant.file.stack_check(&self.symbol);
        Ok(vec![always(check.map_or(self.symbol.address, |check| check.body))])
    }

    /// Returns the spots where control leaves the function: returns, and jumps to other functions.
    pub(super) fn exits(&self) -> Result<Vec<Spot>, NoEnd> {
        let callers = self.image().callers().ok_or(NoEnd::Undecodable(Undecodable::NoCode))?;
        let mut flow = match callers.flow(&self.symbol) {
            Ok(flow) => flow,
            // The targets of a jump table are unknown; each jump is compared with the bounds when it is executed.
            Err(Undecodable::Indirect(_)) => return self.exits_of_parts(),
            Err(why) => return Err(NoEnd::Undecodable(why)),
        };
        let start = self.symbol.address;
        let exits = flow.exits(&[start], &flow.ranges(), None);
        let exits = exits.ok_or(NoEnd::Undecodable(Undecodable::Entry(start)))?;
        let spot = |point: &Point| -> Option<Spot> {
            let exit = point.address().wrapping_sub(start);
            let when = match *point {
                Point::At(_) => When::Always,
                Point::Edge { from, to, .. } => self.when(from, to)?,
            };
            Some(Spot { exit, when, ..always(point.address()) })
        };
        // The function that begins again in Go does not return.
        let restart = self.meant.file.stack_check(&self.symbol).map(|check| Point::At(check.restart));
        let sites = exits.sites.iter().filter(|point| Some(**point) != restart);
        let spots: Option<Vec<Spot>> = sites.map(spot).collect();
        some_exit(spots.ok_or(NoEnd::UnknownBranch)?)
    }

    /// Returns the exits, instruction by instruction.
    fn exits_of_parts(&self) -> Result<Vec<Spot>, NoEnd> {
        let symbols = self.meant.file.functions();
        let cold = symbols.named(&format!("{}.cold", symbols.name(&self.symbol))).first().copied().copied();
        let parts: Vec<Symbol> = std::iter::once(self.symbol).chain(cold).collect();
        let bounds = [Some(&self.symbol), cold.as_ref()];
        let bounds = bounds.map(|part| part.map_or((0, 0), |part| (part.address, part.address + part.size)));
        let leaving = Leaving { function: self.symbol.address, bounds, set: decode::of(self.machine()) };
        let mut spots = Vec::new();
        for part in parts {
            let code = self.image().code(part.address, part.size);
            let code = code.ok_or(NoEnd::Undecodable(Undecodable::NoCode))?;
            spots.extend(leaving.exits(code, part.address, &|_| false).map_err(|_| NoEnd::UnknownBranch)?);
        }
        some_exit(spots)
    }

    /// Returns the spot of the instruction at an offset, which must be the beginning of one.
    pub(super) fn instruction(&self, offset: u64) -> Result<Spot, Box<Diagnostic>> {
        let begins =
            |offsets: &[u32]| u32::try_from(offset).is_ok_and(|at| offsets.binary_search(&at).is_ok());
        match self.meant.file.offsets(&self.symbol).is_some_and(|offsets| begins(&offsets)) {
            true => Ok(always(self.symbol.address + offset)),
            false => Err(Box::new(refusals::no_boundary(self, offset, &self.instructions()?))),
        }
    }

    /// Returns the spot of an edge, and its end.
    pub(super) fn edge(&self, from: u64, to: &Target) -> Result<(Spot, Target), Box<Diagnostic>> {
        let spot = self.instruction(from)?;
        let ways = self.ways(spot.address);
        let is_meant = |(_, target): &&(u64, Target)| target == to;
        let found = ways.iter().find(is_meant).and_then(|(address, target)| {
            Some((Spot { when: self.when(spot.address, *address)?, ..spot.clone() }, target.clone()))
        });
        found.ok_or_else(|| Box::new(refusals::no_edge(self, from, to, &ways)))
    }

    /// Returns the edges of all branches.
    pub(super) fn edges(&self) -> Result<Vec<(u64, Target, Spot)>, Box<Diagnostic>> {
        let mut edges = Vec::new();
        for offset in self.offsets()? {
            let address = self.symbol.address + offset;
            let ways = self.ways(address);
            // An instruction with one successor is not a branch; its edge can still be named explicitly.
            for (to, target) in ways.iter().filter(|_| ways.len() > 1) {
                if let Some(when) = self.when(address, *to) {
                    edges.push((offset, target.clone(), Spot { when, ..always(address) }));
                }
            }
        }
        Ok(edges)
    }

    /// Returns the successors of an instruction: addresses, and their names in descriptions.
    fn ways(&self, address: u64) -> Vec<(u64, Target)> {
        let image = self.image();
        let to = image.callers().map(|callers| callers.ways(address)).unwrap_or_default();
        let mut to: Vec<u64> = match to.is_empty() {
            true => self.step(address).map(|step| decode::ways(&step)).unwrap_or_default(),
            false => to,
        };
        to.extend(image.callers().map(|callers| callers.table_of(address)).unwrap_or_default());
        to.sort_unstable();
        to.dedup();
        to.into_iter().filter_map(|to| Some((to, image.target(address, to)?))).collect()
    }

    fn step(&self, address: u64) -> Option<Step> {
        decode::step(self.machine(), self.image().code(address, LONGEST)?, address)
    }

    fn machine(&self) -> Machine {
        self.meant.file.elf().machine().unwrap_or_default()
    }

    /// Returns the hits of an instruction at which control goes to an address.
    fn when(&self, from: u64, to: u64) -> Option<When> {
        let code = self.image().code(from, LONGEST).or_else(|| self.rest_of_section(from))?;
        let set = decode::of(self.machine());
        let step = decode::step(self.machine(), code, from)?;
        match step.control {
            Control::Next | Control::Call(_) => (step.next() == to).then_some(When::Always),
            Control::Jump(target) => (target == to).then_some(When::Always),
            Control::Branch(target) if target == to && step.next() == to => Some(When::Always),
            Control::Branch(target) => {
                let [taken, not_taken] = set.branch(code)?;
                match to {
                    to if to == target => Some(taken),
                    to if to == step.next() => Some(not_taken),
                    _ => None,
                }
            }
            Control::JumpIndirect | Control::JumpThrough => Some(When::Goes(set.jump(code, from)?, to)),
            Control::Return | Control::Trap => None,
        }
    }

    fn rest_of_section(&self, address: u64) -> Option<&'a [u8]> {
        self.meant.file.elf().code_at(address)
    }
}

fn some_exit(spots: Vec<Spot>) -> Result<Vec<Spot>, NoEnd> {
    if spots.is_empty() { Err(NoEnd::NoExit) } else { Ok(spots) }
}

/// The most bytes of an instruction.
const LONGEST: u64 = 15;

fn always(address: u64) -> Spot {
    Spot { address, exit: 0, when: When::Always, keys: Vec::new() }
}

impl Catalog {
    pub(super) fn make_insn(
        &self,
        function: &Function<'_>,
        offset: u64,
        spot: Spot,
    ) -> (Probe, Option<Site>) {
        let probe = self.make_in(function, Known::Insn(offset), vec![spot]);
        (probe, Some(function.site(offset, None)))
    }

    pub(super) fn make_edge_in(
        &self,
        function: &Function<'_>,
        from: u64,
        to: Target,
        spot: Spot,
    ) -> (Probe, Option<Site>) {
        let end = match &to.function {
            None => function.symbol.address + to.offset,
            Some(name) => {
                let named = function.image().functions_named(name);
                named.first().map_or(0, |symbol| symbol.address) + to.offset
            }
        };
        let site = function.site(from, Some(to));
        let mut probe = self.make_in(function, Known::Edge(from, end), vec![spot]);
        probe.name.name = site.name();
        (probe, Some(site))
    }

    /// Makes a probe, or returns the one that was made for the place.
    pub(super) fn make_in(&self, function: &Function<'_>, known: Known, spots: Vec<Spot>) -> Probe {
        let Function { space, meant, symbol, name, .. } = function;
        let at: At = (*space, meant.file.id(), symbol.address, known);
        let (end, last) = match known {
            Known::End(end @ End::Entry) => (Some(end), "entry".to_owned()),
            Known::End(end @ End::Return) => (Some(end), "return".to_owned()),
            Known::Insn(offset) => (None, space.number(offset)),
            Known::Edge(from, _) => (None, space.number(from)),
            Known::Static(_) => (None, String::new()),
        };
        let (file, process, passing) = (meant.file.id(), space.process(), meant.file.passing(symbol));
        let place = InProgram { file, process, end, passing, spots, semaphore: None };
        let probe = self.make_at(at, place, Fields::new(&space.provider(), &meant.module, name, &last));
        Probe { name: Fields { function: (*name).to_owned(), ..probe.name }, ..probe }
    }

    /// Makes the probe of a place, or returns the one that was made.
    pub(super) fn make_at(&self, at: At, place: InProgram, name: Fields) -> Probe {
        let InPrograms { probes, by_place, .. } = &mut self.made().in_programs;
        let index = *by_place.entry(at).or_insert_with(|| {
            let id = FIRST_PROGRAM_ID + probes.len() as u32;
            probes.push(Probe { id, name, place: Place::Program(Box::new(place)) });
            probes.len() - 1
        });
        probes[index].clone()
    }

    /// Notes a function that a glob matches, but that cannot be traced.
    pub(super) fn leave_out(&self, function: &Function<'_>, why: &Diagnostic) {
        let place = format!("{}:{}:{}", function.space.provider(), function.meant.module, function.name);
        self.made().in_programs.left_out.insert(place, why.title.clone());
    }
}
