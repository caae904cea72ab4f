//! tests/oracle/vmlinux.rs: a kernel's inlined copies, compared with `perf probe -D` and `objdump -d`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rayon::prelude::*;

use kinst::debuginfo::{CodeSymbol, ElfFile, bootable};
use kinst::dwarf::{self, DebugInfo, InlineCopy};
use kinst::image::ModuleId;
use kinst::machine::Machine;
use kinst::probe::Description;
use kinst::sites::{Boundary, Catalog, DwarfIndex, InlineProbe, Kernel, ProbeCatalog, SiteIndex};

use crate::binutils;
use crate::needs;
use crate::numbers::Random;

/// From one copy to more than two thousand.
const FUNCTIONS: [&str; 20] = [
    "rw_verify_area",
    "mmget_not_zero",
    "file_start_write",
    "fsnotify_access",
    "fsnotify_modify",
    "fput_light",
    "fdget_pos",
    "vma_pages",
    "path_put",
    "get_page_unless_zero",
    "dget",
    "get_page",
    "page_zone",
    "cpu_to_node",
    "i_size_read",
    "put_page",
    "file_inode",
    "list_del",
    "kmalloc",
    "spin_lock",
];

/// A vmlinux, and its debug information on the functions: one walk for all tests.
struct Subject {
    path: PathBuf,
    copies: BTreeMap<String, Vec<InlineCopy>>,
}

fn subject() -> Option<&'static Subject> {
    static SUBJECT: OnceLock<Subject> = OnceLock::new();
    let path = vmlinux()?;
    Some(SUBJECT.get_or_init(|| {
        let image = ElfFile::open(&path).expect("a vmlinux");
        let wanted = FUNCTIONS.map(str::to_owned);
        let findings = dwarf::find(&image, &wanted, false).expect("debug information");
        assert_eq!(findings.damaged, Vec::<String>::new());
        let copies = FUNCTIONS.into_iter().map(str::to_owned).zip(findings.functions);
        let copies = copies.map(|(name, function)| (name, function.copies)).collect();
        Subject { path, copies }
    }))
}

/// Returns `KINST_PERF_SAMPLE` more functions to compare with perf, spread over all names; perf takes a second each.
fn sample(vmlinux: &Path) -> BTreeMap<String, Vec<InlineCopy>> {
    let count = std::env::var("KINST_PERF_SAMPLE").ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    if count == 0 {
        return BTreeMap::new();
    }
    let image = ElfFile::open(vmlinux).expect("a vmlinux");
    let found = dwarf::find_all(&image, &|_| true).expect("debug information").functions;
    let inlined: Vec<_> = found.into_iter().filter(|(_, function)| !function.copies.is_empty()).collect();
    let step = (inlined.len() / count).max(1);
    let sample = inlined.into_iter().step_by(step).take(count);
    sample.map(|(name, function)| (name, function.copies)).collect()
}

/// Returns `KINST_VMLINUX`, or the vmlinux of 6.1.
fn vmlinux() -> Option<PathBuf> {
    let given = std::env::var_os("KINST_VMLINUX").map(PathBuf::from);
    given.or_else(|| needs::vmlinux(&needs::linux_6_1()?))
}

/// Returns the addresses of all symbols, by name.
fn symbols(vmlinux: &Path) -> BTreeMap<String, Vec<u64>> {
    let output = Command::new(binutils::tool("nm", vmlinux)).arg(vmlinux).output().expect("nm");
    let mut symbols: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [address, _, name] = fields[..]
            && let Ok(address) = u64::from_str_radix(address, 16)
        {
            symbols.entry(name.to_owned()).or_default().push(address);
        }
    }
    symbols
}

/// Returns the places of perf's probes: the number of lines for each `symbol+offset`. `None` without perf.
fn perf(vmlinux: &Path, function: &str) -> Option<BTreeMap<(String, u64), usize>> {
    let arguments = ["probe", "-k", vmlinux.to_str()?, "--max-probes", "100000", "-D", function];
    let output = Command::new("perf").args(arguments).output().ok()?;
    let mut lines = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let place = line.split_ascii_whitespace().nth(1)?;
        let (symbol, offset) = place.split_once('+').unwrap_or((place, "0"));
        *lines.entry((symbol.to_owned(), offset.parse().ok()?)).or_insert(0) += 1;
    }
    Some(lines)
}

