//! dwarf/split.rs: split debug information: the .dwo file or the .dwp package that completes a skeleton unit.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gimli::{
    DwarfPackage, DwarfPackageSections, DwarfSections, EndianSlice, LittleEndian, UnitType, constants as dw,
};

use super::sections::{Dwarf, Slice, headers_of};
use super::type_units::Table;
use super::unit::{Skeleton, Unit};
use kinst_debuginfo::{Companion, ElfFile, Error};

/// A file with split debug information that is missing, or is of another build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// Path of the .dwo file.
    pub path: PathBuf,
    /// Source file whose debug information it has; empty if unknown.
    pub of: String,
    /// Why it cannot be used.
    pub cause: Cause,
}

/// Why a file with split debug information cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// There is no such file.
    NoFile {
        /// Why the package beside the program does not replace it, as the end of a sentence; empty without one.
        package: String,
    },
    /// It has another id than the program's unit.
    OtherBuild,
    /// It cannot be read; the error.
    Unreadable(String),
}

/// Why a skeleton's unit cannot be read.
#[derive(Debug)]
pub(crate) enum NotRead {
    Missing(Missing),
    Damaged(gimli::Error),
}

/// A unit, and the sections that it is read with.
pub(crate) struct Opened<'d> {
    pub dwarf: Dwarf<'d>,
    pub unit: Unit<'d>,
}

/// The file that has the rest of a skeleton unit.
pub(crate) struct SplitFile {
    file: Companion,
    /// The offset of the unit's header in the .dwo file; `None` in a package.
    header: Option<usize>,
    abbreviations: OnceLock<Arc<gimli::Abbreviations>>,
}

/// The remedy for missing files with split debug information.
pub const SPLIT_HELP: &str =
    "put the .dwo files where they were built or beside the program, or make a .dwp of them";

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file {}", self.path.display())?;
        if !self.of.is_empty() {
            write!(f, ", which has the debug information of {},", self.of)?;
        }
        match &self.cause {
            Cause::NoFile { package } if package.is_empty() => f.write_str(" is missing"),
            Cause::NoFile { package } => write!(f, " is missing, and {package}"),
            Cause::OtherBuild => f.write_str(" belongs to another build of the program"),
            Cause::Unreadable(error) => write!(f, " cannot be read: {error}"),
        }
    }
}

impl From<gimli::Error> for NotRead {
    fn from(cause: gimli::Error) -> NotRead {
        NotRead::Damaged(cause)
    }
}

impl NotRead {
    /// The error for a file with skeleton units.
    pub(crate) fn error(self, image: &ElfFile) -> Error {
        match self {
            NotRead::Missing(missing) => {
                Error::Part { path: image.path().to_owned(), missing: missing.to_string(), help: SPLIT_HELP }
            }
            NotRead::Damaged(cause) => Error::dwarf(image.path(), cause),
        }
    }
}

