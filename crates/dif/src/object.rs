//! dif/object.rs: the wire format: a program with its probes, encoded for the kernel (struct kinst_image), and decoded.

use super::image::fits;
use super::program::{Action, Clause, Difo, DifoIndex, Options, Program, Type, TypeKind, Variable};
use kinst_base::machine::Machine;
use kinst_base::probe::{End, Place, Probe};
use kinst_base::uapi::{self, Plain};
use std::collections::HashMap;
use std::sync::Arc;

pub use super::image::{DecodeError, EncodeError, Image, decode, is_header, slice};

/// An enabling of one probe. Its EPID is its index + 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ecb {
    /// An index into the probes.
    pub probe: u32,
    /// An index into [`Program::clauses`].
    pub clause: u32,
    /// The inlined function, if the place is in an inlined copy; else `None`.
    pub inlined: Option<Arc<str>>,
    /// Boundary of that copy, if the place is one.
    pub end: Option<End>,
}

impl From<(u32, u32)> for Ecb {
    fn from((probe, clause): (u32, u32)) -> Ecb {
        Ecb { probe, clause, ..Ecb::default() }
    }
}

/// Encodes the program with these probes. Its meaning is not checked; the kernel's verifier does that.
pub fn encode(
    program: &Program,
    probes: &[Probe],
    ecbs: &[Ecb],
    options: &Options,
) -> Result<Vec<u8>, EncodeError> {
    check_references(program, probes, ecbs)?;
    let mut tables = Tables { strings: vec![0], ..Tables::default() };
    for (index, difo) in program.difos.iter().enumerate() {
        tables.difo(index, difo)?;
    }
    for variable in &program.variables {
        tables.variable(variable)?;
    }
    for clause in &program.clauses {
        tables.clause(clause)?;
    }
    for (index, probe) in probes.iter().enumerate() {
        tables.probe(index, probe)?;
    }
    for ecb in ecbs {
        tables.ecb(ecb)?;
    }
    tables.assemble(options)
}

fn flag(set: bool, bit: u32) -> u32 {
    if set { bit } else { 0 }
}

fn wire_type(ty: &Type) -> uapi::Dtype {
    let by_ref = if ty.by_ref { uapi::T_BYREF } else { 0 };
    let by_user_ref = if ty.by_user_ref { uapi::T_BYUREF } else { 0 };
    uapi::Dtype {
        kind: (ty.kind == TypeKind::String).into(),
        ckind: ty.ctf as u8,
        flags: (by_ref | by_user_ref) as u8,
        reserved: 0,
        size: ty.size,
    }
}

fn check_references(program: &Program, probes: &[Probe], ecbs: &[Ecb]) -> Result<(), EncodeError> {
    let count = program.difos.len();
    for (index, clause) in program.clauses.iter().enumerate() {
        let used = clause.actions.iter().flat_map(|action| [action.difo, action.incr]);
        if let Some(difo) = used.chain([clause.predicate]).flatten().find(|difo| *difo as usize >= count) {
            return Err(EncodeError::Difo { clause: index, difo, count });
        }
    }
    for (index, &Ecb { probe, clause, .. }) in ecbs.iter().enumerate() {
        if probe as usize >= probes.len() {
            return Err(EncodeError::Probe { index, probe, count: probes.len() });
        }
        if clause as usize >= program.clauses.len() {
            return Err(EncodeError::Clause { index, clause, count: program.clauses.len() });
        }
    }
    Ok(())
}

/// The tables of an image under construction.
#[derive(Default)]
struct Tables {
    strings: Vec<u8>,
    names: HashMap<Vec<u8>, u32>,
    blobs: HashMap<Vec<u8>, u32>,
    insns: Vec<u32>,
    ints: Vec<u64>,
    int_ranges: HashMap<Vec<u64>, u32>,
    vars: Vec<uapi::Var>,
    difos: Vec<uapi::Difo>,
    actions: Vec<uapi::Action>,
    clauses: Vec<uapi::Clause>,
    probes: Vec<uapi::Probe>,
    ecbs: Vec<uapi::Ecb>,
}