/// Whether the symbol is the function's name, or the name of a clone of the whole function.
fn is_instance(symbol: &str, function: &str) -> bool {
    let suffix = symbol.strip_prefix(function);
    suffix.is_some_and(|suffix| {
        ["", ".isra.", ".constprop."].iter().any(|clone| match *clone {
            "" => suffix.is_empty(),
            clone => suffix.starts_with(clone) && !suffix.contains(".part.") && !suffix.contains(".cold"),
        })
    })
}

fn is_part(symbol: &str, function: &str) -> bool {
    symbol
        .strip_prefix(function)
        .is_some_and(|suffix| suffix.starts_with(".part.") || suffix.contains(".cold"))
}

/// Returns the addresses that a line of perf may mean: of the symbol and of its clones, since perf uses the function's
/// name in the debug information.
fn places(symbols: &BTreeMap<String, Vec<u64>>, symbol: &str, offset: u64) -> [BTreeSet<u64>; 2] {
    let range = symbols.range(symbol.to_owned()..).take_while(|(name, _)| name.starts_with(symbol));
    let at = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<u64> {
        let of_name = range.clone().filter(|(name, _)| wanted(name));
        of_name.flat_map(|(_, addresses)| addresses.iter().map(|address| address + offset)).collect()
    };
    [at(&|name| name == symbol), at(&|name| name != symbol && is_instance(name, symbol))]
}

/// Why one side has a place that the other does not have, or names it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// perf also lists the out-of-line function, which fbt serves.
    OutOfLine,
    /// Functions of one name: perf has the same line for each.
    Namesakes,
    /// perf begins at another instruction of the copy than its DW_AT_entry_pc.
    ElsewhereInCopy,
    /// Several copies begin at one address.
    SameAddress,
    /// perf also lists the split-off part of a function (`f.part.0`), where no call begins.
    Part,
    /// In a weak function that another definition has replaced: its code exists, but nothing calls it. perf prints
    /// its name, and so would probe the namesake; we make no site.
    Replaced,
    /// A call by a macro on the line that defines the function: perf mistakes it for the function itself.
    OnItsLine,
    /// perf does not make an event for the function: its name is too long, or perf refuses it.
    PerfRefuses,
}

impl Class {
    fn text(self) -> &'static str {
        match self {
            Class::OutOfLine => "the out-of-line function (fbt)",
            Class::Namesakes => "namesakes with the same line",
            Class::ElsewhereInCopy => "elsewhere in the copy",
            Class::SameAddress => "copies at one address",
            Class::Part => "a cut-off part",
            Class::Replaced => "in a replaced weak function (we make no site)",
            Class::OnItsLine => "called on the line of its definition",
            Class::PerfRefuses => "perf makes no event",
        }
    }
}

/// The results for one function of the table.
#[derive(Default)]
struct Comparison {
    /// The number of addresses.
    ours: usize,
    /// The number of distinct lines, and of all.
    perf: usize,
    perf_lines: usize,
    common: usize,
    only_ours: BTreeMap<Class, usize>,
    only_perf: BTreeMap<Class, usize>,
    unexplained: Vec<String>,
}

/// The data needed to explain a difference.
struct Reasons<'i> {
    info: DebugInfo<'i>,
    /// The ranges of functions as pairs of start and end, sorted by address.
    functions: Vec<(u64, u64)>,
    is_aarch64: bool,
}

impl Reasons<'_> {
    fn of(image: &ElfFile) -> Reasons<'_> {
        let mut functions = Vec::new();
        let function =
            |symbol: CodeSymbol<'_>| functions.push((symbol.address, symbol.address + symbol.size));
        image.for_each_code_symbol(function).expect("symbols");
        functions.sort_unstable();
        let is_aarch64 = image.machine() == Some(Machine::Aarch64);
        Reasons { info: DebugInfo::open(image).expect("debug information"), functions, is_aarch64 }
    }

    /// Returns the function and offset of a copy that is in no function of the symbol table.
    fn replaced(&self, copy: &InlineCopy) -> Option<(String, u64)> {
        let after = self.functions.partition_point(|(from, _)| *from <= copy.entry_pc);
        if self.functions[..after].iter().rev().take(9).any(|(_, to)| copy.entry_pc < *to) {
            return None;
        }
        let body = self.info.body_at(copy.entry_pc).expect("a function")?;
        Some((body.function().name.clone(), copy.entry_pc - body.function().entries.first()?))
    }

    fn is_on_its_line(&self, copy: &InlineCopy) -> bool {
        let Some(body) = self.info.body_at(copy.entry_pc).expect("a function") else { return false };
        let Some(frame) = body.frames().find(|frame| frame.die == copy.die) else { return false };
        let definition = self.info.definition(frame.origin).expect("a definition");
        frame.call.as_ref().is_some_and(|call| call.line == definition.line && call.file == definition.file)
    }
}

