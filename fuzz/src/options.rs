//! fuzz/src/options.rs: settings, pragmas and command lines: each is accepted or refused.

use kinst::attributes;
use kinst::cli::dtrace_args;
use kinst::options::{self, From, Options};

pub fn options(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut settings = Options::default();
    for line in text.lines() {
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (line, None),
        };
        for from in [From::CommandLine, From::Program, From::Setopt] {
            if let Err(error) = settings.set(name, value, from) {
                let _ = (error.to_string(), error.help());
            }
        }
        let _ = (options::parse_size(line), options::parse_rate(line), options::is_version(line));
        let _ = attributes::parse(line);
    }
    // Every word is a command-line argument.
    let words: Vec<String> = std::iter::once("dtrace").chain(text.split('\n')).map(str::to_owned).collect();
    let _ = dtrace_args::parse(&words);
    // The lines also become control lines and pragmas of a program.
    let program: String = text.lines().map(|line| format!("#{line}\n")).collect();
    super::compile(format!("s{program}BEGIN {{ trace(1); }}\n").as_bytes());
    let program: String = text.lines().map(|line| format!("#pragma D {line}\n")).collect();
    super::compile(format!("s{program}BEGIN {{ trace(1); }}\n").as_bytes());
}
