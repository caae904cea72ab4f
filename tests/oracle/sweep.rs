//! tests/oracle/sweep.rs: all inlined functions of a kernel and of a hundred of its modules: each lookup succeeds, and
//! each site is an instruction according to objdump.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use kinst::sites::{Boundary, Cache, DwarfIndex, FoundSite, FunctionSites, InlineProbe, Kernel, SiteIndex};

use crate::{binutils, needs};

const MODULES: usize = 100;

/// A place in objdump's terms: section and address.
type Place = (u32, u64);

/// objdump's output for one file.
#[derive(Default)]
struct Disassembly {
    instructions: HashSet<Place>,
    /// Ranges from an instruction that objdump cannot decode to the end of the function: it may be out of step there.
    unknown: Vec<(u32, Range<u64>)>,
    /// By name; several for namesakes.
    symbols: HashMap<String, Vec<Place>>,
}

impl Disassembly {
    fn of(path: &Path) -> Disassembly {
        let mut this = Disassembly::default();
        let mut sections: HashMap<String, u32> = HashMap::new();
        let mut number = |name: &str| {
            let next = sections.len() as u32;
            *sections.entry(name.to_owned()).or_insert(next)
        };
        lines(path, "-t", |line| {
            // `ADDRESS FLAGS SECTION\tSIZE [.hidden] NAME`
            let Some((left, right)) = line.split_once('\t') else { return };
            let (Some(address), Some(section)) = (left.get(..16), left.rsplit(' ').next()) else { return };
            let (Ok(address), Some(name)) = (u64::from_str_radix(address, 16), right.split(' ').next_back())
            else {
                return;
            };
            let place = (number(section), address);
            this.symbols.entry(name.to_owned()).or_default().push(place);
        });
        let mut section = 0;
        let mut is_unknown = false;
        lines(path, "-dw", |line| {
            if line.ends_with(">:") {
                is_unknown = false;
            } else if let Some(name) = line.strip_prefix("Disassembly of section ") {
                section = number(name.trim_end_matches(':'));
            } else if let Some((address, insn)) = line.split_once(":\t")
                && let Ok(address) = u64::from_str_radix(address.trim_start(), 16)
            {
                if insn.contains("(bad)") && !is_unknown {
                    is_unknown = true;
                    this.unknown.push((section, address..address));
                }
                if let Some((_, range)) = this.unknown.last_mut().filter(|_| is_unknown) {
                    range.end = address + 1;
                }
                this.instructions.insert((section, address));
            }
        });
        this
    }

    fn is_unknown(&self, caller: &str, offset: u64) -> bool {
        let name = caller.split_once('#').map_or(caller, |(name, _)| name);
        let places = self.symbols.get(name).map(Vec::as_slice).unwrap_or_default();
        let inside = |place: &Place| {
            let at = place.1 + offset;
            self.unknown.iter().any(|(section, range)| *section == place.0 && range.contains(&at))
        };
        places.iter().any(inside)
    }

    /// Whether an instruction begins there; for namesakes, in one of them.
    fn has(&self, caller: &str, offset: u64) -> bool {
        let name = caller.split_once('#').map_or(caller, |(name, _)| name);
        let places = self.symbols.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().any(|(section, address)| self.instructions.contains(&(*section, address + offset)))
    }
}

fn lines(path: &Path, what: &str, mut each: impl FnMut(&str)) {
    let mut objdump = Command::new(binutils::tool("objdump", path))
        .args([what, "--no-show-raw-insn"])
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("objdump");
    let mut reader = BufReader::with_capacity(1 << 20, objdump.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while reader.read_line(&mut line).expect("text") > 0 {
        each(line.trim_end());
        line.clear();
    }
    assert!(objdump.wait().expect("objdump").success());
}

/// Returns `KINST_SWEEP_KERNEL`, or 6.1.
fn sysroot() -> Option<PathBuf> {
    let name = std::env::var("KINST_SWEEP_KERNEL").unwrap_or_else(|_| "6.1".to_owned());
    needs::kernel(&name)
}

/// Returns the file of a module with its code; a compressed one is unpacked to `to`.
fn file_of(root: &Path, release: &str, module: &str, to: &Path) -> Option<PathBuf> {
    if module == "vmlinux" {
        return Some(root.join(format!("usr/lib/debug/boot/vmlinux-{release}")));
    }
    fn find(dir: &Path, module: &str) -> Option<PathBuf> {
        std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
            if path.is_dir() {
                return find(&path, module);
            }
            let name = path.file_name()?.to_str()?;
            let name = name.strip_suffix(".xz").unwrap_or(name).strip_suffix(".ko")?.replace('-', "_");
            (name == module).then_some(path)
        })
    }
    let path = find(&root.join("lib/modules").join(release), module)?;
    if path.extension().is_some_and(|extension| extension == "ko") {
        return Some(path);
    }
    let unpacked = to.join(format!("{module}.ko"));
    let written = std::fs::File::create(&unpacked).expect("a file");
    let status = Command::new("xz").arg("-dc").arg(path).stdout(written).status();
    assert!(status.expect("xz").success());
    Some(unpacked)
}