/// Compares every line of perf and every copy: each is common, has a class, or is unexplained.
fn compare(
    function: &str,
    copies: &[InlineCopy],
    perf: &BTreeMap<(String, u64), usize>,
    symbols: &BTreeMap<String, Vec<u64>>,
    reasons: &Reasons<'_>,
) -> Comparison {
    let addresses: BTreeSet<u64> = copies.iter().map(|copy| copy.entry_pc).collect();
    let mut comparison = Comparison {
        ours: addresses.len(),
        perf: perf.len(),
        perf_lines: perf.values().sum(),
        ..Comparison::default()
    };
    let mut left = addresses.clone();
    let mut unmatched = Vec::new();
    for ((symbol, offset), lines) in perf {
        // The exact name first; a clone's symbol only if that is not one of our places.
        let (places, found) = places(symbols, symbol, *offset)
            .map(|places| {
                let found: Vec<u64> = places.intersection(&left).copied().collect();
                (places, found)
            })
            .into_iter()
            .reduce(|exact, clones| if exact.1.is_empty() && !clones.1.is_empty() { clones } else { exact })
            .expect("two tries");
        for place in &found {
            left.remove(place);
        }
        // One address of a line counts as common; the others are namesakes that perf's output does not distinguish.
        comparison.common += usize::from(!found.is_empty());
        if found.len() > *lines {
            comparison.unexplained.push(format!("{} of our places are {symbol}+{offset}", found.len()));
        } else if found.len() > 1 {
            *comparison.only_ours.entry(Class::Namesakes).or_default() += found.len() - 1;
        }
        // gcc 12 begins an arm64 function after the space for ftrace.
        let is_start = *offset == 0 || *offset == 8 && reasons.is_aarch64;
        if found.is_empty() && is_start && is_instance(symbol, function) && !places.is_empty() {
            *comparison.only_perf.entry(Class::OutOfLine).or_default() += 1;
        } else if found.is_empty() && *offset == 0 && is_part(symbol, function) {
            *comparison.only_perf.entry(Class::Part).or_default() += 1;
        } else if found.is_empty() {
            unmatched.push((symbol, offset, places));
        }
    }
    for copy in copies {
        if let Some((function, offset)) = reasons.replaced(copy).filter(|_| left.contains(&copy.entry_pc))
            && let Some(at) =
                unmatched.iter().position(|(symbol, at, _)| **symbol == function && **at == offset)
        {
            unmatched.remove(at);
            left.remove(&copy.entry_pc);
            *comparison.only_ours.entry(Class::Replaced).or_default() += 1;
            *comparison.only_perf.entry(Class::Replaced).or_default() += 1;
        }
    }
    // The remaining ones on both sides may be the same copy, with its beginning at different instructions.
    for (symbol, offset, places) in unmatched {
        let inside = |copy: &&InlineCopy| {
            left.contains(&copy.entry_pc)
                && copy.ranges.iter().any(|range| places.iter().any(|place| range.contains(place)))
        };
        match copies.iter().find(inside) {
            Some(copy) => {
                left.remove(&copy.entry_pc);
                *comparison.only_ours.entry(Class::ElsewhereInCopy).or_default() += 1;
                *comparison.only_perf.entry(Class::ElsewhereInCopy).or_default() += 1;
            }
            None => comparison.unexplained.push(format!("only perf has {symbol}+{offset}")),
        }
    }
    if perf.is_empty() {
        comparison.only_ours.insert(Class::PerfRefuses, std::mem::take(&mut left).len());
    }
    for copy in copies {
        if left.contains(&copy.entry_pc) && reasons.is_on_its_line(copy) {
            left.remove(&copy.entry_pc);
            *comparison.only_ours.entry(Class::OnItsLine).or_default() += 1;
        }
    }
    comparison.unexplained.extend(left.iter().map(|address| format!("only our places have {address:#x}")));
    if copies.len() > addresses.len() {
        comparison.only_ours.insert(Class::SameAddress, copies.len() - addresses.len());
    }
    comparison
}

