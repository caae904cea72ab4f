//! tests/oracle/disas.rs: `dtrace --disas` and source lines, compared with objdump, addr2line and readelf, and their errors.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;

use kinst::probe::Description;
use kinst::sites::listing::about::Answers;
use kinst::sites::{Boundary, Catalog, DwarfIndex, FoundSite, ProbeCatalog as _, SiteIndex as _};

use crate::needs;
use crate::snapshot;

fn support(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A sysroot with a vmlinux built from these sources.
struct Kernel {
    dir: tempfile::TempDir,
    vmlinux: PathBuf,
}

impl Kernel {
    fn new(arguments: &[&str]) -> Kernel {
        let dir = tempfile::tempdir().expect("a directory");
        let vmlinux = dir.path().join("usr/lib/debug/boot/vmlinux-6.6.6");
        std::fs::create_dir_all(vmlinux.parent().expect("a parent")).expect("directories");
        let fixed = ["-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x1000000", "-Wl,--build-id", "-o"];
        run("gcc", &[&fixed[..], &[vmlinux.to_str().expect("UTF-8")], arguments].concat());
        Kernel { dir, vmlinux }
    }

    /// Returns standard output, or with status 1 standard error.
    fn dtrace(&self, arguments: &[&str]) -> Result<String, String> {
        let sysroot = self.dir.path().to_str().expect("UTF-8");
        let output = Command::new(env!("CARGO_BIN_EXE_dtrace"))
            .args(["--no-cache", "-xnolibs", "--sysroot", sysroot])
            .args(arguments)
            .env("NO_COLOR", "1")
            .output()
            .expect("dtrace");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        match output.status.code() {
            Some(0) => Ok(text(output.stdout)),
            code => {
                assert_eq!(code, Some(1));
                Err(text(output.stderr))
            }
        }
    }

    fn objects(&self, function: &str) -> Vec<Value> {
        let text = self.dtrace(&["--json", "--disas", function]).expect("instructions");
        text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
    }

    fn symbols(&self) -> BTreeMap<String, u64> {
        let text = run("nm", &[self.vmlinux.to_str().expect("UTF-8")]);
        let symbols = text.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            Some((fields.get(2)?.to_string(), u64::from_str_radix(fields[0], 16).ok()?))
        });
        symbols.collect()
    }

    /// Returns the instruction bytes by address.
    fn objdump(&self) -> BTreeMap<u64, String> {
        let text = run("objdump", &["-d", "-w", self.vmlinux.to_str().expect("UTF-8")]);
        let instructions = text.lines().filter_map(|line| {
            let mut fields = line.split('\t');
            let address = u64::from_str_radix(fields.next()?.trim().strip_suffix(':')?, 16).ok()?;
            Some((address, fields.next()?.replace(' ', "")))
        });
        instructions.collect()
    }
}