#[derive(Debug, Default)]
struct Counts {
    names: usize,
    entries: usize,
    returns: usize,
    edges: usize,
    out_of_line: usize,
    /// Sites in code that objdump cannot read.
    unknown: usize,
    /// Functions that cannot be traced at all, by the first words of the reason.
    without: BTreeMap<String, usize>,
}

#[test]
fn every_inlined_function_is_answered_with_instructions() {
    let Some(root) = sysroot() else { return };
    let cache = tempfile::tempdir().expect("a directory");
    let kernel =
        Kernel::sysroot(&root, None).expect("a kernel").with_cache(Some(Cache::at(cache.path())), None);
    let kernel = Arc::new(kernel);
    let modules: Vec<String> = kernel.modules().iter().map(|(_, module)| module.name.clone()).collect();
    let step = (modules.len() / MODULES).max(1);
    let mut chosen = vec!["vmlinux".to_owned()];
    chosen.extend(modules.iter().skip(1).step_by(step).take(MODULES).cloned());
    let (mut kernel_proper, mut of_modules) = (Counts::default(), Counts::default());
    let mut wrong = Vec::new();
    for module in &chosen {
        let unpacked = tempfile::tempdir().expect("a directory");
        let Some(file) = file_of(&root, kernel.release(), module, unpacked.path()) else { continue };
        let disassembly = std::thread::spawn(move || Disassembly::of(&file));
        let found = every_site(&kernel, module);
        let disassembly = disassembly.join().expect("objdump");
        let counts = if module == "vmlinux" { &mut kernel_proper } else { &mut of_modules };
        for (function, boundary, sites) in found {
            count(counts, module, &function, boundary, &sites, &disassembly, &mut wrong);
        }
    }
    println!("vmlinux: {kernel_proper:#?}\n{} modules: {of_modules:#?}", chosen.len() - 1);
    assert!(
        wrong.is_empty(),
        "{} sites are wrong, among them {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    assert!(kernel_proper.entries > 100_000 && of_modules.entries > 1000);
}

type Answer = (String, Boundary, Result<Vec<FunctionSites>, String>);

fn every_site(kernel: &Arc<Kernel>, module: &str) -> Vec<Answer> {
    let names = kernel.inlined_functions(module);
    let probe = |function: &String| InlineProbe { module: module.to_owned(), function: function.clone() };
    let index = DwarfIndex::new(kernel.clone(), names.iter().map(probe));
    let asked = names.iter().flat_map(|name| [(name, Boundary::Entry), (name, Boundary::Return)]);
    let answer =
        |name: &String, boundary| index.inline_sites(module, name, boundary).map_err(|error| error.title);
    asked.map(|(name, boundary)| (name.clone(), boundary, answer(name, boundary))).collect()
}

fn count(
    counts: &mut Counts,
    module: &str,
    function: &str,
    boundary: Boundary,
    answer: &Result<Vec<FunctionSites>, String>,
    disassembly: &Disassembly,
    wrong: &mut Vec<String>,
) {
    let is_entry = boundary == Boundary::Entry;
    counts.names += usize::from(is_entry);
    let sites = match answer {
        Ok(found) => {
            counts.out_of_line +=
                found.iter().map(|found| found.out_of_line.len()).sum::<usize>() * usize::from(is_entry);
            found.iter().flat_map(|found| &found.sites)
        }
        Err(title) => {
            let why = if title.ends_with(" has no code") {
                "no call was compiled"
            } else if title.starts_with("none of the") {
                "no copy can be traced"
            } else {
                wrong.push(format!("{module}: {function}: {title}"));
                return;
            };
            *counts.without.entry(why.to_owned()).or_default() += usize::from(is_entry);
            return;
        }
    };
    for FoundSite { site, .. } in sites {
        *(if is_entry { &mut counts.entries } else { &mut counts.returns }) += 1;
        let mut right = disassembly.has(&site.function, site.offset);
        if let Some(to) = &site.to {
            counts.edges += 1;
            right &= disassembly.has(to.function.as_deref().unwrap_or(&site.function), to.offset);
        }
        if !right && disassembly.is_unknown(&site.function, site.offset) {
            counts.unknown += 1;
        } else if !right {
            wrong.push(format!("{module}: {function} {boundary:?}: {}:{}", site.function, site.name()));
        }
    }
}
