//! The rules as rows: who may use what, how long things may be, which words do not belong here.

/// Which folders may name an external crate.
pub const CRATES: &[(&str, &[&str])] = &[
    ("anstream", &["src/cli", "src/diag"]),
    ("clap", &["src/cli"]),
    ("codespan_reporting", &["src/diag"]),
    ("crc32fast", &["src/sites/index"]),
    ("flate2", &["src/debuginfo"]),
    ("gimli", &["src/debuginfo", "src/sites", "src/types"]),
    ("iced_x86", &["src/sites"]),
    ("indicatif", &["src/cli"]),
    ("jiff", &["src/consumer"]),
    ("lalrpop_util", &["src/parser"]),
    ("libc", &["src/cli", "src/debuginfo", "src/driver"]),
    ("liblzma", &["src/debuginfo"]),
    ("logos", &["src/parser"]),
    ("memmap2", &["src/debuginfo", "src/driver", "src/sites"]),
    ("object", &["src/debuginfo", "src/sites", "src/types"]),
    ("rayon", &["src/debuginfo", "src/sites", "src/types"]),
    ("rustix", &["src/cli", "src/consumer", "src/debuginfo", "src/driver", "src/sites/index"]),
    ("serde_json", &["src/cli", "src/consumer", "src/diag"]),
    ("signal_hook", &["src/cli", "src/driver"]),
    ("zerocopy", &["src/sites"]),
    ("zstd", &["src/debuginfo"]),
];

/// Which other modules a folder may use. A folder without a row may use all.
pub const MODULES: &[(&str, &[&str])] = &[
    ("src/source.rs", &[]),
    ("src/diag", &["source"]),
    // The printer prints the plain tree too, for `-d`.
    ("src/parser", &["diag", "source", "sugar::plain"]),
    ("src/sugar", &["diag", "parser", "sites", "source"]),
    ("src/debuginfo", &["diag", "source"]),
    ("src/types", &["debuginfo", "diag", "parser", "sites", "source"]),
    ("src/sites", &["debuginfo", "diag", "source", "types"]),
    ("src/typeck", &["attributes", "diag", "dif", "parser", "sites", "source", "sugar", "types"]),
    ("src/codegen", &["diag", "dif", "parser", "source", "sugar", "typeck", "types"]),
    // The wire form is that of the ABI's header.
    ("src/dif", &["kernel::uapi"]),
    // What a session hands to the consumer has the consumer's types.
    (
        "src/driver",
        &["consumer::enabled", "consumer::record", "debuginfo", "diag", "dif", "sites", "source", "types"],
    ),
    ("src/consumer", &["diag", "dif", "kernel", "options", "sites", "source", "types"]),
];

/// The stages that neither touch the outside nor do what the compiler cannot check.
pub const PURE: &[&str] = &["src/codegen", "src/dif", "src/parser", "src/sugar", "src/typeck"];

/// What a pure stage does not do: a regular expression and what it means.
pub const IMPURE: &[(&str, &str)] = &[
    (r"\bunsafe\b", "unsafe code"),
    (r"\bstd::(fs|io|env|process|os)\b", "input and output"),
    (r"\b(e?println?|dbg)!", "printing"),
];

/// What no finished Rust code has.
pub const UNFINISHED: &str = r"\b(todo|unimplemented|dbg)!";

/// A test that says by itself that it does not run.
pub const SKIPS: &str = r#"println!\("(skip|without )"#;
/// The one place that may: it fails where all is required, and counts.
pub const MAY_SKIP: &str = "tests/support/needs.rs";

/// A file's lines, and those beyond which it is an error.
pub const FILE_LINES: (usize, usize) = (500, 700);
/// A function's lines, and those beyond which it is an error.
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
    "src/vocabulary/builtin.rs",
    "tests/snapshots",
];

/// The one place that may ask for the kernel's version.
pub const VERSION_TESTS: &str = "kmod/compat";

/// Files that are not written here.
pub const FOREIGN: &[&str] =
    &["Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "fuzz/Cargo.lock", "fuzz/regressions", "kmod/COPYING"];

/// Words that say something about who typed a text and where, or that tie the project to one download host. In two
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
