//! dif/image.rs: the image of a program as tables: encoding, and decoding with all ranges checked.

use super::program::{CtfKind, Difo, DifoIndex, Type, TypeKind};
use kinst_base::uapi::{self, Plain};

/// A program that cannot be encoded as an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A table or the whole image has a length that does not fit into 32 bits.
    #[error("the program takes more than 4 GiB")]
    TooLarge,
    /// A probe, variable or function name with a NUL.
    #[error("the name `{0}` contains a NUL")]
    NulInName(String),
    /// Index of a probe whose instruction bytes do not fit into `kinst_probe.bytes`.
    #[error("probe {0} expects more than 16 bytes of an instruction")]
    InsnBytes(usize),
    /// Index of a probe in a user program, which only BPF can arm.
    #[error("probe {0} is in a user program, but the module traces only the kernel")]
    NotKernel(usize),
    /// A predicate or an action whose object does not exist.
    #[error("clause {clause} refers to DIFO {difo}, but the number of DIFOs is {count}")]
    Difo {
        /// Index of the clause.
        clause: usize,
        /// The index that is out of range.
        difo: DifoIndex,
        /// Number of DIFOs in the program.
        count: usize,
    },
    /// An enabling whose probe does not exist.
    #[error("enabling {index} refers to probe {probe}, but the number of probes is {count}")]
    Probe {
        /// Index of the enabling.
        index: usize,
        /// The index that is out of range.
        probe: u32,
        /// Number of probes in the session.
        count: usize,
    },
    /// An enabling whose clause does not exist.
    #[error("enabling {index} refers to clause {clause}, but the number of clauses is {count}")]
    Clause {
        /// Index of the enabling.
        index: usize,
        /// The index that is out of range.
        clause: u32,
        /// Number of clauses in the program.
        count: usize,
    },
    /// Index of a DIFO whose strings are not terminated.
    #[error("the strings of DIFO {0} do not end with a NUL")]
    Strings(usize),
}

/// The tables of an image, decoded and in bounds. Their contents are not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The header as read; [`Image::to_bytes`] replaces its tables and its length.
    pub header: uapi::Image,
    /// NUL-terminated names, and the string tables of the DIFOs.
    pub strtab: Vec<u8>,
    /// Instruction words of all DIFOs.
    pub insns: Vec<u32>,
    /// Integer tables of all DIFOs.
    pub ints: Vec<u64>,
    /// User variables; `name` is an offset into `strtab`.
    pub vars: Vec<uapi::Var>,
    /// Ranges of `insns`, `ints` and `strtab`, one for each DIFO.
    pub difos: Vec<uapi::Difo>,
    /// Actions of all clauses.
    pub actions: Vec<uapi::Action>,
    /// Predicates and ranges of `actions`.
    pub clauses: Vec<uapi::Clause>,
    /// Probes; names are offsets into `strtab`.
    pub probes: Vec<uapi::Probe>,
    /// Enablings; the EPID is the index + 1.
    pub ecbs: Vec<uapi::Ecb>,
}

/// Bytes that are not an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not a header with the magic number, version and lengths of this ABI.
    #[error("not an image of this ABI")]
    Header,
    /// Index of the table in the header, from 0 for `strtab` to 8 for `ecbs`.
    #[error("table {0} is misaligned or outside the image")]
    Table(u32),
}

/// Decodes the tables of an image.
pub fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    let header = uapi::Image::read(bytes).ok_or(DecodeError::Header)?;
    if !is_header(&header, bytes.len()) {
        return Err(DecodeError::Header);
    }
    let mut reader = TableReader { bytes, number: 0 };
    Ok(Image {
        header,
        strtab: reader.table(header.strtab)?,
        insns: reader.table(header.insns)?,
        ints: reader.table(header.ints)?,
        vars: reader.table(header.vars)?,
        difos: reader.table(header.difos)?,
        actions: reader.table(header.actions)?,
        clauses: reader.table(header.clauses)?,
        probes: reader.table(header.probes)?,
        ecbs: reader.table(header.ecbs)?,
    })
}

/// Whether this is the header of an image of this ABI with `len` bytes.
pub fn is_header(header: &uapi::Image, len: usize) -> bool {
    header.magic == uapi::IMAGE_MAGIC
        && u32::from(header.version) == uapi::ABI_VERSION
        && usize::from(header.hdr_len) == uapi::Image::SIZE
        && header.len as usize == len
}

