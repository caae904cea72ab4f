//! bin/inlinecall.rs: the inlinecall command.

fn main() -> std::process::ExitCode {
    kinst::cli::inlinecall::main()
}
