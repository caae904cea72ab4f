//! tests/oracle/symbols.rs: the symbols that the module looks up, checked in the image of each kernel that guests run.

use std::collections::BTreeSet;
use std::path::Path;

use kinst::debuginfo::bootable;
use object::{Object, ObjectSymbol};
use regex_lite::Regex;

use crate::{kallsyms, needs};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The files with the module's rows of symbols.
const ROWS: [&str; 2] = ["kmod/arch/ksym.c", "kmod/arch/x86/machine/ksym.h"];

/// The files with the macros that declare their variables.
const DECLARED: [&str; 2] = ["kmod/arch/ksym.h", "kmod/arch/x86/machine/ksym.h"];

/// A row: when the symbol is required, and its names in different kernels.
#[derive(Debug)]
struct Row {
    needed: Needed,
    names: Vec<String>,
}

#[derive(Debug, PartialEq)]
enum Needed {
    Always,
    /// With this option of the kernel's configuration.
    With(String),
    Never,
}

fn rows() -> Vec<Row> {
    let row =
        Regex::new(r#"(?m)^\s*(NEED|WANT|NEED_IF)\((?:(CONFIG_\w+), )?\w+, ([^)]*)\)"#).expect("a pattern");
    let name = Regex::new(r#"(KINST_ARCH_SYS )?"(\w+)""#).expect("a pattern");
    // The function that looks up all other symbols.
    let mut rows = vec![Row { needed: Needed::Always, names: vec!["kallsyms_lookup_name".to_owned()] }];
    for file in ROWS {
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).expect(file);
        for found in row.captures_iter(&text) {
            let needed = match (&found[1], found.get(2)) {
                ("NEED_IF", Some(option)) => Needed::With(option.as_str().to_owned()),
                ("NEED", None) => Needed::Always,
                ("WANT", None) => Needed::Never,
                other => panic!("{file}: a row of an unknown kind: {other:?}"),
            };
            let prefix =
                |found: &regex_lite::Captures| if found.get(1).is_some() { "__x64_sys_" } else { "" };
            let names = name.captures_iter(&found[3]).map(|found| format!("{}{}", prefix(&found), &found[2]));
            rows.push(Row { needed, names: names.collect() });
        }
    }
    rows
}

/// All rows are found: as many as the macros that define their variables.
#[test]
fn the_rows_are_all_of_them() {
    let rows = rows();
    assert!(rows.iter().all(|row| !row.names.is_empty()), "{rows:?}");
    // The lists' comments have the name `name`.
    let declared = Regex::new(r"\bX\((\w+)\)").expect("a pattern");
    let declared: usize = DECLARED
        .iter()
        .map(|file| std::fs::read_to_string(Path::new(ROOT).join(file)).expect(file))
        .map(|text| declared.captures_iter(&text).filter(|found| &found[1] != "name").count())
        .sum();
    assert_eq!(rows.len(), declared, "{rows:?}");
}

#[test]
fn each_kernel_has_the_symbols_that_the_module_needs() {
    let rows = rows();
    let mut missing = Vec::new();
    for (kernel, image) in needs::images() {
        let names = names(&image.vmlinuz);
        let config = std::fs::read_to_string(&image.config).expect("the kernel's configuration");
        let (mut needed, mut absent) = (0, Vec::new());
        for row in &rows {
            let is_needed = match &row.needed {
                Needed::Always => true,
                Needed::With(option) => config.lines().any(|line| line == format!("{option}=y")),
                Needed::Never => false,
            };
            needed += usize::from(is_needed);
            match (row.names.iter().any(|name| names.contains(name)), is_needed) {
                (true, _) => {}
                (false, true) => missing.push(format!("{kernel}: {}", row.names.join(" or "))),
                (false, false) => absent.push(row.names.join(" or ")),
            }
        }
        println!(
            "{kernel}: {} symbols, {needed} of {} needed; absent of the others: {}",
            names.len(),
            rows.len(),
            if absent.is_empty() { "none".to_owned() } else { absent.join(", ") }
        );
    }
    assert!(missing.is_empty(), "the module would not load there:\n{}", missing.join("\n"));
}

/// The names in the image are the same as in the debug information, if that is available.
#[test]
fn the_symbols_of_an_image_are_those_of_its_debug_file() {
    let Some(root) = needs::linux_6_1() else { return };
    let Some(vmlinux) = needs::vmlinux(&root) else { return };
    let Some((_, image)) = needs::images().into_iter().find(|(kernel, _)| *kernel == "6.1") else { return };
    let bytes = std::fs::read(vmlinux).expect("the kernel");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let defined = file.symbols().filter(|symbol| symbol.is_definition() && symbol.address() != 0);
    let theirs: BTreeSet<String> =
        defined.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect();
    let ours = names(&image.vmlinuz);
    let unknown: Vec<&String> = ours.difference(&theirs).collect();
    println!(
        "{} symbols of the image, {} of the debug file, {} unknown there",
        ours.len(),
        theirs.len(),
        unknown.len()
    );
    assert!(ours.len() > 50_000 && unknown.len() * 1000 < ours.len(), "{unknown:?}");
}

fn names(vmlinuz: &Path) -> BTreeSet<String> {
    let kernel = bootable::kernel(vmlinuz).expect("a kernel that can be unpacked");
    let data = kernel.debug_section(".rodata").expect("the kernel's data");
    kallsyms::names(&data).expect("the tables of kallsyms")
}
