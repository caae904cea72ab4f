//! bin/dtrace.rs: the dtrace command.

fn main() -> std::process::ExitCode {
    kinst::cli::complete::answer();
    // Text that is not UTF-8 cannot be D: it is shown as what it is not, and refused by the compiler.
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    kinst::cli::dtrace::main(&arguments)
}