impl Image {
    /// Encodes the image, with its tables in the order of the header.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let mut body = Body { out: vec![0; uapi::Image::SIZE] };
        let mut header = uapi::Image {
            strtab: body.table(&self.strtab)?,
            insns: body.table(&self.insns)?,
            ints: body.table(&self.ints)?,
            vars: body.table(&self.vars)?,
            difos: body.table(&self.difos)?,
            actions: body.table(&self.actions)?,
            clauses: body.table(&self.clauses)?,
            probes: body.table(&self.probes)?,
            ecbs: body.table(&self.ecbs)?,
            ..self.header
        };
        let mut out = body.out;
        header.len = u32::try_from(out.len()).map_err(|_| EncodeError::TooLarge)?;
        out.splice(..uapi::Image::SIZE, header.to_bytes());
        Ok(out)
    }

    /// Returns the NUL-terminated string at an offset of the string table.
    pub fn string(&self, offset: u32) -> Option<&[u8]> {
        let rest = self.strtab.get(offset as usize..)?;
        rest.iter().position(|byte| *byte == 0).and_then(|end| rest.get(..end))
    }

    /// Returns one DIFO with its own tables; its variables remain in the image.
    pub fn difo(&self, index: u32) -> Option<Difo> {
        let difo = self.difos.get(index as usize)?;
        Some(Difo {
            insns: slice(&self.insns, difo.insn, difo.ninsns)?.to_vec(),
            ints: slice(&self.ints, difo.int0, difo.nints)?.to_vec(),
            strings: slice(&self.strtab, difo.str0, difo.strlen)?.to_vec(),
            variables: Vec::new(),
            rtype: read_type(&difo.rtype),
        })
    }
}

/// Returns `count` entries from `first`; an empty range needs no valid start.
pub fn slice<T>(table: &[T], first: u32, count: u32) -> Option<&[T]> {
    if count == 0 {
        return Some(&[]);
    }
    let end = (first as usize).checked_add(count as usize)?;
    table.get(first as usize..end)
}

fn read_type(ty: &uapi::Dtype) -> Type {
    Type {
        kind: if ty.kind == 1 { TypeKind::String } else { TypeKind::D },
        ctf: CtfKind::from_number(ty.ckind).unwrap_or_default(),
        by_ref: u32::from(ty.flags) & uapi::T_BYREF != 0,
        by_user_ref: u32::from(ty.flags) & uapi::T_BYUREF != 0,
        size: ty.size,
    }
}

pub(super) fn fits(length: usize) -> Result<u32, EncodeError> {
    u32::try_from(length).map_err(|_| EncodeError::TooLarge)
}

/// The image being written: space for the header, then one table after another.
pub(super) struct Body {
    pub out: Vec<u8>,
}

impl Body {
    pub(super) fn table<T: Plain>(&mut self, entries: &[T]) -> Result<uapi::Table, EncodeError> {
        self.out.resize(self.out.len().next_multiple_of(8), 0);
        let table = uapi::Table { off: fits(self.out.len())?, count: fits(entries.len())? };
        self.out.reserve(entries.len() * T::SIZE);
        entries.iter().for_each(|entry| entry.write(&mut self.out));
        Ok(table)
    }
}

struct TableReader<'a> {
    bytes: &'a [u8],
    /// Index of the table being read, for errors.
    number: u32,
}

impl TableReader<'_> {
    fn table<T: Plain>(&mut self, table: uapi::Table) -> Result<Vec<T>, DecodeError> {
        let error = DecodeError::Table(self.number);
        self.number += 1;
        // The offset of an empty table is not checked.
        if table.count == 0 {
            return Ok(Vec::new());
        }
        let start = table.off as usize;
        let size = (table.count as usize).checked_mul(T::SIZE).ok_or(error)?;
        let end = start.checked_add(size).ok_or(error)?;
        if !start.is_multiple_of(8) || start < uapi::Image::SIZE {
            return Err(error);
        }
        let bytes = self.bytes.get(start..end).ok_or(error)?;
        bytes.chunks_exact(T::SIZE).map(T::read).collect::<Option<Vec<T>>>().ok_or(error)
    }
}