impl SplitFile {
    /// Finds the file of a skeleton unit: the package beside the program, or the .dwo file.
    pub(crate) fn find<'d>(
        image: &ElfFile,
        dwarf: &Dwarf<'d>,
        skeleton: &Skeleton<'d>,
        of: Option<String>,
    ) -> Result<SplitFile, NotRead> {
        let mut package = String::new();
        for file in packages(image) {
            match &*file {
                Ok(found) => match in_package(found, dwarf, skeleton) {
                    Ok(Some(_)) => return Ok(SplitFile::of(file, None)),
                    Ok(None) => package = format!("{} belongs to another build", found.path().display()),
                    Err(cause) => package = Error::dwarf(found.path(), cause).to_string(),
                },
                Err(Error::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => {}
                Err(error) => package = error.to_string(),
            }
        }
        let path = given_path(skeleton);
        let missing = |path: &Path, cause| {
            NotRead::Missing(Missing { path: path.to_owned(), of: of.clone().unwrap_or_default(), cause })
        };
        let mut first = None;
        for path in places(image, skeleton, &path) {
            let file = image.companion(&path, || ElfFile::open(&path));
            let cause = match &*file {
                Ok(found) => match header_of(found, dwarf, skeleton) {
                    Ok(Some(header)) => return Ok(SplitFile::of(file, Some(header))),
                    Ok(None) => Cause::OtherBuild,
                    Err(error) => Cause::Unreadable(error.to_string()),
                },
                Err(Error::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => continue,
                Err(error) => Cause::Unreadable(error.to_string()),
            };
            first = first.or_else(|| Some(missing(&path, cause)));
        }
        Err(first.unwrap_or_else(|| missing(&path, Cause::NoFile { package })))
    }

    /// Opens the unit; `part` is its number in the space of offsets.
    pub(crate) fn open<'d>(
        &'d self,
        dwarf: &Dwarf<'d>,
        skeleton: &Skeleton<'d>,
        part: u64,
    ) -> gimli::Result<Opened<'d>> {
        let found = self.dwarf(dwarf, skeleton)?;
        let header = match self.header {
            Some(header) => header,
            None => id_of(&found, skeleton)?.ok_or(gimli::Error::MissingUnitDie)?,
        };
        let header = found.debug_info.header_from_offset(gimli::DebugInfoOffset(header))?;
        let abbreviations = match self.abbreviations.get() {
            Some(abbreviations) => abbreviations,
            None => {
                let read = Arc::new(header.abbreviations(&found.debug_abbrev)?);
                self.abbreviations.get_or_init(|| read)
            }
        };
        let unit = Unit::of_split(&found, header, abbreviations.clone(), skeleton, part)?;
        Ok(Opened { dwarf: found, unit })
    }

    fn of(file: Companion, header: Option<usize>) -> SplitFile {
        SplitFile { file, header, abbreviations: OnceLock::new() }
    }

    /// Whether it is a package.
    pub(crate) fn is_package(&self) -> bool {
        self.header.is_none()
    }

    /// A number of the file, not 0.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.file).addr()
    }

    /// The type units of a package.
    pub(crate) fn type_units(&self, dwarf: &Dwarf<'_>) -> Table {
        let table = |package: &DwarfPackage<Slice<'_>>| Ok(Table::of_package(package, dwarf));
        opened(&self.file).and_then(|file| packaged(file, table).ok()).unwrap_or_default()
    }

    /// The sections with a type unit of a package, by its row.
    pub(crate) fn type_unit<'d>(&'d self, dwarf: &Dwarf<'d>, row: u32) -> Option<Dwarf<'d>> {
        packaged(opened(&self.file)?, |package| package.tu_sections(row, dwarf)).ok()
    }

    /// The sections to read the unit with.
    pub(crate) fn dwarf<'d>(
        &'d self,
        dwarf: &Dwarf<'d>,
        skeleton: &Skeleton<'d>,
    ) -> gimli::Result<Dwarf<'d>> {
        let file = opened(&self.file).ok_or(gimli::Error::Io)?;
        match self.header {
            Some(_) => sections_of(file, dwarf).map_err(|_| gimli::Error::Io),
            None => in_package(file, dwarf, skeleton)?.ok_or(gimli::Error::MissingUnitDie),
        }
    }
}

/// Whether a section .debug_abbrev seems to have skeleton units; `true` if in doubt.
pub(crate) fn is_mentioned(abbreviations: &[u8]) -> bool {
    // DW_AT_GNU_dwo_name, which needs two bytes.
    if memchr::memmem::find(abbreviations, &[0xb0, 0x42]).is_some() {
        return true;
    }
    // DW_AT_dwo_name with a form of strings.
    const FORMS: [gimli::DwForm; 5] =
        [dw::DW_FORM_string, dw::DW_FORM_strp, dw::DW_FORM_strx, dw::DW_FORM_strx1, dw::DW_FORM_strx2];
    let follows = |at: usize| {
        abbreviations.get(at + 1).is_some_and(|form| FORMS.iter().any(|one| one.0 == u16::from(*form)))
    };
    memchr::memchr_iter(0x76, abbreviations).any(follows)
}

/// Opens a package.
fn packaged<'d, T>(
    file: &'d ElfFile,
    find: impl FnOnce(&DwarfPackage<Slice<'d>>) -> gimli::Result<T>,
) -> gimli::Result<T> {
    let section = |id: gimli::SectionId| match id.dwo_name() {
        Some(name) => file.cached_section(name).map(slice).map_err(|_| gimli::Error::Io),
        None => Ok(slice(&[])),
    };
    let sections: DwarfPackageSections<Slice<'d>> = DwarfPackageSections::load(section)?;
    find(&sections.borrow(|section| *section, slice(&[]))?)
}