impl Tables {
    fn difo(&mut self, index: usize, difo: &Difo) -> Result<(), EncodeError> {
        if difo.strings.last().is_some_and(|last| *last != 0) {
            return Err(EncodeError::Strings(index));
        }
        let entry = uapi::Difo {
            insn: fits(self.insns.len())?,
            ninsns: fits(difo.insns.len())?,
            int0: self.ints(&difo.ints)?,
            nints: fits(difo.ints.len())?,
            str0: self.blob(&difo.strings)?,
            strlen: fits(difo.strings.len())?,
            rtype: wire_type(&difo.rtype),
        };
        self.insns.extend_from_slice(&difo.insns);
        self.difos.push(entry);
        Ok(())
    }

    fn variable(&mut self, variable: &Variable) -> Result<(), EncodeError> {
        let entry = uapi::Var {
            name: self.name(&variable.name)?,
            id: variable.id,
            kind: variable.kind as u8,
            scope: variable.scope as u8,
            flags: u16::from(variable.read) | u16::from(variable.written) << 1,
            ty: wire_type(&variable.ty),
        };
        self.vars.push(entry);
        Ok(())
    }

    fn clause(&mut self, clause: &Clause) -> Result<(), EncodeError> {
        self.clauses.push(uapi::Clause {
            predicate: index(clause.predicate),
            action: fits(self.actions.len())?,
            nactions: fits(clause.actions.len())?,
            flags: if clause.record { uapi::CLAUSE_RECORD } else { 0 },
        });
        self.actions.extend(clause.actions.iter().map(wire_action));
        Ok(())
    }

    fn probe(&mut self, index: usize, probe: &Probe) -> Result<(), EncodeError> {
        let mut over = [0; 2];
        let (kind, func, offset, to, bytes): (u32, u64, u32, u32, &[u8]) = match &probe.place {
            Place::Begin => (uapi::P_BEGIN, 0, 0, 0, &[]),
            Place::End => (uapi::P_END, 0, 0, 0, &[]),
            Place::Error => (uapi::P_ERROR, 0, 0, 0, &[]),
            Place::Insn { func, offset, bytes } => (uapi::P_INSN, *func, *offset, 0, bytes),
            Place::Edge { func, offset, over: keys, to, bytes } => {
                over = *keys;
                (uapi::P_EDGE, *func, *offset, *to, bytes)
            }
            Place::Driver { func, offset } => {
                (uapi::P_INSN, *func, *offset, 0, Machine::HERE.facts().driver_nop)
            }
            Place::FbtEntry { func } => (uapi::P_FBT_ENTRY, *func, 0, 0, &[]),
            Place::FbtReturn { func } => (uapi::P_FBT_RETURN, *func, 0, 0, &[]),
            Place::Profile { interval } => (uapi::P_PROFILE, *interval, 0, 0, &[]),
            Place::Tick { interval } => (uapi::P_TICK, *interval, 0, 0, &[]),
            Place::SyscallEntry { number } => (uapi::P_SYSCALL_ENTRY, *number, 0, 0, &[]),
            Place::SyscallReturn { number } => (uapi::P_SYSCALL_RETURN, *number, 0, 0, &[]),
            Place::Sdt { func } => (uapi::P_SDT, *func, 0, 0, &[]),
            Place::Event { number } => (uapi::P_EVENT, *number, 0, 0, &[]),
            Place::Gate { func, to } => (uapi::P_GATE, *func, 0, *to, &[]),
            Place::Program(_) => return Err(EncodeError::NotKernel(index)),
        };
        let mut entry = uapi::Probe {
            id: probe.id,
            kind,
            func,
            offset,
            to,
            over,
            prov: self.name(&probe.name.provider)?,
            module: self.name(&probe.name.module)?,
            name_func: self.name(&probe.name.function)?,
            name: self.name(&probe.name.name)?,
            nbytes: bytes.len() as u8,
            ..uapi::Probe::default()
        };
        let room = entry.bytes.get_mut(..bytes.len()).ok_or(EncodeError::InsnBytes(index))?;
        room.copy_from_slice(bytes);
        self.probes.push(entry);
        Ok(())
    }

