//! The rules as rows: permitted uses, lengths, and words that do not belong here.

/// The folders that may name an external crate.
pub(super) const CRATES: &[(&str, &[&str])] = &[
    ("anstyle", &["src/analysis", "src/cli", "crates/base/src/diag"]),
    ("base64", &["src/consumer/export/otlp"]),
    ("clap", &["src/cli"]),
    ("clap_complete", &["src/cli/complete"]),
    ("codespan_reporting", &["crates/base/src/diag"]),
    ("cpp_demangle", &["crates/dwarf/src"]),
    ("crc32fast", &["crates/sites/src/cache"]),
    ("flate2", &["src/consumer/export", "crates/debuginfo/src"]),
    ("gimli", &["crates/dwarf/src"]),
    ("iced_x86", &["crates/sites/src/code/x86"]),
    ("indicatif", &["src/cli"]),
    ("jiff", &["src/consumer"]),
    ("lalrpop_util", &["src/parser"]),
    ("libc", &["crates/os/src"]),
    ("liblzma", &["crates/debuginfo/src"]),
    ("logos", &["src/parser"]),
    ("lz4_flex", &["crates/debuginfo/src"]),
    ("memmap2", &["crates/debuginfo/src", "crates/sites/src/cache"]),
    ("object", &["crates/debuginfo/src"]),
    ("prost", &["src/consumer/export/proto"]),
    ("rayon", &["src/backend", "crates/debuginfo/src", "crates/dwarf/src", "crates/sites/src"]),
    ("rustc_demangle", &["crates/dwarf/src"]),
    ("rustix", &["crates/os/src"]),
    ("serde_json", &["src/analysis", "src/cli", "src/consumer/export", "crates/base/src/diag"]),
    ("signal_hook", &["crates/os/src"]),
    ("ureq", &["src/consumer/export/otlp"]),
    ("yaxpeax_arch", &["crates/sites/src/code/arm64"]),
    ("yaxpeax_arm", &["crates/sites/src/code/arm64"]),
    ("zerocopy", &["crates/sites/src/cache", "crates/sites/src/symtab.rs"]),
    ("zstd", &["crates/debuginfo/src", "crates/sites/src/cache"]),
];

/// The other modules that a folder of src, or a module of a crate with several, may use: the first row that matches a
/// file counts. A folder without a row may use all; the uses of a crate are in its Cargo.toml.
pub(super) const MODULES: &[(&str, &[&str])] = &[
    ("crates/base/src/attributes.rs", &[]),
    ("crates/base/src/diag", &["base::source"]),
    ("crates/base/src/glob.rs", &[]),
    ("crates/base/src/machine", &[]),
    ("crates/base/src/image.rs", &[]),
    ("crates/base/src/probe.rs", &["base::image", "base::space"]),
    ("crates/base/src/reason.rs", &["base::uapi"]),
    ("crates/base/src/source.rs", &[]),
    ("crates/base/src/space.rs", &[]),
    ("crates/base/src/uapi.rs", &[]),
    ("src/options", &["base::attributes", "base::diag", "base::uapi"]),
    ("src/vocabulary", &["base::diag", "base::machine", "base::source", "dif::action", "dif::insn"]),
    ("src/parser", &["base::diag", "base::probe", "base::source", "types", "vocabulary"]),
    (
        "src/knowledge",
        &[
            "base::diag",
            "base::machine",
            "base::image",
            "base::probe",
            "debuginfo",
            "dwarf",
            "sites",
            "types",
        ],
    ),
    (
        "src/sugar",
        &[
            "base::diag",
            "base::glob",
            "base::probe",
            "base::source",
            "base::space",
            "parser",
            "sites",
            "vocabulary",
        ],
    ),
    (
        "src/typeck",
        &[
            "base::attributes",
            "base::diag",
            "base::glob",
            "base::probe",
            "base::source",
            "base::space",
            "base::variant",
            "dif",
            "dwarf",
            "parser",
            "sites",
            "sugar",
            "types",
            "vocabulary",
        ],
    ),
    ("src/usdt", &["base::diag", "base::source", "parser"]),
    ("src/codegen", &["base::diag", "base::source", "dif", "typeck", "types"]),
    // The two backends use neither each other nor the module that combines them.
    (
        "src/backend/bpf",
        &[
            "backend::names",
            "backend::plan",
            "backend::records",
            "backend::tracing",
            "base::image",
            "base::probe",
            "base::uapi",
            "bpf",
            "dif",
            "os",
            "sites",
            "types",
        ],
    ),
    (
        "src/backend/module",
        &[
            "backend::plan",
            "backend::records",
            "backend::tracing",
            "base::machine",
            "base::reason",
            "base::uapi",
            "dif",
            "host",
            "os",
            "sites",
        ],
    ),
    (
        "src/backend",
        &["base::diag", "base::image", "base::probe", "base::reason", "base::uapi", "dif", "os", "sites"],
    ),
    (
        "src/consumer",
        &["backend", "base::image", "base::probe", "base::uapi", "dif", "options", "os", "sites"],
    ),
    (
        "src/analysis",
        &[
            "base::diag",
            "base::probe",
            "base::space",
            "consumer",
            "dwarf",
            "sites",
            "types",
            "vocabulary::constants",
        ],
    ),
];

