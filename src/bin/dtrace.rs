//! bin/dtrace.rs: the dtrace command.

fn main() -> std::process::ExitCode {
    kinst::cli::complete::answer();
    kinst::cli::dtrace::main(std::env::args_os())
}
