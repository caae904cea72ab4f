//! The number of a kernel's instructions that can be traced, and why the others cannot.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use regex_lite::Regex;

use super::guest::Bench;
use crate::vm::machine::{End, Sink};

pub(super) fn main(bench: &Bench) -> Result<()> {
    let modules = if bench.options.modules { " modules" } else { "" };
    let mut machine = bench.boot(vec![format!("exec ./points report{modules}\n")], true)?;
    let mut out = Text::default();
    let end = machine.run(0, Duration::from_secs(600), &mut out)?;
    if end != End::Exit(0) {
        bail!("the guest ended with {end:?}\n{}", machine.log.excerpt(0, 80));
    }
    print!("{}", table(&bench.kernel.release, &String::from_utf8_lossy(&out.0))?);
    Ok(())
}

/// The table, from the output of kmod/tests/vm/points.c.
fn table(release: &str, text: &str) -> Result<String> {
    let head = Regex::new(r"functions (\d+), instructions (\d+), bytes (\d+), text (\d+)")?;
    let row = Regex::new(r"(?m)^(\w+) (\d+) instructions, (\d+) bytes, (\d+) functions as a whole$")?;
    let [functions, instructions, bytes, section] = head
        .captures(text)
        .context("the report has no first line")?
        .extract()
        .1
        .map(|n| n.parse::<u64>().unwrap_or_default());
    let share = |n: u64, of: u64| 100.0 * n as f64 / of.max(1) as f64;
    let mut lines =
        vec![format!("{release}: {functions} functions, {instructions} instructions, {bytes} bytes")];
    if section > 0 {
        lines.push(format!("(.text has {section} bytes: the rest is fill between functions)"));
    }
    lines.push(format!(
        "{:<16} {:>12} {:>8} {:>12} {:>8} {:>16}",
        "", "instructions", "%", "bytes", "%", "whole functions"
    ));
    let mut padding = (0, 0);
    let mut traceable = (0, 0);
    for captures in row.captures_iter(text) {
        let (_, [reason, insns, size, whole]) = captures.extract();
        let (insns, size): (u64, u64) = (insns.parse()?, size.parse()?);
        match reason {
            "PADDING" => padding = (insns, size),
            "OK" => traceable = (insns, size),
            _ => {}
        }
        let shown = if reason == "OK" { "can be traced" } else { reason };
        lines.push(format!(
            "{shown:<16} {insns:>12} {:>8.3} {size:>12} {:>8.3} {whole:>16}",
            share(insns, instructions),
            share(size, bytes)
        ));
    }
    lines.push(format!(
        "without the padding that is in functions: {:.3} % of instructions, {:.3} % of bytes",
        share(traceable.0, instructions - padding.0),
        share(traceable.1, bytes - padding.1)
    ));
    Ok(lines.join("\n") + "\n")
}

#[derive(Default)]
struct Text(Vec<u8>);

impl Sink for Text {
    fn out(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn err(&mut self, _: &[u8]) {}
}