/// The folders of the kernel module, and the folders and single files that each may include in addition to itself.
/// The first row that matches a file counts.
pub(super) const INCLUDES: &[(&str, &[&str])] = &[
    ("include", &[]),
    ("compat", &[]),
    ("params.h", &[]),
    ("context.h", &["tests/shim.h"]),
    ("hit.h", &["include"]),
    ("arch", &["compat", "context.h", "include", "tests/shim.h"]),
    ("patch", &["arch", "compat", "context.h", "hit.h", "params.h"]),
    ("places", &["arch", "compat", "include", "patch"]),
    // The part of program/ that does not build in user space.
    ("program/kernel", &["arch", "context.h", "hit.h", "patch", "program"]),
    ("program", &["context.h", "hit.h", "include", "tests/shim.h"]),
    ("text", &["arch", "context.h", "params.h", "patch", "places", "program", "program/kernel"]),
    ("points", &["include", "patch", "places", "program", "text"]),
    (
        "providers",
        &[
            "arch",
            "compat",
            "context.h",
            "hit.h",
            "include",
            "patch",
            "places",
            "points",
            "program",
            "program/kernel",
            "text",
        ],
    ),
    ("session", &["compat", "params.h", "points", "program", "program/kernel", "providers", "text"]),
    ("main.c", &["arch", "include", "program/kernel", "providers", "session"]),
];

/// The headers of the kernel module that declare functions of another folder, that folder, and the reason.
pub(super) const PORTS: &[(&str, &str, &str)] = &[(
    "kmod/program/env.h",
    "program/kernel",
    "is what programs need of the kernel, or of kmod/tests/mock.c in user space",
)];

/// The stages without I/O and without `unsafe`.
pub(super) const PURE: &[&str] = &[
    "crates/bpf",
    "crates/dif",
    "crates/oracle",
    "crates/types",
    "src/codegen",
    "src/parser",
    "src/sugar",
    "src/typeck",
];

/// Code that a pure stage must not have: a regular expression and its meaning.
pub(super) const IMPURE: &[(&str, &str)] =
    &[(r"\bunsafe\b", "unsafe code"), (r"\b(e?println?|dbg)!", "printing")];

/// Paths that it must not name.
pub(super) const IMPURE_PATHS: &[(&str, &str)] = &[
    ("std::env", "input and output"),
    ("std::fs", "input and output"),
    ("std::io", "input and output"),
    ("std::os", "input and output"),
    ("std::process", "input and output"),
];

/// Code that no finished Rust file has.
pub(super) const UNFINISHED: &str = r"\b(todo|unimplemented|dbg)!";

/// Code of a test that reports its skipping without needs.rs.
pub(super) const SKIPS: &str = r#"println!\("(skip|without )"#;
/// The only file that may: it counts skipped tests, and fails if none may be skipped.
pub(super) const MAY_SKIP: &str = "tests/support/needs.rs";

/// The most lines of a file and of a function without a row below, and with one.
pub(super) const FILE_LINES: (usize, usize) = (500, 700);
pub(super) const FUNCTION_LINES: (usize, usize) = (60, 120);

/// Tables, grammars and generated files may be long.
pub(super) const LONG: &[&str] = &[
    "Cargo.lock",
    "docs",
    "fuzz/Cargo.lock",
    "grammar",
    "kmod/include/uapi",
    "crates/base/src/diag/tags.rs",
    "crates/base/src/uapi.rs",
    "tests/snapshots",
];

