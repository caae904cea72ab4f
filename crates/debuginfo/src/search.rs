//! debuginfo/search.rs: finds the file with the debug information of a binary, by build id.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::buildid::BuildId;
use super::debuginfod::{self, Asked, Say};
use super::elf_file::ElfFile;
use super::error::Error;
use super::home::Home;
use super::root::{ModuleFile, Root};

/// The result of a search for one file.
pub struct Searched {
    /// The first file that matches; `None` if no file does.
    pub found: Option<ElfFile>,
    /// The places that were searched, in order.
    pub places: Vec<PathBuf>,
    /// Files that exist but were refused, and why.
    pub refused: Vec<Error>,
}

/// Finds the vmlinux with debug information.
pub fn vmlinux_debug(root: &Root, wanted: Option<&BuildId>) -> Searched {
    first_match(vmlinux_places(root, wanted), wanted, "the running kernel", ElfFile::has_dwarf)
}

impl Searched {
    /// Queries debuginfod for a file that was not found; `false` if a query for another file is pointless.
    pub fn ask(&mut self, wanted: Option<&BuildId>, of: &str, say: Say<'_>) -> bool {
        let Some(id) = wanted.filter(|_| self.found.is_none() && debuginfod::servers().is_some()) else {
            return true;
        };
        match debuginfod::fetch(id, of, say) {
            Asked::Found(image) => self.found = Some(*image),
            Asked::Unknown => self.places.push(PathBuf::from(format!("debuginfod ({id})"))),
            Asked::Failed(error) => {
                let goes_on = !matches!(error, Error::Debuginfod { .. });
                self.refused.push(error);
                return goes_on;
            }
        }
        true
    }
}

/// The places to search for vmlinux, in order.
pub fn vmlinux_places(root: &Root, wanted: Option<&BuildId>) -> Vec<PathBuf> {
    if let Some(path) = root.vmlinux() {
        return vec![path.to_owned()];
    }
    let mut places = by_build_id(root, wanted);
    places.extend(root.vmlinux_candidates());
    places
}

/// Finds the file with a module's debug information: a separate one, or the module itself.
pub fn module_debug(root: &Root, module: &ModuleFile, wanted: Option<&BuildId>) -> Searched {
    let places = module_places(root, module, wanted);
    first_match(places, wanted, &format!("the loaded module {}", module.name), ElfFile::has_dwarf)
}

/// The places to search for a module's debug information, in order.
pub fn module_places(root: &Root, module: &ModuleFile, wanted: Option<&BuildId>) -> Vec<PathBuf> {
    let mut places = by_build_id(root, wanted);
    places.extend(module.debug.clone());
    places.extend(module.binary.clone());
    places
}

/// Finds the module's file as it is loaded, with its instructions.
pub fn module_binary(module: &ModuleFile, wanted: Option<&BuildId>) -> Searched {
    let places = module.binary.iter().chain(&module.debug).cloned().collect();
    first_match(places, wanted, &format!("the module {}", module.name), ElfFile::has_code)
}

/// Finds the separate file of any binary: by build id, by debug link (its CRC checked), or at the mirrored
/// path. The paths are in the root of the binary's process.
pub fn debug_file_of(binary: &ElfFile) -> Searched {
    let home = binary.home();
    let own = home.path(binary.path());
    // Links in another root may lead out of it.
    let path = match home.root {
        None => std::fs::canonicalize(&own).unwrap_or(own),
        Some(_) => binary.path().to_owned(),
    };
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mirrored = Path::new("/usr/lib/debug").join(dir.strip_prefix("/").unwrap_or(dir));
    let mut places: Vec<PathBuf> = binary.build_id().and_then(debug_path).into_iter().collect();
    let link = binary.debug_link();
    if let Some((name, _)) = &link {
        places.extend([dir.join(name), dir.join(".debug").join(name), mirrored.join(name)]);
    }
    if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
        let unpacked = [".xz", ".zst", ".gz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        places.extend([mirrored.join(unpacked), mirrored.join(format!("{unpacked}.debug"))]);
    }
    places.retain(|place| *place != path);
    let mut places: Vec<PathBuf> = places.iter().map(|place| home.path(place)).collect();
    // This system may have the debug information of a container's programs.
    if let (Some(_), Some(place)) = (&home.root, binary.build_id().and_then(debug_path)) {
        places.push(place);
    }
    let crc = link.map(|(_, crc)| crc);
    let of = binary.path().display().to_string();
    let wanted = binary.build_id();
    let others = RefCell::new(Vec::new());
    // Without a build id, only the CRC of a debug link shows that the file belongs to the binary.
    let mut searched = first_match(places, wanted, &of, |image| {
        if !image.has_dwarf() || wanted.is_some() {
            return image.has_dwarf();
        }
        let is_same = crc == Some(image.crc());
        if let Some(wanted) = crc.filter(|_| !is_same) {
            let (path, of, file) = (image.path().to_owned(), of.clone(), image.crc());
            others.borrow_mut().push(Error::Crc { path, file, wanted, of });
        }
        is_same
    });
    searched.refused.extend(others.into_inner());
    let binary = Home { root: home.root.clone(), binary: Some(binary.path().to_owned()) };
    searched.found = searched.found.map(|found| found.at_home(binary));
    searched
}

