//! The rules as rows: permitted uses, lengths, and words that do not belong here.

/// The folders that may name an external crate.
pub const CRATES: &[(&str, &[&str])] = &[
    ("anstyle", &["src/analysis", "src/cli", "src/diag"]),
    ("base64", &["src/consumer/export/otlp"]),
    ("clap", &["src/cli"]),
    ("clap_complete", &["src/cli/complete"]),
    ("codespan_reporting", &["src/diag"]),
    ("cpp_demangle", &["src/dwarf"]),
    ("crc32fast", &["src/sites/kept"]),
    ("flate2", &["src/consumer/export", "src/debuginfo"]),
    ("gimli", &["src/dwarf"]),
    ("iced_x86", &["src/sites/code/x86"]),
    ("indicatif", &["src/cli"]),
    ("jiff", &["src/consumer"]),
    ("lalrpop_util", &["src/parser"]),
    ("libc", &["src/os"]),
    ("liblzma", &["src/debuginfo"]),
    ("logos", &["src/parser"]),
    ("lz4_flex", &["src/debuginfo"]),
    ("memmap2", &["src/debuginfo", "src/sites/kept"]),
    ("object", &["src/debuginfo"]),
    ("prost", &["src/consumer/export/proto"]),
    ("rayon", &["src/backend", "src/debuginfo", "src/dwarf", "src/sites"]),
    ("rustc_demangle", &["src/dwarf"]),
    ("rustix", &["src/os"]),
    ("serde_json", &["src/analysis", "src/cli", "src/consumer/export", "src/diag"]),
    ("signal_hook", &["src/os"]),
    ("ureq", &["src/consumer/export/otlp"]),
    ("yaxpeax_arch", &["src/sites/code/arm64"]),
    ("yaxpeax_arm", &["src/sites/code/arm64"]),
    ("zerocopy", &["src/sites/kept", "src/sites/symtab.rs"]),
    ("zstd", &["src/debuginfo", "src/sites/kept"]),
];

/// The other modules that a folder may use: the first row that is of a file counts. A folder without a row may use all.
pub const MODULES: &[(&str, &[&str])] = &[
    ("src/attributes.rs", &[]),
    ("src/glob.rs", &[]),
    ("src/machine", &[]),
    ("src/options", &["attributes", "diag", "uapi"]),
    ("src/os", &[]),
    ("src/probe.rs", &[]),
    ("src/reason.rs", &["uapi"]),
    ("src/source.rs", &[]),
    ("src/uapi.rs", &[]),
    ("src/diag", &["source"]),
    ("src/vocabulary", &["diag", "dif::action", "dif::insn", "source"]),
    ("src/debuginfo", &["diag", "machine", "os"]),
    ("src/types", &["source"]),
    ("src/parser", &["diag", "probe", "source", "types", "vocabulary"]),
    ("src/dwarf", &["debuginfo", "glob", "machine", "types"]),
    (
        "src/sites",
        &[
            "attributes",
            "debuginfo",
            "diag",
            "dwarf",
            "glob",
            "host",
            "machine",
            "os",
            "probe",
            "reason",
            "types",
            "vocabulary::numbers",
        ],
    ),
    ("src/knowledge", &["debuginfo", "diag", "dwarf", "machine", "probe", "sites", "types"]),
    ("src/sugar", &["diag", "glob", "parser", "probe", "sites", "source", "vocabulary"]),
    (
        "src/typeck",
        &[
            "attributes",
            "diag",
            "dif",
            "dwarf",
            "glob",
            "parser",
            "probe",
            "sites",
            "source",
            "sugar",
            "types",
            "vocabulary",
        ],
    ),
    ("src/codegen", &["diag", "dif", "parser", "source", "sugar", "typeck", "types"]),
    ("src/dif", &["machine", "probe", "uapi"]),
    ("src/bpf", &["dif", "machine", "probe", "uapi"]),
    // Neither way into the kernel knows the other one, nor what sums both up.
    (
        "src/backend/bpf",
        &[
            "backend::plan",
            "backend::records",
            "backend::refused",
            "backend::tracing",
            "bpf",
            "dif",
            "os",
            "probe",
            "sites",
            "types",
            "uapi",
        ],
    ),
    (
        "src/backend/module",
        &[
            "backend::plan",
            "backend::records",
            "backend::refused",
            "backend::tracing",
            "dif",
            "host",
            "machine",
            "os",
            "probe",
            "reason",
            "sites",
            "uapi",
        ],
    ),
    ("src/backend", &["diag", "dif", "os", "probe", "sites", "uapi"]),
    ("src/host", &["debuginfo", "os"]),
    ("src/consumer", &["backend", "dif", "options", "os", "probe", "sites", "uapi"]),
    (
        "src/analysis",
        &["consumer", "diag", "dwarf", "probe", "reason", "sites", "types", "vocabulary::constants"],
    ),
];