const SOURCE: &str = "\
extern void effect(int);
static inline __attribute__((always_inline)) int inner(int x)
{
    if (x > 3)
        effect(x);
    return x * 7;
}
static inline __attribute__((always_inline)) int outer(int *all, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += inner(all[i]);
        if (sum > 99)
            effect(sum);
    }
    return sum;
}
int first(int *all, int n)
{
    int sum = outer(all, n);

    effect(sum);
    return inner(sum) + 1;
}
int _start(int *all)
{
    return first(all, 3) + outer(all, 9);
}
void effect(int x)
{
    __asm__ volatile (\"\" :: \"r\"(x));
}
";

fn compiled() -> Kernel {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("lines.c");
    std::fs::write(&source, SOURCE).expect("a file");
    Kernel::new(&["-g", "-O2", "-fno-inline-functions", "-fno-ipa-icf", source.to_str().expect("UTF-8")])
}

#[test]
fn each_reason_has_its_instruction() {
    let kernel = Kernel::new(&["-g", &support("places.s")]);
    let mut text = String::new();
    for function in ["_start", "helper", "listed", "listed.cold", "exc_int3", "__SCT__tp", "quiet"] {
        text += &kernel.dtrace(&["--disas", function]).expect("instructions");
    }
    snapshot::settings("disas").bind(|| insta::assert_snapshot!("places", text));
}

#[test]
fn instructions_are_those_of_objdump_and_frames_those_of_addr2line() {
    let kernel = compiled();
    let objdump = kernel.objdump();
    let vmlinux = kernel.vmlinux.to_str().expect("UTF-8").to_owned();
    for function in ["first", "_start", "outer", "inner"] {
        let objects = kernel.objects(function);
        assert!(!objects.is_empty());
        for object in &objects {
            let address = address(object);
            assert_eq!(object["bytes"].as_str(), objdump.get(&address).map(String::as_str), "{object}");
            let theirs = run("addr2line", &["-i", "-f", "-e", &vmlinux, &format!("{address:#x}")]);
            let theirs: Vec<&str> = theirs.lines().collect();
            let frames = object["frames"].as_array().expect("frames");
            let names: Vec<&str> = frames.iter().filter_map(|frame| frame["function"].as_str()).collect();
            assert_eq!(names, theirs.iter().copied().step_by(2).collect::<Vec<_>>(), "{object}");
            let line = format!("lines.c:{}", object["line"].as_u64().unwrap_or(0));
            let place = theirs[1].split(" (").next().unwrap_or_default().replace(":?", ":0");
            assert!(place.ends_with(&line), "{object}: {place}");
            match function {
                "first" | "_start" => assert_eq!(object["copy"], Value::Null),
                _ => {
                    assert_eq!(object["copy"]["function"], function);
                    assert!(names.contains(&function), "{object}");
                }
            }
        }
        // For a function, all its own instructions are listed.
        if function == "first" {
            let start = kernel.symbols()["first"];
            let offsets: Vec<u64> = objects.iter().filter_map(|object| object["offset"].as_u64()).collect();
            let end = start + offsets.last().expect("the last one");
            let expected: Vec<u64> = objdump.range(start..=end).map(|(address, _)| address - start).collect();
            assert_eq!(offsets, expected);
        }
    }
}

/// A copy of `checked`, with an unlikely part that the compiler places elsewhere.
const SPLIT: &str = "\
extern void __attribute__((cold)) complain(int);
static inline __attribute__((always_inline)) int checked(int *at)
{
    if (*at < 0) {
        complain(*at);
        *at = 0;
        return 5;
    }
    *at += 3;
    return *at * 7;
}
int outside(int *at)
{
    return checked(at) + at[1];
}
int _start(int *all)
{
    return outside(all);
}
void complain(int x)
{
    __asm__ volatile (\"\" :: \"r\"(x));
}
";

/// Returns the addresses at which addr2line reports the function, inlined or not.
fn inside(vmlinux: &Path, function: &str, addresses: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut arguments = vec!["-aif".to_owned(), "-e".to_owned(), vmlinux.to_str().expect("UTF-8").to_owned()];
    arguments.extend(addresses.iter().map(|address| format!("{address:#x}")));
    let text = run("addr2line", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut found, mut address) = (BTreeSet::new(), 0);
    for line in text.lines() {
        match line.strip_prefix("0x") {
            Some(number) => address = u64::from_str_radix(number, 16).expect("an address"),
            None if line == function => drop(found.insert(address)),
            None => {}
        }
    }
    found
}

/// `"0x1000"`
fn address(object: &Value) -> u64 {
    let text = object["address"].as_str().and_then(|text| text.strip_prefix("0x")).expect("an address");
    u64::from_str_radix(text, 16).expect("a number")
}

fn addresses(objects: &[Value]) -> BTreeSet<u64> {
    objects.iter().map(address).collect()
}

#[test]
fn a_copy_is_listed_with_the_part_that_stands_elsewhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("split.c");
    std::fs::write(&source, SPLIT).expect("a file");
    let kernel = Kernel::new(&["-g", "-O2", "-fno-inline-functions", source.to_str().expect("UTF-8")]);
    let symbols = kernel.symbols();
    let all = kernel.objdump().into_keys().collect();
    let objects = kernel.objects("checked");
    assert_eq!(addresses(&objects), inside(&kernel.vmlinux, "checked", &all));
    for object in &objects {
        let place = symbols[object["function"].as_str().expect("a name")]
            + object["offset"].as_u64().expect("a number");
        assert_eq!(address(object), place, "{object}");
        assert_eq!(object["copy"]["in"], "outside", "{object}");
    }
    let functions: BTreeSet<_> = objects.iter().filter_map(|object| object["function"].as_str()).collect();
    assert_eq!(functions.into_iter().collect::<Vec<_>>(), ["outside", "outside.cold"]);
    let text = kernel.dtrace(&["--disas", "checked"]).expect("instructions");
    let entry = objects[0]["copy"]["entry"].as_u64().expect("a number");
    let inlined = format!("checked, {}:2, inlined in vmlinux:outside at offset {entry}", source.display());
    assert!(text.contains(&format!("{inlined}\n")), "{text}");
    assert!(text.contains(&format!("\n{inlined}: its part in vmlinux:outside.cold\n")), "{text}");
}

/// In a kernel: one copy, with instructions in four places of a function and in four of its cold part.
#[test]
fn a_copy_in_a_stock_kernel_is_listed_as_a_whole() {
    let Some(root) = needs::linux_6_1() else { return };
    let (vmlinux, root) =
        (needs::vmlinux(&root).expect("it is there"), root.to_str().expect("UTF-8").to_owned());
    let objects = |function: &str| -> Vec<Value> {
        let text = run(env!("CARGO_BIN_EXE_dtrace"), &["--sysroot", &root, "--json", "--disas", function]);
        text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
    };
    let around = ["load_module", "load_module.cold"].map(|function| addresses(&objects(function)));
    let listed = addresses(&objects("setup_load_info"));
    assert!(around.iter().all(|part| !part.is_disjoint(&listed)), "in both");
    let all = around.into_iter().flatten().collect();
    assert_eq!(listed, inside(&vmlinux, "setup_load_info", &all));
}

#[test]
fn names_of_functions() {
    let kernel = compiled();
    let whole = kernel.dtrace(&["--disas", "first"]).expect("instructions");
    assert!(whole.starts_with("vmlinux:first, "), "{whole}");
    for name in ["vmlinux:first", "vmlinux`first", "kinst:vmlinux:first", "kinst::first", "first#1"] {
        assert_eq!(kernel.dtrace(&["--disas", name]).as_ref(), Ok(&whole), "{name}");
    }
    let copies = kernel.dtrace(&["--disas", "outer"]).expect("copies");
    assert!(copies.contains("inlined in vmlinux:first at offset "), "{copies}");
    for (name, says) in [
        ("frist", "did you mean `first`?"),
        ("inn", "no function `inn`"),
        ("nowhere:first", "no module `nowhere`"),
        ("fir*", "`fir*` is not a function name"),
        ("vmlinux:", "a function name is expected"),
        ("first#2", "no function `first#2`"),
    ] {
        let said = kernel.dtrace(&["--disas", name]).expect_err("nothing");
        assert!(said.contains(says), "{name}: {said}");
    }
}

/// Returns the beginnings of statements in readelf's line table: addresses by line, ascending.
fn statements(vmlinux: &Path) -> BTreeMap<u64, Vec<u64>> {
    let text = run("readelf", &["--debug-dump=decodedline", vmlinux.to_str().expect("UTF-8")]);
    let mut statements: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [file, line, address, rest @ ..] = &fields[..]
            && file.ends_with("lines.c")
            && rest.last() == Some(&"x")
            && let (Ok(line), Ok(address)) =
                (line.parse(), u64::from_str_radix(address.trim_start_matches("0x"), 16))
        {
            statements.entry(line).or_default().push(address);
        }
    }
    statements.values_mut().for_each(|addresses| addresses.sort_unstable());
    statements
}

