//! backend/bpf/enable.rs: enabling of a plan: looks up facts, generates and loads programs, arms places.

use super::arm::{self, Arming};
use super::arm_error::ArmError;
use super::check::possible_cpus;
use super::clock::Cpus;
use super::error::{self, EnableError, ProgramError, Request, of_file};
use super::found::{self, Facts, Purpose};
use super::functions::Chosen;
use super::session::Session;
use crate::backend::plan::Plan;
use kinst_bpf::needs::Needs;
use kinst_bpf::{Image, memory as layout};
use kinst_dif::{Options, Program};
use kinst_os::limits;
use kinst_sites::{ProgramFiles, Programs, Spots};
use std::collections::BTreeMap;

/// A session before arming.
struct Prepared {
    session: Session,
    image: Image,
    cpus: u32,
    chosen: Chosen,
    /// The probes whose places are unknown, each with the reason.
    unknown: found::Unknown,
}

impl Session {
    /// Arms the plan. Returns the refused probes, each with the reason; the others are armed.
    pub(crate) fn enable(
        program: &Program,
        plan: &Plan,
        options: &Options,
        spots: &dyn Spots,
        files: &dyn ProgramFiles,
    ) -> Result<(Session, Vec<(usize, ArmError)>), EnableError> {
        let probes = &plan.enabled.probes;
        let Prepared { mut session, image, cpus, chosen, unknown } =
            Session::prepare(program, plan, options, (spots, files), Purpose::Arm)?;
        let mut arming = Arming {
            session: &mut session,
            image: &image,
            probes,
            functions: &chosen.functions,
            spots,
            files,
            cpus,
            cpu: options.cpu,
            once: options.once,
            refused: BTreeMap::new(),
        };
        for (probe, why) in unknown {
            arming.refuse(probe, why.into());
        }
        let refused = arming.run()?;
        session.by = chosen.in_words(&plan.enabled);
        Ok((session, refused))
    }

    /// Loads the programs that would be armed with functions on kprobes, and frees them. Returns the number
    /// of programs.
    pub fn try_load(
        program: &Program,
        plan: &Plan,
        options: &Options,
        spots: &dyn Spots,
    ) -> Result<usize, EnableError> {
        let Prepared { session, image, chosen, .. } =
            Session::prepare(program, plan, options, (spots, &Programs::default()), Purpose::Load)?;
        arm::load_all(&image.units, &session.maps, &chosen.functions).map(|programs| programs.len())
    }

    /// Does all work that precedes arming.
    fn prepare(
        program: &Program,
        plan: &Plan,
        options: &Options,
        (spots, files): (&dyn Spots, &dyn ProgramFiles),
        purpose: Purpose,
    ) -> Result<Prepared, EnableError> {
        limits::lift_descriptors();
        let probes = &plan.enabled.probes;
        let Facts { mut found, variables, chosen, unknown } =
            found::found(program, &plan.enabled, (spots, files), purpose)?;
        let cpus = possible_cpus().map_err(of_file(Request::PossibleCpus))?;
        found.cpus = cpus;
        let image = Image::new(program, &plan.enabled, options, &found)
            .map_err(|unable| error::unable(unable, probes))?;
        let mut session = Session::new(&image, options)?;
        let memory = Cpus { memory: &session.cpus, stride: session.stride, lanes: image.lanes };
        memory.place(variables, spots).ok_or(ProgramError::NoPerCpuOffsets)?;
        if Needs::of(program).clock {
            session.clocks = memory.start(&session.maps[layout::Map::Clocks as usize])?;
        }
        Ok(Prepared { session, image, cpus, chosen, unknown })
    }
}