/// The folders whose files use what their mod.rs defines or re-exports, and why.
pub const KNOTS: &[(&str, &str)] = &[
    ("src/bpf/library", "defines the form of a function, and the list of all of them"),
    ("src/bpf/machine", "defines the contract of a processor, with the list of them"),
    ("src/bpf/object", "defines the state of an object while it is made"),
    ("src/bpf/program", "defines the state of a clause while it is made"),
    ("src/cli/doctor", "defines a finding, which each group of checks makes"),
    ("src/codegen", "defines the generator, to which each file adds methods"),
    ("src/consumer/export", "defines the contract of a form, with the list of them"),
    ("src/consumer/export/otlp", "defines the envelope that its parts fill"),
    ("src/consumer/output", "defines the text that each file writes"),
    ("src/diag", "defines a diagnostic, which its files render"),
    ("src/dif/interp", "defines the machine, to which each file adds methods"),
    ("src/dif/verify", "defines the refusals, which each file makes"),
    ("src/dwarf/types", "defines the types of a file, which it builds"),
    ("src/dwarf/variables", "defines the variables, which its files describe"),
    ("src/knowledge", "defines where types are found"),
    ("src/options", "defines a value and its errors"),
    ("src/os", "defines a call that one of its files makes"),
    ("src/os/bpf", "defines the call of bpf(2), which each file makes"),
    ("src/sites/catalog", "defines the catalogue, to which each provider adds methods"),
    ("src/sites/code/arm64", "defines how words are read"),
    ("src/sites/flow", "defines the graph, to which each file adds methods"),
    ("src/sites/listing", "defines a place as text, which each listing has"),
    ("src/sites/memory", "defines the text in memory, which each file asks"),
    ("src/sites/target", "defines the kernel, to which each file adds methods"),
    ("src/typeck", "defines the checker, to which each file adds methods"),
    ("src/typeck/expr", "defines helpers of all operators"),
    ("src/types", "defines the types, which its files lay out and find"),
    ("src/types/btf", "defines the reader of BTF, to which each file adds methods"),
];

/// The stages that neither access the outside nor do what the compiler cannot check.
pub const PURE: &[&str] = &["src/bpf", "src/codegen", "src/dif", "src/parser", "src/sugar", "src/typeck"];

/// Code that a pure stage does not have: a regular expression and what it means.
pub const IMPURE: &[(&str, &str)] = &[(r"\bunsafe\b", "unsafe code"), (r"\b(e?println?|dbg)!", "printing")];

/// Paths that it does not name.
pub const IMPURE_PATHS: &[(&str, &str)] = &[
    ("std::env", "input and output"),
    ("std::fs", "input and output"),
    ("std::io", "input and output"),
    ("std::os", "input and output"),
    ("std::process", "input and output"),
];

/// Code that no finished Rust file has.
pub const UNFINISHED: &str = r"\b(todo|unimplemented|dbg)!";

/// Code of a test that prints by itself that it does not run.
pub const SKIPS: &str = r#"println!\("(skip|without )"#;
/// The one file that may: it fails where all is required, and counts.
pub const MAY_SKIP: &str = "tests/support/needs.rs";

/// The most lines of a file and of a function without a row below, and with one.
pub const FILE_LINES: (usize, usize) = (500, 700);
pub const FUNCTION_LINES: (usize, usize) = (60, 120);

/// Tables, grammars and generated files may be long.
pub const LONG: &[&str] = &[
    "Cargo.lock",
    "docs",
    "fuzz/Cargo.lock",
    "grammar",
    "kmod/include/uapi",
    "src/diag/tags.rs",
    "src/uapi.rs",
    "tests/snapshots",
];