fn opened(file: &Companion) -> Option<&ElfFile> {
    file.as_ref().as_ref().ok()
}

/// The path as the compiler wrote it: relative to the compilation directory.
fn given_path(skeleton: &Skeleton<'_>) -> PathBuf {
    let folder = skeleton.comp_dir.map(|folder| folder.to_string_lossy()).unwrap_or_default();
    Path::new(&*folder).join(&*skeleton.name.to_string_lossy())
}

/// The places of a .dwo file: the given one; if the program has been moved, beside the program.
fn places(image: &ElfFile, skeleton: &Skeleton<'_>, given: &Path) -> Vec<PathBuf> {
    let name = skeleton.name.to_string_lossy();
    let mut places = vec![image.home().path(given)];
    for own in image.own_paths() {
        places.extend(Path::new(&*name).is_relative().then(|| own.with_file_name(&*name)));
        places.extend(Path::new(&*name).file_name().map(|file| own.with_file_name(file)));
    }
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// The packages beside the program: `program.dwp`, for a separate file also that of its binary.
fn packages(image: &ElfFile) -> Vec<Companion> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for own in image.own_paths() {
        paths.extend((own.extension().is_some_and(|end| end == "debug")).then(|| own.with_extension("dwp")));
        let mut path = own.into_os_string();
        path.push(".dwp");
        paths.push(path.into());
    }
    paths.into_iter().map(|path| image.companion(&path, || ElfFile::open(&path))).collect()
}

fn sections_of<'d>(file: &'d ElfFile, dwarf: &Dwarf<'d>) -> Result<Dwarf<'d>, Error> {
    let section = |id: gimli::SectionId| match id.dwo_name() {
        Some(name) => file.cached_section(name).map(slice),
        None => Ok(slice(&[])),
    };
    let sections: DwarfSections<Slice<'d>> = DwarfSections::load(section)?;
    let mut found = sections.borrow(|section| *section);
    found.make_dwo(dwarf);
    Ok(with_lines(found, dwarf))
}

fn in_package<'d>(
    file: &'d ElfFile,
    dwarf: &Dwarf<'d>,
    skeleton: &Skeleton<'d>,
) -> gimli::Result<Option<Dwarf<'d>>> {
    let found = packaged(file, |package| package.find_cu(skeleton.id, dwarf))?;
    Ok(found.map(|found| with_lines(found, dwarf)))
}

/// The skeleton has the line table.
fn with_lines<'d>(mut found: Dwarf<'d>, dwarf: &Dwarf<'d>) -> Dwarf<'d> {
    found.debug_line = dwarf.debug_line;
    found.debug_line_str = dwarf.debug_line_str;
    found
}

fn slice(bytes: &[u8]) -> Slice<'_> {
    EndianSlice::new(bytes, LittleEndian)
}

/// The offset of the header of the unit with the skeleton's id; `None` if the file has units with other ids.
fn header_of<'d>(
    file: &'d ElfFile,
    dwarf: &Dwarf<'d>,
    skeleton: &Skeleton<'d>,
) -> Result<Option<usize>, Error> {
    let found = sections_of(file, dwarf)?;
    id_of(&found, skeleton).map_err(|cause| Error::dwarf(file.path(), cause))
}

/// The offset of the header of the unit with the skeleton's id.
fn id_of<'d>(found: &Dwarf<'d>, skeleton: &Skeleton<'d>) -> gimli::Result<Option<usize>> {
    for header in headers_of(found)? {
        let id = match header.type_() {
            UnitType::SplitCompilation(id) => Some(id),
            UnitType::Compilation => {
                let abbreviations = Arc::new(header.abbreviations(&found.debug_abbrev)?);
                Unit::of_split(found, header, abbreviations, skeleton, 0)?.inner.dwo_id
            }
            _ => None,
        };
        if id == Some(skeleton.id) {
            return Ok(Some(header.offset().0));
        }
    }
    Ok(None)
}
