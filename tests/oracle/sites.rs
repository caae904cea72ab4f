//! tests/oracle/sites.rs: sites of inlined functions, in files made by gcc and as, and in a kernel's vmlinux.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use kinst::probe::{Description, Fields, Place};
use kinst::sites::copies::calls;
use kinst::sites::{
    Boundary, Catalog, DwarfIndex, FunctionSites, InlineProbe, Kernel, ProbeCatalog, SiteIndex,
};

use crate::commands::{run, support};
use crate::needs;
use crate::sysroot::sysroot;

fn index(root: &Path, functions: &[&str]) -> (Arc<Kernel>, DwarfIndex) {
    let kernel = Arc::new(Kernel::sysroot(root, None).expect("a kernel"));
    let wanted = functions
        .iter()
        .map(|function| InlineProbe { module: String::new(), function: (*function).to_owned() });
    let index = DwarfIndex::new(kernel.clone(), wanted);
    (kernel, index)
}

/// Returns `module:caller:offset`, with the module only where it is needed.
fn names(functions: &[FunctionSites]) -> Vec<String> {
    let sites = functions.iter().flat_map(|function| &function.sites);
    sites
        .map(|site| {
            let module = if site.module_needed { site.site.module.as_str() } else { "" };
            format!("{module}:{}:{}", site.site.function, site.site.offset)
        })
        .collect()
}

#[test]
fn every_shape_of_a_copy() {
    let root = sysroot();
    let (kernel, index) = index(root.path(), &["inl", "in_twice", "aliased"]);
    let entries = index.inline_sites("vmlinux", "inl", Boundary::Entry).expect("sites");
    assert_eq!(
        names(&entries),
        [
            ":caller:8",  // the entry is not the start of the first range
            ":caller:24", // without instructions; once, although two copies are there
            ":caller:26", // without DW_AT_entry_pc
            ":caller:28", // recursion
            ":_start:4",  // origin in another unit, the entry as a distance
        ]
    );
    assert_eq!(entries[0].out_of_line, ["inl.isra.0"], "a part is not an instance");
    let returns = index.inline_sites("vmlinux", "inl", Boundary::Return).expect("sites");
    assert_eq!(
        names(&returns),
        [":caller:19", ":caller:24", ":caller:29", ":_start:4"],
        "where control leaves: not between two ranges of one path; at the entry if it has no instruction"
    );
    let hoisted = index.inline_sites("vmlinux", "hoisted", Boundary::Entry).expect("a site");
    assert_eq!(names(&hoisted), [":caller:21"], "where the first range begins, although it is empty");
    let remarks = kernel.take_remarks().join("\n");
    for reason in [
        "1 in code that is freed after boot",
        "1 in code that was not linked in",
        "1 without an address",
        "1 the second half of a split function",
        "inlined copies begin where another one does",
    ] {
        assert!(remarks.contains(reason), "{reason} is not in: {remarks}");
    }
}

/// A loop without a branch in it: all its places fire equally often.
#[test]
fn copies_that_begin_at_one_instruction_are_left_together() {
    let Some(root) = needs::linux_6_1() else { return };
    let (kernel, index) = index(&root, &["rol32"]);
    let places = |boundary: Boundary| {
        let sites = names(&index.inline_sites("vmlinux", "rol32", boundary).expect("sites"));
        sites.iter().filter(|site| site.contains(":chacha_permute:")).count()
    };
    let (entered, left) = (places(Boundary::Entry), places(Boundary::Return));
    assert!(entered > 20 && entered == left, "entered at {entered} places, left at {left}");
    let remarks = kernel.take_remarks().join("\n");
    assert!(remarks.contains("inlined copies begin where another one does"), "{remarks}");
}

