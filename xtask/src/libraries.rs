//! `cargo xtask libraries`: third-party libraries: kinst's counts of inlined calls against the libraries' own, and the
//! lines of --coverage against those of gcov and llvm-cov.

use anyhow::Result;

use crate::setup::{host, libraries};
use crate::{crates, exec, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The libraries to compare [default: all]
    libraries: Vec<String>,
    /// The compilers to use, gcc or clang [default: all]
    #[arg(long = "compiler", value_name = "COMPILER")]
    compilers: Vec<String>,
    /// The levels of optimisation, each with further options: '-O2 -flto' [default: the library's own, -O2 and -O3]
    #[arg(long = "level", value_name = "LEVEL", allow_hyphen_values = true)]
    levels: Vec<String>,
    /// Compare the lines of --coverage with those of the compiler's own counters [default
    /// levels: -O0 without inlining, and -O2]
    #[arg(long)]
    coverage: bool,
}

pub(crate) fn main(options: &Options) -> Result<()> {
    host::ensure_for_libraries()?;
    libraries::ensure()?;
    let mut tests = crates::cargo(&workspace::root());
    tests.args(["test", "--test", "model", "--", "--ignored", "--nocapture"]);
    tests.arg(if options.coverage { "lines::" } else { "libraries::" });
    let chosen = [
        ("KINST_LIBRARIES", &options.libraries),
        ("KINST_COMPILERS", &options.compilers),
        ("KINST_LEVELS", &options.levels),
    ];
    tests.envs(chosen.map(|(variable, names)| (variable, names.join(","))));
    exec::run(tests.env("KINST_REQUIRE", "1"))
}
