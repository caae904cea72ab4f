//! backend/bpf/arm.rs: arming of a session's programs: tracefs events, perf clocks, tracepoints.

use super::arm_error::ArmError;
use super::error::{EnableError, Request, of_file, request};
use super::events::{Tracefs, Whose};
use super::load::load;
use super::means::{Uprobes, uprobes};
use super::order::turn;
use super::session::Session;
use super::sweep::Sweeper;
use kinst_base::probe::{Place, Probe};
use kinst_bpf::object::ProbeKind;
use kinst_bpf::program::event;
use kinst_bpf::program::place;
use kinst_bpf::{Home, Image, Located, Unit, memory};
use kinst_os::Errno;
use kinst_os::bpf::{self, Counted, Function, Map, ProgramKind};
use kinst_sites::{Ftraced, ProgramFiles, Spots};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The places in one event: no other event can be defined while one is removed.
const PLACES: usize = 256;

/// The arming of a session.
pub(super) struct Arming<'a> {
    pub session: &'a mut Session,
    pub image: &'a Image,
    pub probes: &'a [Probe],
    /// By probe, the functions with trampolines.
    pub functions: &'a HashMap<u32, Function>,
    pub spots: &'a dyn Spots,
    pub files: &'a dyn ProgramFiles,
    pub cpus: u32,
    /// The only CPU to trace.
    pub cpu: Option<u32>,
    /// Whether each place fires once.
    pub once: bool,
    /// By probe.
    pub refused: BTreeMap<u32, ArmError>,
}

