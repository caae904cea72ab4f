//! oracle/verify/image.rs: an image as a whole: its header, options, variables and probes, in the order of the checks.

use super::refusal::Refusal;
use super::variables::check_variables;
use super::{clauses, insns};
use kinst_base::probe::{Fields, Place, Probe};
use kinst_base::uapi::{self, Plain as _, Verify};
use kinst_dif::object::{self, DecodeError, Image};
use kinst_dif::{Options, Program};

/// The limits that the module was configured with (struct kinst_info).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of probes in a session.
    pub max_probes: u32,
    /// The maximum number of DIF instructions in an image; shared ones count once for each DIFO.
    pub max_insns: u32,
}

/// Verifies an image and returns its tables.
pub fn verify(bytes: &[u8], limits: &Limits) -> Result<Image, Refusal> {
    check_header(bytes)?;
    let image = object::decode(bytes).map_err(|error| match error {
        DecodeError::Header => Refusal::of(Verify::HEADER),
        DecodeError::Table(table) => Refusal::at(Verify::TABLE, table),
    })?;
    if !(image.strtab.first() == Some(&0) && image.strtab.last() == Some(&0)) {
        return Err(Refusal::of(Verify::STRTAB));
    }
    if image.header.insns.count > limits.max_insns {
        return Err(Refusal::at(Verify::LIMIT, image.header.insns.count));
    }
    check_options(&image.header)?;
    let variables = check_variables(&image)?;
    let mut total = 0u64;
    for (index, difo) in image.difos.iter().enumerate() {
        // DIFOs may share instructions, which count each time they are verified.
        total += u64::from(difo.ninsns);
        if total > limits.max_insns.into() {
            return Err(Refusal::in_difo(Verify::LIMIT, index as u32, None));
        }
        insns::check_difo(&image, &variables, index as u32)?;
    }
    clauses::check_clauses(&image)?;
    check_probes(&image, limits)?;
    for (index, ecb) in image.ecbs.iter().enumerate() {
        if ecb.probe as usize >= image.probes.len()
            || ecb.clause as usize >= image.clauses.len()
            || ecb.inlined as usize >= image.strtab.len()
        {
            return Err(Refusal::at(Verify::INDEX, index as u32));
        }
    }
    Ok(image)
}

/// Verifies a program before its probes are resolved, as an image with each clause enabled at BEGIN.
pub fn verify_program(program: &Program, options: &Options) -> Result<(), ProgramError> {
    let begin = Probe { id: 1, name: Fields::new("dtrace", "", "", "BEGIN"), place: Place::Begin };
    let ecbs: Vec<_> = (0..program.clauses.len()).map(|clause| (0, clause as u32).into()).collect();
    let image = object::encode(program, &[begin], &ecbs, options)?;
    verify(&image, &Limits { max_probes: u32::MAX, max_insns: u32::MAX })?;
    Ok(())
}

/// A program that the module would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// The program cannot be encoded as an image.
    #[error(transparent)]
    Encode(#[from] object::EncodeError),
    /// The image is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Performs the checks that precede the tables.
fn check_header(bytes: &[u8]) -> Result<(), Refusal> {
    let header = uapi::Image::read(bytes).ok_or(Refusal::of(Verify::HEADER))?;
    if !object::is_header(&header, bytes.len()) || bytes.len() > uapi::MAX_IMAGE as usize {
        return Err(Refusal::of(Verify::HEADER));
    }
    let known = uapi::IMAGE_DESTRUCTIVE | uapi::IMAGE_RING | uapi::IMAGE_NOJUMP | uapi::IMAGE_ONCE;
    if header.flags & !known != 0 || header.reserved != 0 {
        return Err(Refusal::of(Verify::RESERVED));
    }
    Ok(())
}

fn check_options(header: &uapi::Image) -> Result<(), Refusal> {
    let refuse = |wrong: bool, option: u32| {
        if wrong { Err(Refusal::at(Verify::OPTION, option)) } else { Ok(()) }
    };
    // A size of 0 is allowed for buffers that not every program needs.
    let from = |least: u32| u64::from(least)..=uapi::MAX_SIZE;
    let optional = |size: u64, least| size == 0 || from(least).contains(&size);
    refuse(!(uapi::MIN_STRSIZE..=uapi::MAX_STRSIZE).contains(&header.strsize), 5)?;
    refuse(!from(uapi::MIN_BUFSIZE).contains(&header.bufsize), 0)?;
    refuse(!optional(header.aggsize, uapi::MIN_AGGSIZE), 1)?;
    refuse(!optional(header.dynvarsize, uapi::MIN_DYNVARSIZE), 2)?;
    refuse(header.specsize > uapi::MAX_SIZE, 3)?;
    refuse(header.nspec > uapi::MAX_NSPEC, 4)?;
    refuse(header.clean_us > uapi::MAX_CLEAN_US, 6)
}

/// Whether the kind is known and `func` is valid for it. Places are checked when they are armed.
fn is_source(probe: &uapi::Probe) -> bool {
    match probe.kind {
        uapi::P_PROFILE | uapi::P_TICK => {
            (u64::from(uapi::MIN_INTERVAL)..=uapi::MAX_INTERVAL).contains(&probe.func)
        }
        uapi::P_SYSCALL_ENTRY | uapi::P_SYSCALL_RETURN => probe.func < uapi::MAX_SYSCALLS.into(),
        uapi::P_EVENT => probe.func < u64::from(uapi::Event::MAX.0),
        kind => kind < uapi::P_KINDS,
    }
}

fn check_probes(image: &Image, limits: &Limits) -> Result<(), Refusal> {
    if image.header.probes.count > limits.max_probes {
        return Err(Refusal::at(Verify::LIMIT, image.header.probes.count));
    }
    let mut seen = [false; 3];
    for (index, probe) in image.probes.iter().enumerate() {
        let refuse = |code| Err(Refusal::at(code, index as u32));
        let names = [probe.prov, probe.module, probe.name_func, probe.name];
        let valid = is_source(probe)
            && usize::from(probe.nbytes) <= probe.bytes.len()
            && names.iter().all(|name| (*name as usize) < image.strtab.len());
        if !valid {
            return refuse(Verify::PROBE);
        }
        if probe.reserved != [0; 7] {
            return refuse(Verify::RESERVED);
        }
        // BEGIN, END and ERROR exist once each.
        if let Some(seen) = seen.get_mut(probe.kind as usize)
            && std::mem::replace(seen, true)
        {
            return refuse(Verify::PROBE);
        }
    }
    Ok(())
}
