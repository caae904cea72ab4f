//! cli/cpp.rs: -C: preprocessing a script with the system's C preprocessor.

use crate::options::key;
use crate::options::{D_VERSION, Options};
use std::io::Write;
use std::process::{Command, Stdio};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to run the preprocessor {path}: {}", super::output::reason(.source))]
    Run { path: String, source: std::io::Error },
    #[error("Preprocessor failed to process input program")]
    Failed,
}

impl Error {
    /// Suggests what to do next.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Error::Run { .. } => Some("install cpp, or name a preprocessor with -x cpppath=PATH"),
            Error::Failed => None,
        }
    }
}

/// Returns the preprocessed text; its line markers give the compiler the original lines.
pub(crate) fn preprocess(text: &[u8], name: &str, options: &Options) -> Result<Vec<u8>, Error> {
    let path = options.text(key::CPPPATH).unwrap_or("cpp");
    let error = |source| Error::Run { path: path.to_owned(), source };
    let mut command = Command::new(path);
    command.args(arguments(options)).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(error)?;
    let input = numbered(text, name);
    let mut stdin = child.stdin.take();
    // cpp may stop reading at an error: its messages and its status count, not our failed write.
    let writer = std::thread::spawn(move || stdin.as_mut().map(|stdin| stdin.write_all(&input)));
    let output = child.wait_with_output().map_err(error)?;
    let _ = writer.join();
    if output.status.success() { Ok(output.stdout) } else { Err(Error::Failed) }
}

fn arguments(options: &Options) -> Vec<String> {
    let [major, minor, micro] = D_VERSION.map(u32::from);
    let version = major << 24 | minor << 12 | micro;
    let mut arguments: Vec<String> = [
        "-D__linux",
        "-D__unix",
        "-D__SVR4",
        "-D__SUNW_D=1",
        "-D__SUNW_D_64",
        "-U__sun",
        "-U__GNUC__",
        // glibc removes attributes for a compiler that is neither GCC nor Clang, which would change the layout of a
        // packed struct.
        "-D__clang__",
        // These words occur in D programs: `linux` in a path or a provider's name must not become 1.
        "-Ulinux",
        "-Uunix",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("-D__SUNW_D_VERSION=0x{version:08x}"));
    arguments.push(format!("-D__{}", std::env::consts::OS.replace("linux", "Linux")));
    if cfg!(target_arch = "x86_64") {
        arguments.push("-D__amd64".to_owned());
    }
    if options.text(key::STDC) == Some("s") {
        arguments.push("-traditional-cpp".to_owned());
    }
    if options.flag(key::CPPHDRS) {
        arguments.push("-H".to_owned());
    }
    for (letter, list) in [("-I", key::INCDIR), ("-D", key::DEFINE), ("-U", key::UNDEF)] {
        arguments.extend(options.list(list).iter().map(|value| format!("{letter}{value}")));
    }
    let more = options.list(key::CPPARGS).iter().flat_map(|words| words.split_ascii_whitespace());
    arguments.extend(more.map(str::to_owned));
    arguments
}

/// Returns the text after a line marker with its name. A `#!` line is blanked: cpp would take it for a directive.
fn numbered(text: &[u8], name: &str) -> Vec<u8> {
    let mut input = format!("# 1 \"{}\"\n", name.replace('\\', "\\\\").replace('"', "\\\"")).into_bytes();
    let skip = match text.starts_with(b"#!") {
        true => text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len()),
        false => 0,
    };
    input.extend_from_slice(&text[skip..]);
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::From;

    #[test]
    fn a_script_goes_through_cpp() {
        let mut options = Options::default();
        options.set("define", Some("WHAT=1"), From::CommandLine).unwrap();
        let text =
            b"#!/usr/sbin/dtrace -Cs\n#if WHAT && defined(__linux) && !defined(__sun)\nBEGIN\n#endif\n";
        match preprocess(text, "a\"b.d", &options) {
            Ok(output) => {
                let output = String::from_utf8(output).unwrap();
                assert!(output.lines().any(|line| line == "BEGIN"), "{output}");
                assert!(output.contains("# 1 \"a\\\"b.d\""), "{output}");
            }
            // This machine has no preprocessor.
            Err(error) => assert!(matches!(error, Error::Run { .. }), "{error}"),
        }
    }

    #[test]
    fn failures_are_told() {
        let mut options = Options::default();
        assert!(matches!(preprocess(b"#error no\n", "x", &options), Err(Error::Failed | Error::Run { .. })));
        options.set("cpppath", Some("/nowhere/cpp"), From::CommandLine).unwrap();
        assert!(matches!(preprocess(b"", "x", &options), Err(Error::Run { .. })));
    }
}
