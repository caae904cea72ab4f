//! backend/bpf/in_programs.rs: arming of places in programs: by uprobe.multi, or by a perf event each.

use super::arm::{Arming, halved};
use super::arm_error::ArmError;
use super::error::{EnableError, Request, request};
use super::means::{Uprobes, tells_processes, uprobes};
use super::rounds::{self, Target};
use kinst_base::image::FileId;
use kinst_base::probe::Place;
use kinst_bpf::{Home, Located, Unit};
use kinst_os::Errno;
use kinst_os::bpf::{InFile, Program};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The places that the kernel takes at a time.
const MOST: usize = 1 << 20;

/// A place in a file; the number that the program gets at a hit is its key.
struct At {
    probe: u32,
    home: Home,
    place: InFile,
}

impl Arming<'_> {
    /// Attaches a program to all of its places in files that the kernel accepts.
    pub(super) fn in_programs(&mut self, unit: &Unit, program: &Arc<Program>) -> Result<(), EnableError> {
        let mut by_file: BTreeMap<FileId, Vec<At>> = BTreeMap::new();
        for place in &unit.places {
            match self.at(place) {
                Some((file, at)) => by_file.entry(file).or_default().push(at),
                None => self.refuse(place.probe, ArmError::NoOffset),
            }
        }
        for (file, places) in by_file {
            match (self.files.path(file), uprobes()) {
                (None, _) => places.iter().for_each(|at| self.refuse(at.probe, ArmError::NoFile)),
                // Such probes were left out before.
                (_, Err(_)) => {}
                (Some(path), Ok(by)) => {
                    let target = Target { program: Arc::clone(program), path, process: unit.process };
                    self.in_file(*by, target, &places)?;
                }
            }
        }
        Ok(())
    }

    fn at(&self, place: &Located) -> Option<(FileId, At)> {
        let Place::Program(program) = &self.probes.get(place.probe as usize)?.place else { return None };
        let offset = self.files.offset(program.file, place.at)?;
        let semaphore = match program.semaphore {
            Some(address) => self.files.offset(program.file, address)?,
            None => 0,
        };
        let cookie = match place.home {
            Home::Shared(key) => key,
            Home::Alone(_) => 0,
        };
        Some((
            program.file,
            At { probe: place.probe, home: place.home, place: InFile { offset, semaphore, cookie } },
        ))
    }

    fn in_file(&mut self, by: Uprobes, mut target: Target, places: &[At]) -> Result<(), EnableError> {
        let mut not: Vec<(&At, Errno)> = Vec::new();
        match by {
            Uprobes::Multi => {
                target.process = target.process.filter(|_| tells_processes());
                let attach = |places: &[At]| {
                    let places: Vec<_> = places.iter().map(|at| (at.home, at.place)).collect();
                    Ok((target.attach(&places)?, places))
                };
                for places in places.chunks(if self.once { rounds::TOGETHER } else { MOST }) {
                    let (attached, refused) = halved(places, &attach);
                    for (attached, places) in attached {
                        match self.once {
                            true => self.session.rounds.add(target.clone(), places, attached),
                            false => self.session.at_files.push(attached),
                        }
                    }
                    not.extend(refused);
                }
            }
            Uprobes::Events(kind) => {
                for at in places {
                    match target.program.at_instruction(kind, &target.path, target.process, at.place) {
                        Ok(attached) => self.session.at_instructions.push(attached),
                        Err(errno) if is_of_all(errno) => {
                            return Err(request(Request::AttachUprobe)(errno));
                        }
                        Err(errno) => not.push((at, errno)),
                    }
                }
            }
        }
        if let Some((_, errno)) = not.iter().find(|(_, errno)| is_of_all(*errno)) {
            return Err(request(Request::AttachUprobe)(*errno));
        }
        for (at, errno) in not {
            self.refuse(at.probe, ArmError::Uprobe(errno));
        }
        Ok(())
    }
}

/// Whether an error concerns no single place.
fn is_of_all(errno: Errno) -> bool {
    [Errno::PERM, Errno::NOMEM, Errno::MFILE, Errno::NFILE].contains(&errno)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
