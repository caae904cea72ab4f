//! oracle/verify/: verification of an image: the same checks, in the same order, as in the kernel's verifier.
//!
//! The kernel does not rely on it. It is a second opinion: an invalid image is refused here first, with a name for
//! the reason, and the two verifiers are tested against each other.

mod clauses;
mod insns;

use kinst_base::probe::{Fields, Place, Probe};
use kinst_base::uapi::{self, Plain, Verify};
use kinst_dif::insn::{FIRST_USER_VARIABLE, Subr};
use kinst_dif::object::{self, DecodeError, Image};
use kinst_dif::{Options, Program};
use std::collections::HashMap;

/// The limits that the module was configured with (struct kinst_info).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub max_probes: u32,
    pub max_insns: u32,
}

/// Why an image does not run, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Refusal {
    pub code: Verify,
    pub difo: Option<u32>,
    /// The instruction of the DIFO, or the entry of a table.
    pub index: Option<u32>,
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
        // DIFOs may share instructions; these count each time they are verified.
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

/// Verifies a program before its probes are known: as the image in which each clause is enabled at BEGIN.
pub fn verify_program(program: &Program, options: &Options) -> Result<(), ProgramError> {
    let begin = Probe { id: 1, name: Fields::new("dtrace", "", "", "BEGIN"), place: Place::Begin };
    let ecbs: Vec<_> = (0..program.clauses.len()).map(|clause| (0, clause as u32).into()).collect();
    let image = object::encode(program, &[begin], &ecbs, options)?;
    verify(&image, &Limits { max_probes: u32::MAX, max_insns: u32::MAX })?;
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error(transparent)]
    Encode(#[from] object::EncodeError),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl Refusal {
    /// Converts a refusal reported by the kernel; `None` if it reports none.
    pub fn from_kernel(error: &uapi::Error) -> Option<Refusal> {
        let known = |index: u32| (index != uapi::NONE).then_some(index);
        let refusal =
            Refusal { code: Verify(error.code), difo: known(error.difo), index: known(error.index) };
        (refusal.code != Verify::OK).then_some(refusal)
    }

    fn of(code: Verify) -> Refusal {
        Refusal { code, difo: None, index: None }
    }

    fn at(code: Verify, index: u32) -> Refusal {
        Refusal { code, difo: None, index: Some(index) }
    }

    fn in_difo(code: Verify, difo: u32, index: Option<u32>) -> Refusal {
        Refusal { code, difo: Some(difo), index }
    }

    fn text(&self) -> String {
        let mut text = match self.code {
            Verify::HEADER => "not an image of this ABI",
            Verify::TABLE => "a table is misaligned or outside the image",
            Verify::STRTAB => "the string table does not begin and end with NUL",
            Verify::INDEX => "a reference to an entry that is not there",
            Verify::RESERVED => "a reserved field is not zero",
            Verify::OPCODE => "unknown instruction",
            Verify::REGISTER => "no such register",
            Verify::DEST_R0 => "%r0 cannot be the destination",
            Verify::BRANCH => "a branch that does not go forward, or leaves the program",
            Verify::INT => "no such integer constant",
            Verify::STR => "no such string constant",
            Verify::VARIABLE => "an unknown variable, or not of this scope or kind",
            Verify::SUBR => "unknown or unsupported subroutine",
            Verify::TYPE => "not a valid type",
            Verify::NO_RET => "the last instruction is not ret",
            Verify::ACTION => "an action that is not supported, or whose expression does not fit",
            Verify::TUPLE => "not the key of an aggregation",
            Verify::DESTRUCTIVE => "destructive, which was not allowed (-w)",
            Verify::LIMIT => "a limit is exceeded",
            Verify::PROBE => "not a valid probe",
            Verify::OPTION => "an option is out of its range",
            _ => "refused for a reason that is not known here",
        }
        .to_string();
        let name = self.code.name().map_or_else(|| self.code.0.to_string(), |name| name.to_lowercase());
        text.push_str(&format!(" ({name}"));
        if let Some(difo) = self.difo {
            text.push_str(&format!(", DIFO {difo:#x}"));
        }
        if let Some(index) = self.index {
            text.push_str(&format!(", entry {index}"));
        }
        text + ")"
    }
}

