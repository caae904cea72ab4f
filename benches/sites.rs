//! benches/sites.rs: the time to find inlined copies of a function, compared with perf and a plain walk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gimli::{AttributeValue, EndianSlice, LittleEndian};
use kinst::debuginfo::ElfFile;
use kinst::sites::listing::frames::Frames;
use kinst::sites::{Boundary, DwarfIndex, Kernel, SiteIndex};

/// Functions with an increasing number of copies.
const FUNCTIONS: [&str; 5] = ["rw_verify_area", "get_page", "fdget_pos", "list_del", "kmalloc"];

/// The number of functions in one query.
const MANY: usize = 100;

const ROUNDS: usize = 5;

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if filter.is_some_and(|filter| !"sites".contains(filter.as_str())) {
        return;
    }
    let Some(vmlinux) = std::env::var_os("KINST_BENCH_SYSROOT").and_then(|root| vmlinux(Path::new(&root)))
    else {
        return println!("sites: skipped, no vmlinux (cargo xtask setup)");
    };
    let dir = tempfile::tempdir().expect("a directory");
    let bench = Bench { root: sysroot(dir.path(), &vmlinux), cache: dir.path().join("cache"), vmlinux };
    bench.index();
    bench.functions();
    bench.frames();
}

struct Bench {
    /// A sysroot with only the vmlinux, which is all that perf gets.
    root: PathBuf,
    cache: PathBuf,
    vmlinux: PathBuf,
}

impl Bench {
    fn dtrace(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
        command.arg("--sysroot").arg(&self.root).args(arguments).env("XDG_CACHE_HOME", &self.cache);
        command
    }

    fn index(&self) {
        println!("{:<44} {:>10}   aim", "index", "");
        let (mut times, mut peak) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let _ = std::fs::remove_dir_all(&self.cache);
            let (time, memory) = measured(&mut self.dtrace(&["--index"]));
            times.push(time);
            peak = peak.max(memory);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let made = milliseconds(median(times));
        println!("{:<44} {made:>10}   under 1.5 s on two cores", format!("made by {cores} cores"));
        println!("{:<44} {:>7} MB   under 400 MB", "peak memory (VmHWM, sampled every 2 ms)", peak / 1000);
        let kept = std::fs::read_dir(self.cache.join("kinst/index")).expect("indices").flatten();
        let size: u64 = kept.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum();
        println!("{:<44} {:>7.1} MB   under 12 MB", "on disk", size as f64 / 1e6);
    }

    fn functions(&self) {
        let perf = Command::new("perf").arg("--version").stdout(Stdio::null()).status().is_ok();
        println!();
        println!(
            "{:<16} {:>7} {:>10} {:>10} {:>10} {:>10}   cold/perf",
            "function", "copies", "warm", "cold", "perf", "gimli"
        );
        for function in FUNCTIONS {
            let probe = format!("kinst::{function}:entry");
            let run = ["-d", "-e", "-n", &probe];
            let warm = of_rounds(|| timed(&mut self.dtrace(&run)));
            let cold = of_rounds(|| timed(self.dtrace(&run).arg("--no-cache")));
            let perf = perf.then(|| of_rounds(|| timed(&mut self.perf(function))));
            let mut copies = 0;
            let walk = of_rounds(|| {
                let start = Instant::now();
                copies = plain_walk(&self.vmlinux, function);
                start.elapsed()
            });
            let ratio = perf.map_or("no perf".to_owned(), |perf| {
                format!("{:.2} (aim: 0.50)", cold.as_secs_f64() / perf.as_secs_f64())
            });
            println!(
                "{function:<16} {copies:>7} {:>10} {:>10} {:>10} {:>10}   {ratio}",
                milliseconds(warm),
                milliseconds(cold),
                perf.map_or("-".to_owned(), milliseconds),
                milliseconds(walk),
            );
        }
        let probes: Vec<String> =
            self.some_functions().iter().map(|name| format!("kinst::{name}:entry")).collect();
        let list = probes.join(", ");
        let many = of_rounds(|| timed(&mut self.dtrace(&["-d", "-e", "-n", &list])));
        println!(
            "{:<16} {:>18} (aim: under 50 ms; one: under 10 ms)",
            format!("{} functions", probes.len()),
            milliseconds(many)
        );
    }