/// Files that are longer than most, and why they are not split.
pub const LONG_FILES: &[(&str, &str)] = &[
    ("kmod/arch/x86/insn.c", "one table of instruction classes, and the emitters that only they use"),
    ("kmod/text/jump.c", "one state machine: each step is read with the one that it takes back"),
    ("kmod/program/image.c", "the order of the checks is part of what user space mirrors"),
    ("kmod/session/builtin.c", "one variable after the other"),
    ("kmod/session/chardev.c", "a session's life: each step is beside the one that takes it back"),
    ("kmod/tests/unit.c", "tests, one after the other"),
    ("kmod/tests/vm/hammer.c", "a program that a guest gets as one file"),
    ("kmod/tests/vm/sweep.c", "a program that a guest gets as one file"),
    ("kmod/tests/vm/workload.c", "a program that a guest gets as one file"),
    ("src/parser/tests.rs", "tests, one after the other"),
    ("src/sites/flow/mod.rs", "one control-flow graph: how it is built and what is asked of it"),
    ("tests/dif/program.rs", "a generator of programs: a case for each construct"),
    ("tests/oracle/arch.rs", "one oracle: the comparison and the execution of the same instructions"),
    ("tests/oracle/vmlinux.rs", "one oracle: three comparisons over one set of samples"),
    ("tests/outside/cli.rs", "tests, one after the other"),
];

/// Functions that are longer than most, and why they are not split.
pub const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    ("kmod/program/dif/interp.c", "step", "one switch over the opcodes"),
    ("kmod/program/dif/subr.c", "kinst_dif_subr", "one switch over the subroutines"),
    ("kmod/program/ecb.c", "record", "one switch over the actions"),
    ("kmod/session/builtin.c", "kinst_env_var", "one switch over the variables"),
    ("kmod/tests/unit.c", "test_verifier", "a table of images"),
    ("kmod/tests/unit_data.c", "test_dynvars", "one life of a variable"),
    ("kmod/tests/unit_str.c", "test_strings", "a table of strings"),
    ("src/bpf/object/variables.rs", "builtin", "one match over the variables"),
    ("src/codegen/expr.rs", "eval", "one match over the expressions"),
    ("src/codegen/stmt.rs", "stmt", "one match over the statements"),
    ("src/dif/interp/subr.rs", "call", "one match over the subroutines"),
    ("src/parser/tests.rs", "soup", "a table of words"),
    ("src/sites/kept/image.rs", "write", "the tables of the file, one after the other"),
    ("src/typeck/dump.rs", "stmt", "one match over the statements"),
    ("src/typeck/expr/ops.rs", "apply_unary", "one match over the operators"),
    ("tests/model/functions.rs", "function", "the shapes of a function, one after the other"),
    ("tests/oracle/exits.rs", "all_copies_of_a_kernel", "one sweep with its report"),
    ("tests/oracle/vmlinux.rs", "compare", "the steps of one comparison"),
    ("tests/oracle/vmlinux.rs", "frames_and_lines_are_those_of_addr2line", "the steps of one comparison"),
    ("tests/vm/files/work.c", "files", "one system call after the other"),
];

/// The one place that may test the kernel's version.
pub const VERSION_TESTS: &str = "kmod/compat";

/// Files that are not written here.
pub const FOREIGN: &[&str] =
    &["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "fuzz/Cargo.lock", "fuzz/regressions", "kmod/COPYING"];

/// Words that a comment does without (docs/STYLE.md, "Comments"): things are not persons, text is *after* other text,
/// and what is somewhere *is* there. As a regular expression.
pub const STILTED: &str = r"(?i)\b(nobody[^.]|somebody|whoever|whom|told|tells|behind|stood|stands? (?:at|before|after|on|there|where))\b";

/// Words that reveal who typed a text and where, or that tie the project to one download host. They are in two
/// halves, or this table would be a finding itself.
pub const WORDS: &[(&str, &str)] = &[
    ("agent ", "session"),
    ("anth", "ropic"),
    ("cl", "aude"),
    ("co-auth", "ored-by"),
    ("crates", ".io"),
    ("deb.deb", "ian.org"),
    ("pypi", ".org"),
    ("security.deb", "ian.org"),
    ("snapshot.deb", "ian.org"),
];