#[test]
fn names_are_never_a_namesakes() {
    let root = sysroot();
    let (kernel, index) = index(root.path(), &["in_twice", "aliased", "in_module"]);
    let sites = |function: &str| names(&index.inline_sites("", function, Boundary::Entry).expect("sites"));
    assert_eq!(sites("in_twice"), ["vmlinux:twice:1"], "the module has a function of this name too");
    assert_eq!(sites("aliased"), [":same:0"], "the name with fewer underscores");
    let mut in_module = sites("in_module");
    in_module.sort_by_key(|name| !name.contains(":twice:"));
    assert_eq!(in_module.len(), 3, "{in_module:?}");
    assert!(in_module[0].starts_with("extra_mod:twice:"), "{in_module:?}");
    let repeated: BTreeSet<&str> =
        in_module[1..].iter().filter_map(|name| Some(name.rsplit_once(':')?.0)).collect();
    assert_eq!(repeated, BTreeSet::from(["extra_mod:repeated#1", "extra_mod:repeated#2"]));
    // The printed name has the same meaning when it is pasted.
    let catalog = Catalog::new(kernel, None);
    for name in in_module {
        let [module, function, offset] = name.split(':').collect::<Vec<_>>()[..] else {
            panic!("three fields")
        };
        let probes = catalog.matches(&described("kinst", module, function, offset)).expect("a probe");
        assert_eq!(probes.len(), 1, "{name}");
        assert_eq!(probes[0].name.module, "extra_mod");
    }
}

#[test]
fn each_refusal_has_one_cause() {
    let root = sysroot();
    let (_, index) = index(root.path(), &[]);
    let refusal = |module: &str, function: &str| {
        let error = index.inline_sites(module, function, Boundary::Entry).expect_err(function);
        format!("{}\n{}", error.title, error.help.join("\n"))
    };
    assert_eq!(
        refusal("", "only_declared"),
        "no function `only_declared` in the kernel 6.6.6 or its modules\n"
    );
    assert_eq!(
        refusal("", "alaised"),
        "no function `alaised` in the kernel 6.6.6 or its modules\ndid you mean `aliased`?"
    );
    assert_eq!(refusal("", "unused_inline"), "the function `unused_inline` has no code\n");
    assert_eq!(refusal("extra_mud", "inl"), "no module `extra_mud`\ndid you mean `extra_mod`?");
}

#[test]
fn without_debug_information_it_is_said_what_was_looked_for() {
    let root = sysroot();
    let vmlinux = root.path().join("usr/lib/debug/boot/vmlinux-6.6.6");
    run("strip", &["--strip-debug", vmlinux.to_str().expect("text")]);
    let (_, index) = index(root.path(), &["caller"]);
    let error = index.inline_sites("", "caller", Boundary::Entry).expect_err("no debug information");
    assert!(error.title.starts_with("no debug information of vmlinux (6.6.6)"), "{}", error.title);
    assert!(
        error.notes.iter().any(|note| note.contains("usr/lib/debug/boot/vmlinux-6.6.6")),
        "{:?}",
        error.notes
    );
    assert!(error.help.iter().any(|help| help.contains("linux-image-6.6.6-dbg")), "{:?}", error.help);
}