#[test]
fn a_line_is_where_its_statement_begins() {
    let kernel = compiled();
    let symbols = kernel.symbols();
    let statements = statements(&kernel.vmlinux);
    let sites = |probe: &str| -> Vec<u64> {
        let text = kernel.dtrace(&["-den", probe]).expect("sites");
        let lines = text.lines().filter_map(|line| line.trim_end_matches(',').strip_prefix("kinst::"));
        let site = |line: &str| {
            let (function, offset) = line.split_once(':').expect("two fields");
            symbols[function] + offset.parse::<u64>().expect("a number")
        };
        lines.map(site).collect()
    };
    // In the function itself: the first address of the line.
    for line in [19, 20, 22, 23] {
        let found = sites(&format!("kinst::first:L{line}"));
        let end = symbols["_start"].max(symbols["first"] + 1);
        let inside = statements.get(&line).and_then(|all| all.iter().find(|at| **at >= symbols["first"]));
        assert_eq!(found.first(), inside, "line {line}, first at {:#x} to {end:#x}", symbols["first"]);
        assert_eq!(found.len(), 1);
    }
    // In an inlined one: an address of this line in each copy.
    let entries = sites("kinst::outer:entry");
    for line in [10, 12, 13, 14] {
        let found = sites(&format!("kinst::outer:L{line}"));
        assert!(!found.is_empty() && found.len() <= entries.len(), "line {line}: {found:x?}");
        assert!(found.iter().all(|site| statements[&line].contains(site)), "line {line}: {found:x?}");
        assert_eq!(sites(&format!("kinst::outer:lines.c@{line}")), found);
    }
    // A line of a function inlined in it, by its file.
    let inner = sites("kinst::outer:lines.c@6");
    assert!(!inner.is_empty() && inner.iter().all(|site| statements[&6].contains(site)), "{inner:x?}");
    for (probe, says) in [
        ("kinst::first:L21", "the nearest lines with code are 20 and 22"),
        ("kinst::first:L6", "line 6 is outside of `first`"),
        ("kinst::first:L99", "line 99 is outside of `first`"),
        ("kinst::first:other.c@20", "the file `other.c` is not part of `first`"),
        ("kinst::first:nes.c@20", "the file `nes.c` is not part of `first`"),
        ("kinst::f*:L20", "`L20` needs the name of one function"),
        ("kinst::frist:L20", "did you mean `first`?"),
        ("kinst:nowhere:first:L20", "no module `nowhere`"),
    ] {
        let said = kernel.dtrace(&["-en", probe]).expect_err("no site");
        assert!(said.contains(says), "{probe}: {said}");
    }
}

