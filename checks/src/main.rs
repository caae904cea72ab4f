//! checks: commands of xtask that need crates with long build times.

#[cfg(feature = "objects")]
mod objects;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

/// The checks of kinst's sources
#[derive(Parser)]
#[command(name = "checks", max_term_width = 100)]
enum Command {
    /// Check the house rules that a machine can check
    Tidy,
    /// Check numbered lines of dtrace -O json against their schema
    #[cfg(feature = "objects")]
    Objects(objects::Options),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Tidy => tidy::main(),
        #[cfg(feature = "objects")]
        Command::Objects(options) => objects::main(&options),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
