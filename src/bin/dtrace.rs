//! bin/dtrace.rs: the dtrace command.
fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(2)
}