fn classes(classes: &BTreeMap<Class, usize>) -> String {
    let texts: Vec<String> =
        classes.iter().map(|(class, count)| format!("{count} {}", class.text())).collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(", ") }
}

#[test]
fn the_copies_are_those_of_perf() {
    let (Some(subject), true) = (subject(), needs::program("perf")) else { return };
    let symbols = symbols(&subject.path);
    let mut table = String::from(
        "| function | copies | our addresses | perf (sort -u) | perf (lines) | common | only ours | only perf |\n|---|--:|--:|--:|--:|--:|---|---|\n",
    );
    let mut unexplained = Vec::new();
    let sample = sample(&subject.path);
    let image = ElfFile::open(&subject.path).expect("a vmlinux");
    let reasons = Reasons::of(&image);
    let all: Vec<(&String, &Vec<InlineCopy>)> = subject.copies.iter().chain(&sample).collect();
    let answers: Vec<_> =
        all.par_iter().map(|(function, _)| perf(&subject.path, function).expect("perf's answer")).collect();
    let mut sums = [BTreeMap::new(), BTreeMap::new()];
    let (mut ours, mut common) = (0, 0);
    for ((function, copies), perf) in all.into_iter().zip(answers) {
        let chosen = !sample.contains_key(function);
        assert!(
            !chosen || !copies.is_empty() && !perf.is_empty(),
            "{function} is not there: choose another one"
        );
        let row = compare(function, copies, &perf, &symbols, &reasons);
        writeln!(
            table,
            "| {function} | {} | {} | {} | {} | {} | {} | {} |",
            copies.len(),
            row.ours,
            row.perf,
            row.perf_lines,
            row.common,
            classes(&row.only_ours),
            classes(&row.only_perf)
        )
        .expect("text");
        ours += row.ours;
        common += row.common;
        for (sum, row) in sums.iter_mut().zip([&row.only_ours, &row.only_perf]) {
            row.iter().for_each(|(class, count)| *sum.entry(*class).or_default() += count);
        }
        unexplained.extend(row.unexplained.into_iter().map(|what| format!("{function}: {what}")));
    }
    writeln!(
        table,
        "| {} functions | | {ours} | | | {common} | {} | {} |",
        subject.copies.len() + sample.len(),
        classes(&sums[0]),
        classes(&sums[1])
    )
    .expect("text");
    println!("{table}");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-table.txt");
    std::fs::write(&path, &table).expect("a file");
    assert!(unexplained.is_empty(), "{unexplained:#?}");
}

/// Distributions pack the kernel in different formats.
#[test]
fn the_kernel_that_is_booted_tells_its_build_id() {
    for (_, root) in needs::kernels() {
        let vmlinux = needs::vmlinux(&root).expect("it is there");
        let name = vmlinux.file_name().expect("a name").to_str().expect("text");
        let booted = root.join("boot").join(name.replace("vmlinux", "vmlinuz"));
        let kernel = bootable::kernel(&booted);
        let id = kernel.as_ref().and_then(ElfFile::build_id);
        assert_eq!(id, ElfFile::open(&vmlinux).expect("a vmlinux").build_id(), "{}", booted.display());
        assert!(id.is_some());
        println!("{}: {}", booted.display(), id.expect("an id"));
    }
}

#[test]
fn every_entry_is_an_instruction_of_objdump() {
    let Some(subject) = subject() else { return };
    let mut wanted: HashSet<u64> = subject.copies.values().flatten().map(|copy| copy.entry_pc).collect();
    let all = wanted.len();
    let mut objdump = Command::new(binutils::tool("objdump", &subject.path))
        .args(["-d", "--no-show-raw-insn"])
        .arg(&subject.path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("objdump");
    let mut lines = BufReader::with_capacity(1 << 20, objdump.stdout.take().expect("a pipe"));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).expect("lines") > 0 {
        // `ffffffff81000000:\t…` is an instruction, `ffffffff81000000 <…>:` a symbol.
        if line.get(16) == Some(&b':')
            && let Ok(address) = std::str::from_utf8(&line[..16])
        {
            wanted.remove(&u64::from_str_radix(address, 16).expect("an address"));
        }
        line.clear();
    }
    assert!(objdump.wait().expect("objdump").success());
    assert!(wanted.is_empty(), "inside an instruction: {wanted:x?}");
    println!("{all} entries, all at the start of an instruction");
}