/// Makes the checks that precede the tables.
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
    // A size of 0 is fine for buffers that not every program needs.
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

/// The user variables, by scope and id; the value is whether it is an associative array.
type Variables = HashMap<(u8, u32), bool>;

fn check_variables(image: &Image) -> Result<Variables, Refusal> {
    let mut variables = Variables::new();
    let mut blocks = [0u64; 3];
    for (index, var) in image.vars.iter().enumerate() {
        let refuse = |code| Err(Refusal::at(code, index as u32));
        let array = var.kind == 0;
        let valid = (var.name as usize) < image.strtab.len()
            && (FIRST_USER_VARIABLE..=0xffff).contains(&var.id)
            && var.kind <= 1
            && var.scope <= 2
            && var.flags & !3 == 0
            && !(array && var.scope == 2);
        if !valid {
            return refuse(Verify::VARIABLE);
        }
        if !is_variable_type(&var.ty) {
            return refuse(Verify::TYPE);
        }
        if variables.insert((var.scope, var.id), array).is_some() {
            return refuse(Verify::VARIABLE);
        }
        // Thread-locals and elements live in dynamic memory; the rest has a fixed place.
        if array || var.scope == 1 {
            continue;
        }
        let behind = if var.ty.flags == 0 { 0 } else { bytes_of(&image.header, &var.ty) };
        let block = &mut blocks[usize::from(var.scope)];
        *block += 8 + u64::from(behind).next_multiple_of(8);
        if *block > uapi::MAX_STATIC.into() {
            return refuse(Verify::LIMIT);
        }
    }
    Ok(variables)
}

fn is_variable_type(ty: &uapi::Dtype) -> bool {
    if ty.reserved != 0 || ty.kind > 1 || u32::from(ty.flags) & !uapi::T_BYREF != 0 {
        return false;
    }
    match (ty.flags != 0, ty.kind == 1) {
        (true, true) => ty.size <= uapi::MAX_STRSIZE,
        (true, false) => (1..=uapi::MAX_VALUE).contains(&ty.size),
        (false, true) => false,
        (false, false) => matches!(ty.size, 1 | 2 | 4 | 8),
    }
}

/// Returns the size in bytes of a value of this type in a record.
fn bytes_of(header: &uapi::Image, ty: &uapi::Dtype) -> u32 {
    if ty.kind == 1 && ty.size == 0 { header.strsize } else { ty.size }
}

/// Whether the kind is known and `func` is valid for it. The requirements of places are checked when they are armed.
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
        // There is one each of BEGIN, END and ERROR.
        if let Some(seen) = seen.get_mut(probe.kind as usize)
            && std::mem::replace(seen, true)
        {
            return refuse(Verify::PROBE);
        }
    }
    Ok(())
}

/// The requirements of a subroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubrRule {
    /// The minimum and maximum number of arguments.
    pub min: u8,
    pub max: u8,
    pub destructive: bool,
}

/// Returns the rule of a subroutine; `None` if Linux does not have it, or not yet.
pub fn subr_rule(subr: Subr) -> Option<SubrRule> {
    use Subr::*;
    let (min, max) = match subr {
        Rand | Speculation => (0, 0),
        Strlen | Basename | Dirname | Cleanpath | Toupper | Tolower | Alloca => (1, 1),
        Htons | Htonl | Htonll | Ntohs | Ntohl | Ntohll | InetNtoa | InetNtoa6 => (1, 1),
        Progenyof | DPath | Getmajor | Getminor => (1, 1),
        MutexOwned | MutexOwner | MutexTypeAdaptive | MutexTypeSpin => (1, 1),
        RwReadHeld | RwWriteHeld | RwIswriter => (1, 1),
        Copyinstr | Lltostr | Strtoll => (1, 2),
        Copyin | Strjoin | Strchr | Strrchr | Strstr | Strtok | InetNtop | LinkNtop | Memref | Json => (2, 2),
        Substr | Index | Rindex => (2, 3),
        Bcopy | Copyinto | Copyout | Copyoutstr | Memstr => (3, 3),
        Msgdsize | Msgsize | DdiPathname | Getf => return None,
        SxSharedHeld | SxExclusiveHeld | SxIsexclusive => return None,
    };
    Some(SubrRule { min, max, destructive: matches!(subr, Copyout | Copyoutstr) })
}