#[test]
fn the_catalogue_of_a_sysroot() {
    let root = sysroot();
    let kernel = Arc::new(Kernel::sysroot(root.path(), None).expect("a kernel"));
    let catalog = Catalog::new(kernel, None);
    let matches = |provider: &str, module: &str, function: &str, name: &str| {
        catalog
            .matches(&described(provider, module, function, name))
            .map(|probes| probes.iter().map(|p| p.name.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(matches("", "", "", "BEGIN").expect("a probe"), ["dtrace:::BEGIN"]);
    assert_eq!(
        matches("fbt", "kernel", "c?ller", "").expect("probes"),
        ["fbt:vmlinux:caller:entry", "fbt:vmlinux:caller:return"]
    );
    assert_eq!(matches("fbt", "", "__same", "entry").expect("an alias"), ["fbt:vmlinux:__same:entry"]);
    assert_eq!(matches("fbt", "", "twice", "entry").expect("both").len(), 2);
    assert!(matches("fbt", "", "early", "entry").is_err(), "code that is freed after boot");
    assert!(matches("kinst", "", "", "").is_err(), "which function is to be said");
    assert_eq!(matches("kinst", "", "caller", "").expect("all instructions").len(), 31);
    assert_eq!(matches("kinst", "", "", "").expect("those that were named").len(), 31);
    assert_eq!(matches("kinst", "vmlinux", "twice", "3").expect("one"), ["kinst:vmlinux:twice:3"]);
    let inside = catalog.matches(&described("kinst", "", "caller", "13")).expect_err("inside an instruction");
    assert_eq!(inside.title, "offset 13 is inside an instruction of `caller`");
    assert_eq!(inside.notes, ["the nearest ones are 12 `xchg %ax, %ax` and 14 `nop`"]);
    let misspelt = catalog.matches(&described("fbt", "", "callr", "entry")).expect_err("not there");
    assert_eq!(misspelt.help, ["did you mean `caller`?"]);
    let inlined = catalog.matches(&described("fbt", "", "aliased", "entry")).expect_err("inlined everywhere");
    assert_eq!(inlined.title, "`aliased` exists only as inlined copies (1)");
    for probe in catalog.matches(&described("", "", "", "")).expect("all") {
        let same = catalog.matches(&Description::Id(probe.id)).expect("by id");
        let [same] = &same[..] else { panic!("{} probes of id {}", same.len(), probe.id) };
        assert_eq!((&same.place, &same.name.name), (&probe.place, &probe.name.name));
        assert!(probe.place != Place::Begin || probe.id == 1);
    }
}

/// Returns the addresses of objdump's instructions, by function.
fn objdump(file: &Path) -> BTreeMap<String, BTreeSet<u64>> {
    let text = run("objdump", &["-d", "--no-show-raw-insn", file.to_str().expect("text")]);
    let mut functions: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            current = name.to_owned();
        } else if let Some(address) =
            line.trim_start().split_once(":\t").and_then(|(hex, _)| u64::from_str_radix(hex, 16).ok())
        {
            functions.entry(current.clone()).or_default().insert(address);
        }
    }
    functions
}

#[test]
fn boundaries_of_a_program_are_instructions_of_the_caller() {
    let dir = tempfile::tempdir().expect("a directory");
    for level in ["-O1", "-O2", "-O3", "-Os"] {
        for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
            let program = dir.path().join(format!("calls{level}{dwarf}"));
            let source = support("calls.c");
            let (program_text, source) = (program.to_str().expect("text"), source.to_str().expect("text"));
            run("gcc", &[level, dwarf, "-gz", "-o", program_text, source]);
            let instructions = objdump(&program);
            for (function, lines) in [("leaf", vec![16, 24]), ("middle", vec![31])] {
                let found = calls::in_file(&program, function)
                    .unwrap_or_else(|error| panic!("{level}: {}", error.title))
                    .calls;
                for line in &lines {
                    assert!(found.iter().any(|call| call.line == *line), "{function} {level}: {found:#?}");
                }
                for call in &found {
                    assert!(call.file.ends_with("calls.c"), "{}", call.file);
                    assert!(!call.returns.is_empty(), "{function} {level}");
                    let left = call.returns.iter().map(|left| &left.place);
                    for place in left.chain([&call.entry]) {
                        let (caller, offset) = place.caller.clone().expect("a caller");
                        let insns = &instructions[&caller];
                        assert!(insns.contains(&place.address), "{level} {caller}+{offset}");
                        assert_eq!(insns.first(), Some(&(place.address - offset)), "{level} {caller}");
                    }
                }
            }
            assert!(calls::in_file(&program, "main").is_err());
        }
    }
}

fn described(provider: &str, module: &str, function: &str, name: &str) -> Description {
    Description::Fields(Box::new(Fields::new(provider, module, function, name)))
}