#[test]
fn every_site_is_a_probe_at_an_instruction() {
    let Some(subject) = subject() else { return };
    let Some(root) = subject.path.ancestors().nth(5).filter(|root| root.join("usr/lib/debug/boot").exists())
    else {
        return needs::missing("sysroot around vmlinux", "unset KINST_VMLINUX");
    };
    let kernel = Arc::new(Kernel::sysroot(root, None).expect("a kernel"));
    let wanted =
        FUNCTIONS.map(|function| InlineProbe { module: "vmlinux".to_owned(), function: function.to_owned() });
    let start = Instant::now();
    let index = DwarfIndex::new(kernel.clone(), wanted);
    let catalog = Catalog::new(kernel.clone(), None);
    let callers = kernel.callers(ModuleId::PROPER).expect("code");
    let marks = callers.marks();
    for function in FUNCTIONS {
        let addresses: BTreeSet<u64> =
            subject.copies[function].iter().flat_map(|copy| copy.entries.clone()).collect();
        // If the kernel rewrites the entry of a copy, other places substitute for it.
        let is_rewritten =
            |entry: &&u64| marks.patched.iter().any(|(start, end)| (*start..*end).contains(*entry));
        let rewritten = addresses.iter().filter(is_rewritten).count();
        for boundary in [Boundary::Entry, Boundary::Return] {
            let found = index.inline_sites("vmlinux", function, boundary).expect("sites");
            assert_eq!(found.len(), 1);
            let mut seen = BTreeSet::new();
            for found in &found[0].sites {
                let mut site = found.site.clone();
                if !found.module_needed {
                    site.module.clear();
                }
                let matches = |description| {
                    let probes = catalog.matches(&description);
                    probes.unwrap_or_else(|error| panic!("{site:?}: {} {:?}", error.title, error.notes))
                };
                let probes = matches(Description::Site(Box::new(site.clone())));
                // The name that -d prints for a site refers to the same probe.
                assert_eq!(probes, matches(Description::Fields(Box::new(site.fields()))));
                assert_eq!(probes.len(), 1, "{site:?} is not one place: {probes:?}");
                let address = probes[0].place.func().expect("an instruction") + site.offset;
                assert!(seen.insert((address, site.to.clone())), "{site:?} twice");
                assert!(
                    boundary == Boundary::Return || rewritten > 0 || addresses.contains(&address),
                    "{site:?} is elsewhere"
                );
            }
        }
    }
    println!("{} functions, entries and returns, every site a probe: {:?}", FUNCTIONS.len(), start.elapsed());
    kernel.take_remarks().iter().for_each(|remark| println!("{remark}"));
}

/// Returns a symbolizer's answer for each address: function and file:line, the innermost first.
fn symbolizer(command: &[&str], vmlinux: &Path, addresses: &[u64]) -> Vec<Vec<(String, String)>> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    std::fs::write(file.path(), text).expect("the addresses");
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg(vmlinux)
        .stdin(file.reopen().expect("the file again"))
        .output()
        .expect("the symbolizer");
    let mut answers: Vec<Vec<(String, String)>> = Vec::new();
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = output.lines().filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            answers.push(Vec::new());
        } else if let Some(answer) = answers.last_mut() {
            let place = lines.next().unwrap_or_default();
            // Both append `(discriminator 2)`.
            let place = place.split_once(" (").map_or(place, |(place, _)| place);
            answer.push((line.to_owned(), place.to_owned()));
        }
    }
    assert_eq!(answers.len(), addresses.len());
    answers
}

/// Returns our answer in the same format.
fn our_frames(info: &DebugInfo<'_>, address: u64) -> Vec<(String, String)> {
    let body = info.body_at(address).expect("frames");
    let lines = info.lines_at(address).expect("lines");
    let line = lines.as_ref().and_then(|lines| lines.at(address));
    let mut place = line.map_or("??:0".to_owned(), |line| format!("{}:{}", line.file, line.line));
    let mut answer = Vec::new();
    for frame in body.iter().flat_map(|body| body.at(address)) {
        let outside = frame.call.as_ref().map(|call| format!("{}:{}", call.file, call.line));
        answer.push((frame.name.clone(), std::mem::replace(&mut place, outside.unwrap_or_default())));
    }
    answer
}