#[test]
fn a_listing_says_where_a_site_is() {
    let kernel = compiled();
    let rows = kernel.dtrace(&["-ln", "kinst::inner:entry"]).expect("rows");
    assert!(rows.lines().count() > 2 && !rows.contains("Instruction"), "{rows}");
    let told = kernel.dtrace(&["-lvn", "kinst::inner:entry"]).expect("rows");
    // locals.rs tests the locations of a copy's parameters; this only checks that they are shown with their types.
    assert!(
        told.contains("\t\tinner()\n\t\t\tint x") && told.contains("\t\tfirst()\n\t\t\tint * all"),
        "{told}"
    );
    let symbols = kernel.symbols();
    let mut sites = 0;
    for site in told.split("\n\tInstruction\n").skip(1) {
        let field = |name: &str| {
            let at = site.find(name).unwrap_or_else(|| panic!("no {name} in {site}"));
            site[at + name.len()..].lines().next().unwrap_or_default().trim().to_owned()
        };
        let address =
            u64::from_str_radix(field("Address:").trim_start_matches("0x"), 16).expect("an address");
        assert!(symbols.values().any(|symbol| *symbol <= address));
        let vmlinux = kernel.vmlinux.to_str().expect("UTF-8");
        let theirs = run("addr2line", &["-i", "-f", "-e", vmlinux, &format!("{address:#x}")]);
        let theirs: Vec<&str> = theirs.lines().collect();
        assert!(field("Function:").starts_with(theirs[0]), "{site}: {theirs:?}");
        assert!(
            theirs[1].split(" (").next().unwrap_or_default().ends_with(&field("Source:")),
            "{site}: {theirs:?}"
        );
        // The arguments belong to the requested copy.
        assert!(site.contains("Argument Types\n\t\targs[0]: int\n"), "{site}");
        assert!(
            field("Entry of:").starts_with("inner, called at ") || site.contains("inner, called at "),
            "{site}"
        );
        sites += 1;
    }
    assert_eq!(sites, rows.lines().count() - 1);
    let said = Command::new(env!("CARGO_BIN_EXE_dtrace"))
        .args(["--no-cache", "-l", "-m", "kinst:vmlinux", "--sysroot"])
        .arg(kernel.dir.path())
        .output()
        .expect("dtrace");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("kinst has a probe at every instruction: name a function"), "{said}");
    assert!(said.contains("vmlinux has 3 functions, and 3 names of inlined functions"), "{said}");
}

/// The functions around a copy are the ones that addr2line lists after the copy's at its entry, except the one that
/// contains the code.
#[test]
fn around_a_copy_are_the_frames_of_addr2line() {
    let built = compiled();
    let kernel = Arc::new(kinst::sites::Kernel::sysroot(built.dir.path(), None).expect("a kernel"));
    let catalog = Catalog::new(kernel.clone(), None);
    let mut answers = Answers::new(&kernel);
    let mut nested = 0;
    for function in ["inner", "outer"] {
        let index = DwarfIndex::new(kernel.clone(), []);
        let found = index.inline_sites("", function, Boundary::Entry).expect("sites");
        for FoundSite { site, .. } in found.into_iter().flat_map(|found| found.sites) {
            let probes = catalog.matches(&Description::Site(Box::new(site))).expect("a probe");
            let [probe] = &probes[..] else { panic!("one probe: {probes:?}") };
            let address = answers.about(probe).and_then(|about| about.address).expect("an address");
            let vmlinux = built.vmlinux.to_str().expect("UTF-8");
            let theirs = run("addr2line", &["-i", "-f", "-e", vmlinux, &format!("{address:#x}")]);
            let names: Vec<&str> = theirs.lines().step_by(2).collect();
            let Some(copy) = names.iter().position(|name| *name == function) else { continue };
            assert_eq!(
                answers.around(probe, function),
                names[copy + 1..names.len() - 1],
                "{address:#x}: {theirs}"
            );
            nested += usize::from(copy + 2 < names.len());
        }
    }
    assert!(nested > 0, "no copy is in another copy");
}