impl Arming<'_> {
    /// Arms all units. Refusals of the kernel are in [`Arming::refused`]; the rest is armed.
    pub(super) fn run(mut self) -> Result<Vec<(usize, ArmError)>, EnableError> {
        let programs = load_all(&self.image.units, &self.session.maps, self.functions)?;
        let mut units: Vec<(&Unit, bpf::Program)> = self.image.units.iter().zip(programs).collect();
        units.sort_by_key(|(unit, _)| turn(unit, self.probes));
        for (unit, program) in units {
            self.unit(unit, program)?;
        }
        self.forget_refused()?;
        Ok(self.refused.into_iter().map(|(probe, why)| (probe as usize, why)).collect())
    }

    fn unit(&mut self, unit: &Unit, program: bpf::Program) -> Result<(), EnableError> {
        let first = unit.places.first().and_then(|place| self.probes.get(place.probe as usize));
        let Some(first) = first else { return Ok(()) };
        match &first.place {
            Place::Begin => self.session.begin.push(program),
            Place::End => self.session.end.push(program),
            Place::Profile { interval } => {
                let cpus = (0..self.cpus).filter(|cpu| self.cpu.is_none_or(|only| only == *cpu));
                self.session.timers.add_profile(program, *interval, cpus)?;
            }
            Place::Tick { interval } => {
                self.session.timers.add_tick(&program, *interval, self.cpu.unwrap_or_default())?;
            }
            Place::SyscallEntry { .. } => self.at_tracepoint("sys_enter", program, unit),
            Place::SyscallReturn { .. } => self.at_tracepoint("sys_exit", program, unit),
            Place::Sdt { .. } => self.at_tracepoint(&first.name.name, program, unit),
            Place::Event { number } => {
                self.at_tracepoint(event::tracepoint(*number).unwrap_or_default(), program, unit);
            }
            _ if unit.kind.is_trampoline() => self.at_function(unit, program),
            _ if unit.kind.is_multi() => self.at_functions(unit, program),
            Place::Program(_) => self.in_programs(unit, &Arc::new(program))?,
            Place::Error
            | Place::Insn { .. }
            | Place::Edge { .. }
            | Place::Driver { .. }
            | Place::FbtEntry { .. }
            | Place::FbtReturn { .. }
            | Place::Gate { .. } => {
                self.at_places(unit, &program)?;
                self.session.at_places.push(program);
            }
        }
        Ok(())
    }

    fn at_tracepoint(&mut self, name: &str, program: bpf::Program, unit: &Unit) {
        match program.at_tracepoint(name) {
            Ok(attached) => {
                self.session.attached.push(attached);
                self.session.counted.push(program);
            }
            Err(errno) => {
                let name = name.to_owned();
                let why = match errno {
                    Errno::NOENT => ArmError::NoTracepoint(name),
                    errno => ArmError::Tracepoint { name, errno },
                };
                let probes: BTreeSet<u32> = unit.places.iter().map(|place| place.probe).collect();
                probes.into_iter().for_each(|probe| self.refuse(probe, why.clone()));
            }
        }
    }

    /// The first reason for a probe counts.
    pub(super) fn refuse(&mut self, probe: u32, why: ArmError) {
        self.refused.entry(probe).or_insert(why);
    }

    /// Attaches a program to the function that it was loaded for.
    fn at_function(&mut self, unit: &Unit, program: bpf::Program) {
        let Some(place) = unit.places.first() else { return };
        let state = |arming: &Arming<'_>| arming.spots.ftraced(&[place.at]).first().copied().flatten();
        let before = state(self);
        let why = match program.at_function() {
            // The kernel looks up functions by name; if the function's first bytes are unchanged, it
            // patched another function.
            Ok(attached) if before == Some(Ftraced::Idle) && state(self) == before => {
                drop(attached);
                ArmError::Elsewhere
            }
            Ok(attached) => {
                self.session.at_functions.push(attached);
                self.session.counted.push(program);
                return;
            }
            Err(errno) => ArmError::Trampoline(errno),
        };
        self.refuse(place.probe, why);
    }

    /// Attaches a program to all of its functions that the kernel accepts.
    fn at_functions(&mut self, unit: &Unit, program: bpf::Program) {
        let returns = unit.kind == ProbeKind::MultiReturn;
        let attach = |places: &[Located]| {
            let addresses: Vec<u64> = places.iter().map(|place| place.at).collect();
            program.at_functions(&addresses, returns)
        };
        let (attached, not) = halved(&unit.places, &attach);
        for (place, errno) in not {
            self.refuse(place.probe, ArmError::Multi(errno));
        }
        if !attached.is_empty() {
            self.session.at_functions.extend(attached);
            self.session.counted.push(program);
        }
    }

    /// Attaches a program to all of its places that the kernel accepts.
    fn at_places(&mut self, unit: &Unit, program: &bpf::Program) -> Result<(), EnableError> {
        match self.need_tracefs() {
            Ok(()) => {}
            Err(error) => {
                let Some(why) = ArmError::of_all_places(&error) else { return Err(error) };
                let probes: BTreeSet<u32> = unit.places.iter().map(|place| place.probe).collect();
                probes.into_iter().for_each(|probe| self.refuse(probe, why.clone()));
                return Ok(());
            }
        }
        let mark = self.image.memory.machine.facts().mark;
        let (taken, marks) = without_marks(unit, self.probes, mark);
        for mark in marks {
            self.refuse(mark, ArmError::Mark);
        }
        for places in taken.chunks(PLACES) {
            let Some(tracefs) = &self.session.tracefs else { return Err(EnableError::Tracefs) };
            let addresses: Vec<u64> = places.iter().map(|place| place.at).collect();
            let defined = tracefs.define(self.session.events.len(), &addresses);
            let (event, not) = defined.map_err(of_file(Request::KprobeEvents))?;
            let number = event.as_ref().map(|event| tracefs.number(event));
            for (index, error) in not {
                let probe = places.get(index).map_or(0, |place| place.probe);
                self.refuse(probe, ArmError::of_place(&error));
            }
            let (Some(event), Some(number)) = (event, number) else { continue };
            self.session.events.push(event);
            let number = number.map_err(of_file(Request::EventId))?;
            let attached = bpf::attach(program, Counted::Tracepoint(number), 0);
            self.session.attached.push(attached.map_err(request(Request::OpenPerfEvent))?);
        }
        Ok(())
    }

    /// Opens tracefs, and starts the process that removes our events there even if this one is killed.
    fn need_tracefs(&mut self) -> Result<(), EnableError> {
        if self.session.tracefs.is_none() {
            let tracefs = Tracefs::find_or_mount()?;
            // Left by an earlier process with our PID: the kernel would append our definition to an event
            // of the same name.
            if !tracefs.remove_all(Whose::Process(std::process::id())) {
                return Err(of_file(Request::KprobeEvents)(std::io::ErrorKind::ResourceBusy.into()));
            }
            self.session.sweeper = Sweeper::start().ok();
            self.session.tracefs = Some(tracefs);
        }
        Ok(())
    }

    /// Disables the other places of a probe that was refused at one of them: otherwise it would fire only
    /// at some returns of its function.
    fn forget_refused(&self) -> Result<(), EnableError> {
        let places = &self.session.maps[memory::Map::Places as usize];
        for place in self.image.places().filter(|place| self.refused.contains_key(&place.probe)) {
            match place.home {
                Home::Shared(key) => {
                    places.delete(&key.to_ne_bytes()).map_err(request(Request::DeleteFromMap))?;
                }
                Home::Alone(offset) => {
                    if let Some(word) = self.session.of_alone(offset, place::REFUSED) {
                        word.store(1, Ordering::Relaxed);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Attaches to all places at once; if the kernel refuses, tries each half, down to the individual places
/// that it refuses.
pub(super) fn halved<'u, P, A>(
    places: &'u [P],
    attach: &impl Fn(&[P]) -> Result<A, Errno>,
) -> (Vec<A>, Vec<(&'u P, Errno)>) {
    let errno = match (attach(places), places) {
        (Ok(attached), _) => return (vec![attached], Vec::new()),
        (Err(errno), [place]) => return (Vec::new(), vec![(place, errno)]),
        (Err(errno), _) => errno,
    };
    // These errors do not concern a single place.
    if places.is_empty() || [Errno::PERM, Errno::NOMEM, Errno::OPNOTSUPP].contains(&errno) {
        return (Vec::new(), places.iter().map(|place| (place, errno)).collect());
    }
    let (left, right) = places.split_at(places.len() / 2);
    let (mut attached, mut not) = halved(left, attach);
    let (more, others) = halved(right, attach);
    attached.extend(more);
    not.extend(others);
    (attached, not)
}

/// Separates the probes at the mark at a function's start if the next instruction has a probe too: kprobes
/// treat the two as one place.
fn without_marks<'u>(unit: &'u Unit, probes: &[Probe], mark: &[u8]) -> (Vec<&'u Located>, Vec<u32>) {
    let all: HashSet<u64> = unit.places.iter().map(|place| place.at).collect();
    let is_mark = |located: &&Located| {
        let place = probes.get(located.probe as usize).map(|probe| &probe.place);
        let marked = matches!(place, Some(Place::Insn { offset: 0, bytes, .. }) if bytes.starts_with(mark));
        marked && !mark.is_empty() && all.contains(&(located.at + mark.len() as u64))
    };
    let (marks, taken): (Vec<&Located>, Vec<&Located>) = unit.places.iter().partition(is_mark);
    (taken, marks.into_iter().map(|mark| mark.probe).collect())
}

/// Loads the programs of all units and returns them in order.
pub(super) fn load_all(
    units: &[Unit],
    maps: &[Map],
    functions: &HashMap<u32, Function>,
) -> Result<Vec<bpf::Program>, EnableError> {
    // The longest first, as it takes longest and should not begin last.
    let mut order: Vec<(usize, &Unit)> = units.iter().enumerate().collect();
    order.sort_by_key(|(_, unit)| Reverse(unit.code.units()));
    let programs = order.into_par_iter();
    let programs = programs.map(|(at, unit)| load_unit(unit, maps, functions).map(|program| (at, program)));
    let mut programs: Vec<(usize, bpf::Program)> = programs.collect::<Result<_, _>>()?;
    programs.sort_unstable_by_key(|(at, _)| *at);
    Ok(programs.into_iter().map(|(_, program)| program).collect())
}

fn load_unit(
    unit: &Unit,
    maps: &[Map],
    functions: &HashMap<u32, Function>,
) -> Result<bpf::Program, EnableError> {
    let function = unit.places.first().and_then(|place| functions.get(&place.probe)).copied();
    let function = function.unwrap_or(Function { number: 0, types: 0 });
    let kind = match unit.kind {
        ProbeKind::Fentry => ProgramKind::Fentry(function),
        ProbeKind::Fexit => ProgramKind::Fexit(function),
        ProbeKind::MultiEntry | ProbeKind::MultiReturn => ProgramKind::KprobeMulti,
        ProbeKind::Insn | ProbeKind::Entry | ProbeKind::Return => ProgramKind::Kprobe,
        ProbeKind::UserInsn | ProbeKind::UserEntry(_) | ProbeKind::UserReturn => match uprobes() {
            Ok(Uprobes::Multi) => ProgramKind::UprobeMulti,
            Ok(Uprobes::Events(_)) | Err(_) => ProgramKind::Kprobe,
        },
        ProbeKind::Timer => ProgramKind::PerfEvent,
        ProbeKind::Bare
        | ProbeKind::Error
        | ProbeKind::CallEntry
        | ProbeKind::CallReturn
        | ProbeKind::Trace(_)
        | ProbeKind::Event => ProgramKind::RawTracepoint,
    };
    load(kind, &unit.code, |map| maps.get(map as usize).map_or(u32::MAX, Map::number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_refused_alone_are_found_by_halves() {
        let places: Vec<u32> = (0..1000).collect();
        let refused = [0, 1, 500, 999];
        let attach = |places: &[u32]| match places.iter().any(|place| refused.contains(place)) {
            true => Err(Errno::NOENT),
            false => Ok(places.to_vec()),
        };
        let (attached, not) = halved(&places, &attach);
        let not: Vec<u32> = not.into_iter().map(|(place, _)| *place).collect();
        assert_eq!(not, refused);
        let mut attached: Vec<u32> = attached.concat();
        attached.extend(refused);
        attached.sort_unstable();
        assert_eq!(attached, places);
        // An error that concerns no single place ends the halving.
        let asked = std::cell::Cell::new(0);
        let none = |_: &[u32]| -> Result<(), Errno> {
            asked.set(asked.get() + 1);
            Err(Errno::PERM)
        };
        assert_eq!(halved(&places, &none).1.len(), places.len());
        assert_eq!(asked.get(), 1);
    }
}
