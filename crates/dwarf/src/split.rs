//! dwarf/split.rs: split debug information: the .dwo file or the .dwp package that completes a skeleton unit.

use std::borrow::Cow;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use gimli::{DwarfPackageSections, DwarfSections, EndianSlice, LittleEndian};

use super::sections::{Dwarf, Slice, headers_of};
use super::unit::{Skeleton, Unit};
use kinst_debuginfo::{ElfFile, Error};

/// A file with split debug information that is missing, or is of another build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// Path of the .dwo file.
    pub path: PathBuf,
    /// Reason in words: `there is no such file`.
    pub why: String,
}

/// Why a skeleton's unit cannot be read.
pub(crate) enum NotRead {
    Missing(Missing),
    Damaged(gimli::Error),
}

/// The files for the skeleton units of one image.
pub(crate) struct SplitFiles<'i> {
    image: &'i ElfFile,
    package: OnceLock<Option<Package>>,
}

/// A .dwp file: the sections of many .dwo files.
type Package = DwarfPackageSections<Vec<u8>>;

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl From<gimli::Error> for NotRead {
    fn from(cause: gimli::Error) -> NotRead {
        NotRead::Damaged(cause)
    }
}

impl<'i> SplitFiles<'i> {
    pub(crate) fn of(image: &'i ElfFile) -> SplitFiles<'i> {
        SplitFiles { image, package: OnceLock::new() }
    }

    /// Calls `read` with the unit that belongs to a skeleton unit, and with that unit's sections.
    pub(crate) fn read<T>(
        &self,
        dwarf: &Dwarf<'_>,
        skeleton: &Skeleton<'_>,
        read: impl for<'d> FnOnce(&Dwarf<'d>, &Unit<'d>) -> gimli::Result<T>,
    ) -> Result<T, NotRead> {
        if let Some(package) = self.package() {
            let package = package.borrow(|bytes| slice(bytes), slice(&[]))?;
            if let Some(found) = package.find_cu(skeleton.id, dwarf)? {
                return unit_of(found, dwarf, skeleton, read)?
                    .ok_or(NotRead::Damaged(gimli::Error::MissingUnitDie));
            }
        }
        let path = self.path(skeleton);
        let missing = |why: &str| NotRead::Missing(Missing { path: path.clone(), why: why.to_owned() });
        let image = match ElfFile::open(&path) {
            Ok(image) => image,
            Err(Error::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
                return Err(missing("there is no such file"));
            }
            Err(error) => return Err(missing(&error.to_string())),
        };
        let sections = DwarfSections::load(|section| match section.dwo_name() {
            Some(name) => image.debug_section(name),
            None => Ok(Cow::Borrowed(&[][..])),
        });
        let sections = sections.map_err(|error: Error| missing(&error.to_string()))?;
        let mut found: Dwarf<'_> = sections.borrow(|section| slice(section));
        found.make_dwo(dwarf);
        let of_other_build = || missing("it is of another build of the program");
        unit_of(found, dwarf, skeleton, read)?.ok_or_else(of_other_build)
    }

    /// The file's name is relative to the compilation directory; if the program has been moved, the file is
    /// beside it.
    fn path(&self, skeleton: &Skeleton<'_>) -> PathBuf {
        let (name, folder) = (skeleton.name.to_string_lossy(), skeleton.comp_dir);
        let folder = folder.map(|folder| folder.to_string_lossy()).unwrap_or_default();
        let given = Path::new(&*folder).join(&*name);
        let beside = Path::new(&*name).file_name().map(|file| self.image.path().with_file_name(file));
        match beside {
            Some(beside) if !given.exists() && beside.exists() => beside,
            _ => given,
        }
    }

    /// `program.dwp` beside the program.
    fn package(&self) -> Option<&Package> {
        let load = || {
            let mut path = self.image.path().as_os_str().to_owned();
            path.push(".dwp");
            let image = ElfFile::open(Path::new(&path)).ok()?;
            let section = |section: gimli::SectionId| match section.dwo_name() {
                Some(name) => image.debug_section(name).map(Cow::into_owned).map_err(|_| gimli::Error::Io),
                None => Ok(Vec::new()),
            };
            DwarfPackageSections::load(section).ok()
        };
        self.package.get_or_init(load).as_ref()
    }
}

fn slice(bytes: &[u8]) -> Slice<'_> {
    EndianSlice::new(bytes, LittleEndian)
}

/// Reads the unit with an id; `None` if the sections contain another one.
fn unit_of<'d, T>(
    mut found: Dwarf<'d>,
    dwarf: &Dwarf<'d>,
    skeleton: &Skeleton<'d>,
    read: impl FnOnce(&Dwarf<'d>, &Unit<'d>) -> gimli::Result<T>,
) -> gimli::Result<Option<T>> {
    // The skeleton has the line table.
    found.debug_line = dwarf.debug_line;
    found.debug_line_str = dwarf.debug_line_str;
    for header in headers_of(&found)? {
        let unit = Unit::of_split(&found, header, skeleton)?;
        if unit.inner.dwo_id == Some(skeleton.id) {
            return read(&found, &unit).map(Some);
        }
    }
    Ok(None)
}