    /// The functions, including inlined ones, at addresses in different functions, as in stacks.
    fn frames(&self) {
        const ADDRESSES: usize = 1000;
        let kernel = Kernel::sysroot(&self.root, None).expect("a kernel");
        let image = ElfFile::open(&self.vmlinux).expect("a vmlinux");
        let mut addresses = Vec::new();
        let each = image.for_each_code_symbol(|symbol| addresses.push(symbol.address + symbol.size / 2));
        each.expect("symbols");
        let step = addresses.len() / ADDRESSES;
        let addresses: Vec<u64> = addresses.into_iter().step_by(step).take(ADDRESSES).collect();
        println!();
        for lines in [false, true] {
            let with = if lines { ", with lines" } else { "" };
            let mut frames = Frames::new(&kernel);
            let mut named = 0;
            for state in ["first", "again"] {
                let start = Instant::now();
                named = addresses.iter().map(|address| frames.at(*address, lines).len()).sum();
                let time = milliseconds(start.elapsed());
                println!(
                    "{:<44} {time:>10}   again: under 10 ms",
                    format!("{ADDRESSES} addresses named{with}, {state}")
                );
            }
            println!("{:<44} {named:>10}", "functions at them, including inlined");
        }
    }

    fn perf(&self, function: &str) -> Command {
        let mut command = Command::new("perf");
        command.arg("probe").arg("-k").arg(&self.vmlinux).args([
            "-q",
            "--max-probes",
            "100000",
            "-D",
            function,
        ]);
        command
    }

    /// Returns the names of some inlined functions, spread over all of them.
    fn some_functions(&self) -> Vec<String> {
        let image = ElfFile::open(&self.vmlinux).expect("a vmlinux");
        let found = kinst::dwarf::find_all(&image, &|_| true).expect("debug information");
        let inlined: Vec<String> = found
            .functions
            .into_iter()
            .filter(|(name, function)| !function.copies.is_empty() && !name.starts_with("__"))
            .map(|(name, _)| name)
            .collect();
        let kernel = Arc::new(Kernel::sysroot(&self.root, None).expect("a kernel"));
        let index = DwarfIndex::new(kernel, []);
        let can_be_traced = |name: &String| index.inline_sites("", name, Boundary::Entry).is_ok();
        inlined.into_iter().step_by(251).filter(can_be_traced).take(MANY).collect()
    }
}

/// Visits every entry of every unit, on one core; a copy counts if its function has the name.
fn plain_walk(vmlinux: &Path, function: &str) -> usize {
    let image = ElfFile::open(vmlinux).expect("a vmlinux");
    let sections = gimli::DwarfSections::load(|id| image.debug_section(id.name())).expect("sections");
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut copies = 0;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let unit = dwarf.unit(header).expect("a unit");
        let (mut named, mut origins) = (HashSet::new(), Vec::new());
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    if let Some(value) = entry.attr_value(gimli::DW_AT_name)
                        && dwarf
                            .attr_string(&unit, value)
                            .is_ok_and(|name| name.slice() == function.as_bytes())
                    {
                        named.insert(entry.offset());
                    }
                }
                gimli::DW_TAG_inlined_subroutine => {
                    if let Some(AttributeValue::UnitRef(origin)) =
                        entry.attr_value(gimli::DW_AT_abstract_origin)
                    {
                        origins.push(origin);
                    }
                }
                _ => {}
            }
        }
        copies += origins.iter().filter(|origin| named.contains(origin)).count();
    }
    copies
}

fn vmlinux(root: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(root.join("usr/lib/debug/boot")).ok()?.flatten();
    let mut paths = files.map(|file| file.path());
    paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinux-")))
}

fn sysroot(dir: &Path, vmlinux: &Path) -> PathBuf {
    let root = dir.join("root");
    let boot = root.join("usr/lib/debug/boot");
    std::fs::create_dir_all(&boot).expect("directories");
    std::os::unix::fs::symlink(vmlinux, boot.join(vmlinux.file_name().expect("a name"))).expect("a link");
    root
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.stderr(Stdio::null()).output().expect("a command");
    let time = start.elapsed();
    assert!(output.status.success(), "{command:?}");
    time
}

/// Returns the run time, and the peak memory in kilobytes.
fn measured(command: &mut Command) -> (Duration, u64) {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().expect("a command");
    let mut peak = 0;
    let status = format!("/proc/{}/status", child.id());
    while child.try_wait().expect("its state").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let size = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(size.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    (start.elapsed(), peak)
}

fn of_rounds(mut round: impl FnMut() -> Duration) -> Duration {
    median((0..ROUNDS).map(|_| round()).collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