/// Files that are longer than most, and why they are not split.
pub(super) const LONG_FILES: &[(&str, &str)] = &[
    ("kmod/arch/x86/insn.c", "one table of instruction classes, and the emitters that only they use"),
    ("kmod/text/jump.c", "one state machine: each step is read with the one that it takes back"),
    ("kmod/program/image.c", "the order of the checks is part of what user space mirrors"),
    ("kmod/session/chardev.c", "a session's life: each step is beside the one that takes it back"),
    ("kmod/tests/unit.c", "tests, one after the other"),
    ("kmod/tests/vm/hammer.c", "a program that a guest gets as one file"),
    ("kmod/tests/vm/sweep.c", "a program that a guest gets as one file"),
    ("kmod/tests/vm/workload.c", "a program that a guest gets as one file"),
    ("src/parser/tests.rs", "tests, one after the other"),
    ("tests/dif/program.rs", "a generator of programs: a case for each construct"),
    ("tests/oracle/arch.rs", "one oracle: the comparison and the execution of the same instructions"),
    ("tests/oracle/vmlinux.rs", "one oracle: three comparisons over one set of samples"),
    ("tests/outside/cli.rs", "tests, one after the other"),
];

/// Functions that are longer than most, and why they are not split.
pub(super) const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    ("kmod/program/dif/interp.c", "step", "one switch over the opcodes"),
    ("kmod/program/dif/subr.c", "kinst_dif_subr", "one switch over the subroutines"),
    ("kmod/program/ecb.c", "record", "one switch over the actions"),
    ("kmod/program/kernel/builtin.c", "kinst_env_var", "one switch over the variables"),
    ("kmod/tests/unit.c", "test_verifier", "a table of images"),
    ("kmod/tests/unit_data.c", "test_dynvars", "one life of a variable"),
    ("kmod/tests/unit_str.c", "test_strings", "a table of strings"),
    ("crates/bpf/src/object/variables.rs", "builtin", "one match over the variables"),
    ("src/codegen/expr.rs", "eval", "one match over the expressions"),
    ("src/codegen/stmt.rs", "stmt", "one match over the statements"),
    ("crates/oracle/src/interp/subr.rs", "call", "one match over the subroutines"),
    ("src/parser/tests.rs", "soup", "a table of words"),
    ("crates/sites/src/cache/image.rs", "write", "the tables of the file, one after the other"),
    ("src/typeck/dump.rs", "stmt", "one match over the statements"),
    ("tests/model/functions.rs", "function", "the shapes of a function, one after the other"),
    ("tests/oracle/exits.rs", "all_copies_of_a_kernel", "one sweep with its report"),
    ("tests/oracle/vmlinux.rs", "compare", "the steps of one comparison"),
    ("tests/oracle/vmlinux.rs", "frames_and_lines_are_those_of_addr2line", "the steps of one comparison"),
    ("tests/vm/files/work.c", "files", "one system call after the other"),
];

/// The one place that may test the kernel's version.
pub(super) const VERSION_TESTS: &str = "kmod/compat";

/// Files that are not written here.
pub(super) const FOREIGN: &[&str] =
    &["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "fuzz/Cargo.lock", "fuzz/regressions", "kmod/COPYING"];

/// Words that a comment does without (docs/STYLE.md, "Comments, messages and documents"): things are not persons, text is *after* other text,
/// and what is somewhere *is* there. As a regular expression.
pub(super) const STILTED: &str = r"(?i)\b(nobody[^.]|somebody|whoever|whom|told|tells|behind|stood|stands? (?:at|before|after|on|there|where)|(?:is|are|was|were|be) no [a-z]+|of (?:its|their) own|ours|for ever)\b";

/// Expressions with a word that is stilted elsewhere.
pub(super) const NATURAL: &[&str] = &[
    "there is no",
    "there are no",
    "there was no",
    "there were no",
    "no such",
    "no longer",
    "no more",
    "no less",
    "no fewer",
];

/// Files whose comments stay as they are: another text is another kernel to build.
pub(super) const AS_BUILT: &str = "xtask/kernels";

/// Words that no comment begins with: a noun or a verb says sooner what it is about. As a regular expression.
pub(super) const OPENINGS: &str = r"^(What|Where|Those|Who|Whose|Whoever|Whatever|Of|That|Which)\b";

/// The longest line of Markdown outside of tables and code.
pub(super) const MARKDOWN_COLUMNS: usize = 120;

/// Documents that are to stay short, with the most lines of each.
pub(super) const SHORT: &[(&str, usize)] = &[("docs/ARCHITECTURE.md", 150)];

/// Words that reveal the author's tools and machine, or that tie the project to one download host. They are in two
/// halves, or this table would be a finding itself.
pub(super) const WORDS: &[(&str, &str)] = &[
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