    fn ecb(&mut self, ecb: &Ecb) -> Result<(), EncodeError> {
        let inlined = ecb.inlined.as_ref().map_or(Ok(0), |function| self.name(function))?;
        self.ecbs.push(uapi::Ecb { probe: ecb.probe, clause: ecb.clause, inlined });
        Ok(())
    }

    /// Adds a name; equal names, mostly of probes, are stored once.
    fn name(&mut self, name: &str) -> Result<u32, EncodeError> {
        if let Some(offset) = self.names.get(name.as_bytes()) {
            return Ok(*offset);
        }
        if name.contains('\0') {
            return Err(EncodeError::NulInName(name.to_string()));
        }
        let offset = fits(self.strings.len())?;
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        self.names.insert(name.as_bytes().to_vec(), offset);
        Ok(offset)
    }

    /// Adds the string table of one DIFO.
    fn blob(&mut self, strings: &[u8]) -> Result<u32, EncodeError> {
        if strings.is_empty() {
            return Ok(0);
        }
        if let Some(offset) = self.blobs.get(strings) {
            return Ok(*offset);
        }
        let offset = fits(self.strings.len())?;
        self.strings.extend_from_slice(strings);
        self.blobs.insert(strings.to_vec(), offset);
        Ok(offset)
    }

    /// Adds the integer table of one DIFO.
    fn ints(&mut self, ints: &[u64]) -> Result<u32, EncodeError> {
        if ints.is_empty() {
            return Ok(0);
        }
        if let Some(first) = self.int_ranges.get(ints) {
            return Ok(*first);
        }
        let first = fits(self.ints.len())?;
        self.ints.extend_from_slice(ints);
        self.int_ranges.insert(ints.to_vec(), first);
        Ok(first)
    }

    fn assemble(self, options: &Options) -> Result<Vec<u8>, EncodeError> {
        let header = uapi::Image {
            magic: uapi::IMAGE_MAGIC,
            version: uapi::ABI_VERSION as u16,
            hdr_len: uapi::Image::SIZE as u16,
            flags: flag(options.destructive, uapi::IMAGE_DESTRUCTIVE)
                | flag(options.overwrite, uapi::IMAGE_RING)
                | flag(options.nojump, uapi::IMAGE_NOJUMP)
                | flag(options.once, uapi::IMAGE_ONCE),
            bufsize: options.bufsize,
            aggsize: options.aggsize,
            dynvarsize: options.dynvarsize,
            specsize: options.specsize,
            nspec: options.nspec,
            strsize: options.strsize,
            target: options.target,
            clean_us: options.clean_us,
            cpu: options.cpu.unwrap_or(uapi::NONE),
            ..uapi::Image::default()
        };
        Image {
            header,
            strtab: self.strings,
            insns: self.insns,
            ints: self.ints,
            vars: self.vars,
            difos: self.difos,
            actions: self.actions,
            clauses: self.clauses,
            probes: self.probes,
            ecbs: self.ecbs,
        }
        .to_bytes()
    }
}

fn wire_action(action: &Action) -> uapi::Action {
    uapi::Action {
        kind: action.kind as u16,
        ntuple: action.ntuple,
        difo: index(action.difo),
        incr: index(action.incr),
        agg: action.agg,
        arg: action.arg,
    }
}

fn index(difo: Option<DifoIndex>) -> u32 {
    difo.unwrap_or(uapi::NONE)
}