/// The place of a debug file below the root.
fn debug_path(id: &BuildId) -> Option<PathBuf> {
    Some(PathBuf::from(format!("/usr/lib/debug/.build-id/{}.debug", id.path()?)))
}

impl ElfFile {
    /// The file to which dwz moved the parts that several files share (`.gnu_debugaltlink`), or why it cannot
    /// be used. `None` if no such file is named.
    pub fn alternate(&self) -> Option<Result<&ElfFile, &Error>> {
        self.alternate_or(|_, missing| Err(missing))
    }

    /// The same; the first call may have another source for a file that is missing, such as a server.
    pub fn alternate_or(
        &self,
        other: impl FnOnce(&BuildId, Error) -> Result<ElfFile, Error>,
    ) -> Option<Result<&ElfFile, &Error>> {
        let found = self.alternate.get_or_init(|| {
            let (name, id) = self.alternate_link()?;
            let found = alternate_of(self, name, &id).or_else(|missing| other(&id, missing));
            Some(found.map(Box::new))
        });
        found.as_ref().map(|found| found.as_ref().map(|image| &**image))
    }
}

/// The file that a debug file names by a path relative to itself, or the file with this id in the same tree.
fn alternate_of(image: &ElfFile, name: String, wanted: &BuildId) -> Result<ElfFile, Error> {
    let (home, own) = (image.home(), image.home().path(image.path()));
    let path = std::fs::canonicalize(&own).unwrap_or(own);
    let mut places = vec![match name.starts_with('/') {
        true => home.path(Path::new(&name)),
        false => path.parent().unwrap_or(Path::new("/")).join(&name),
    }];
    // The tree that contains the file may not be the running system's.
    if let Some(id) = wanted.path() {
        let dirs = path.ancestors().skip(1).map(Path::to_owned);
        let dirs = dirs.chain([home.path(Path::new("/usr/lib/debug"))]);
        places.extend(dirs.map(|dir| dir.join(format!(".build-id/{id}.debug"))));
    }
    let searched = first_match(places, Some(wanted), &image.path().display().to_string(), ElfFile::has_dwarf);
    let missing = || Error::Alternate { path: image.path().to_owned(), name, wanted: wanted.clone() };
    searched.found.ok_or_else(|| searched.refused.into_iter().next().unwrap_or_else(missing))
}

fn by_build_id(root: &Root, wanted: Option<&BuildId>) -> Vec<PathBuf> {
    let path = wanted.and_then(debug_path);
    path.into_iter().map(|path| root.path(&path.to_string_lossy())).collect()
}

fn first_match(
    places: Vec<PathBuf>,
    wanted: Option<&BuildId>,
    of: &str,
    serves: impl Fn(&ElfFile) -> bool,
) -> Searched {
    let mut searched = Searched { found: None, places, refused: Vec::new() };
    for path in &searched.places {
        let image = match ElfFile::open(path) {
            Ok(image) => image,
            Err(Error::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                searched.refused.push(error);
                continue;
            }
        };
        if !serves(&image) {
            continue;
        }
        match wanted {
            Some(id) if image.build_id() != Some(id) => searched.refused.push(Error::BuildId {
                path: path.clone(),
                file: image.build_id().cloned(),
                wanted: id.clone(),
                of: of.to_owned(),
            }),
            _ => {
                searched.found = Some(image);
                break;
            }
        }
    }
    searched
}