/// Whether two places are the same; `??` and 0 of binutils are unknown parts.
fn same_place(theirs: &str, ours: &str) -> bool {
    let (Some((their_file, their_line)), Some((our_file, our_line))) =
        (theirs.rsplit_once(':'), ours.rsplit_once(':'))
    else {
        return false;
    };
    // In the space for ftrace before the first function of a unit, binutils has the symbol's file.
    if ours == "??:0" && their_line == "?" {
        return true;
    }
    let line = if their_line == "?" { "0" } else { their_line };
    line == our_line && their_file.ends_with(our_file.trim_start_matches("../"))
}

#[test]
fn frames_and_lines_are_those_of_addr2line() {
    let Some(subject) = subject() else { return };
    let image = ElfFile::open(&subject.path).expect("a vmlinux");
    let info = DebugInfo::open(&image).expect("debug information");
    let mut generator = Random(1);
    let mut random = move |below: u64| generator.next() % below;
    let mut functions = Vec::new();
    let function = |symbol: CodeSymbol<'_>| functions.push((symbol.address, symbol.size));
    image.for_each_code_symbol(function).expect("symbols");
    functions.retain(|(_, size)| *size > 0);
    let mut addresses: Vec<u64> = (0..6000)
        .map(|_| {
            let (address, size) = functions[random(functions.len() as u64) as usize];
            address + random(size)
        })
        .collect();
    addresses.extend(subject.copies.values().flatten().map(|copy| copy.entry_pc).take(3000));
    let addr2line = binutils::tool("addr2line", &subject.path);
    let mut theirs = symbolizer(&[&addr2line, "-a", "-i", "-f", "-e"], &subject.path, &addresses);
    // In the space for ftrace both have the symbol's name, with a prefix in parts that run outside the kernel.
    let of_source = |name: &mut String| {
        if image.machine() == Some(Machine::Aarch64) {
            let prefix = ["__efistub_", "__kvm_nvhe_"].iter().find_map(|prefix| name.strip_prefix(prefix));
            let plain = prefix.unwrap_or(name);
            *name = plain.split('.').next().unwrap_or_default().to_owned();
        }
    };
    theirs.iter_mut().flatten().for_each(|(name, _)| of_source(name));
    let (mut frames, mut deepest, mut nameless, mut different) = (0, 0, 0, Vec::new());
    for (address, theirs) in addresses.iter().zip(theirs) {
        let ours = our_frames(&info, *address);
        frames += ours.len();
        deepest = deepest.max(ours.len());
        // Assembly, and functions that the compiler merged with identical ones, have a symbol and lines, but
        // no DWARF entry; binutils uses the symbol.
        if ours.is_empty() && theirs.len() == 1 {
            nameless += 1;
        } else if !are_same(&ours, &theirs) {
            different.push((*address, ours, theirs));
        }
    }
    // If the line belongs to an inlined macro or header, binutils may name the unit's file.
    let asked: Vec<u64> = different.iter().map(|(address, ..)| *address).collect();
    let llvm = ["llvm-symbolizer", "--addresses", "--inlines", "--output-style=GNU", "-e"];
    let mut second = symbolizer(&llvm, &subject.path, &asked);
    // It uses the symbol for the part of a function that the compiler moved away.
    for (name, _) in second.iter_mut().flatten() {
        name.truncate(name.strip_suffix(".cold").map_or(name.len(), str::len));
        of_source(name);
    }
    let explained = |ours: &[(String, String)], theirs: &[(String, String)]| {
        let lines = |frames: &[(String, String)]| -> Vec<String> {
            frames
                .iter()
                .map(|(name, place)| format!("{name}{}", place.rsplit(':').next().unwrap_or("")))
                .collect()
        };
        lines(ours) == lines(theirs)
    };
    let unexplained: Vec<_> = different
        .iter()
        .zip(&second)
        .filter(|((_, ours, theirs), second)| !(are_same(ours, second) && explained(ours, theirs)))
        .collect();
    println!(
        "{} addresses, {frames} frames, at most {deepest} deep; {nameless} in code without an entry; \
         {} where binutils names another file than llvm-symbolizer and we",
        addresses.len(),
        different.len() - unexplained.len()
    );
    assert!(
        unexplained.is_empty(),
        "{} differ: {:#?}",
        unexplained.len(),
        &unexplained[..unexplained.len().min(9)]
    );
}

fn are_same(ours: &[(String, String)], theirs: &[(String, String)]) -> bool {
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(our, their)| our.0 == their.0 && same_place(&their.1, &our.1))
}
