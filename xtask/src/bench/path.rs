//! The instructions of a hit, from the probe to the displaced instruction, by function.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::guest::{Output, push};
use crate::kernels::{Arch, Kernel, Name};
use crate::vm::{
    self, Guest,
    machine::{End, Machine},
};
use crate::workspace;

/// A kind of hit: its name, options of dtrace, the clause.
const FORMS: [(&str, &str, &str); 6] = [
    ("breakpoint, empty clause", "-x nojump", "{ }"),
    ("breakpoint, predicate false", "-x nojump", "/pid == 0/ { }"),
    ("breakpoint, @ = count()", "-x nojump", "{ @ = count(); }"),
    ("jump, empty clause", "", "{ }"),
    ("jump, predicate false", "", "/pid == 0/ { }"),
    ("jump, @ = count()", "", "{ @ = count(); }"),
];

/// The number of hits that suffices, and the most looks until then: the consumer may have the CPU for a while.
const ENOUGH: usize = 50;
const LOOKS: u32 = 60;

/// The number of functions that are shown.
const MOST: usize = 12;

pub(super) fn main(kernel: Name) -> Result<()> {
    // By the real clock, the timer's interrupts would take all the time of a guest that logs its instructions.
    let guest = Guest { kernel, smp: 1, release: true, accel: "icount".into(), ..Guest::default() };
    let mut contents = vm::built(&guest)?;
    push(&mut contents, "tests/vm/path.sh", Arch::Amd64)?;
    contents.runs = FORMS.iter().map(|(_, options, clause)| script(options, clause)).collect();
    println!("{}", Kernel::need(kernel)?.release);
    for (id, (form, ..)) in FORMS.iter().enumerate() {
        let mut machine = vm::boot(&guest, &contents)?;
        let mut output = Output::default();
        let end = machine.run(id, Duration::from_secs(300), &mut output)?;
        if end != End::Exit(0) {
            bail!("nothing was armed: {}\n{}", output.errors, machine.log.excerpt(machine.run_start, 60));
        }
        let symbols = Symbols::read(&output.text)?;
        print(form, &symbols, &look(&mut machine, &symbols)?);
    }
    Ok(())
}

/// Looks at the instructions that the guest executes until they contain enough hits.
fn look(machine: &mut Machine, symbols: &Symbols) -> Result<Vec<Vec<u64>>> {
    let log = workspace::target().join("vm/path.log");
    let mut seen = Vec::new();
    for _ in 0..LOOKS {
        machine.executed(&log, Duration::from_millis(500))?;
        let text = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        fs::remove_file(&log)?;
        seen.extend(hits(&text, symbols));
        if seen.len() >= ENOUGH {
            return Ok(seen);
        }
    }
    bail!("{} hits in {LOOKS} looks\n{}", seen.len(), machine.log.excerpt(machine.run_start, 60))
}

/// The value of a `#define` in the module's headers.
fn defined(name: &str) -> Result<u64> {
    let header = workspace::root().join("kmod/arch/x86/machine/text.h");
    let text = fs::read_to_string(&header).with_context(|| format!("cannot read {}", header.display()))?;
    let value = text.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["#define", defined, value, ..] if defined == name => value.parse().ok(),
        _ => None,
    });
    value.with_context(|| format!("{} has no {name}", header.display()))
}

fn script(options: &str, clause: &str) -> String {
    format!("exec sh path.sh '{options}' '{clause}'\n")
}

/// The guest's symbols by address, and the addresses of interest.
struct Symbols {
    by_address: Vec<(u64, String)>,
    probe: u64,
    /// The ranges of slots and detours.
    slots: (u64, u64),
    detours: (u64, u64),
    /// The size of a detour, and the offset of the displaced instructions in it.
    detour: (u64, u64),
}

impl Symbols {
    fn read(text: &str) -> Result<Symbols> {
        let mut by_address = Vec::new();
        let mut probe = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["probe", function, offset] => probe = Some((function.to_owned(), offset.parse::<u64>()?)),
                [address, _, name, ..] => {
                    by_address.push((u64::from_str_radix(address, 16)?, name.to_owned()))
                }
                _ => {}
            }
        }
        by_address.sort();
        let address = |wanted: &str| {
            let found = by_address.iter().find(|(_, name)| name == wanted);
            found.map(|(address, _)| *address).with_context(|| format!("no symbol {wanted}"))
        };
        let (function, offset) = probe.context("the guest's output does not name the probed instruction")?;
        let (pool, fault_pool) = (address("kinst_pool")?, address("kinst_fault_pool")?);
        let detours = address("kinst_detours")?;
        let probe = address(&function)? + offset;
        let behind = |start| by_address.iter().map(|(at, _)| *at).find(|at| *at > start).unwrap_or(u64::MAX);
        let detours = (detours, behind(detours));
        let detour = (defined("KINST_DETOUR_LEN")?, defined("KINST_DETOUR_COPIES")?);
        Ok(Symbols { detour, probe, slots: (pool, fault_pool), detours, by_address })
    }

    fn name(&self, pc: u64) -> &str {
        let after = self.by_address.partition_point(|(address, _)| *address <= pc);
        self.by_address[..after].last().map_or("?", |(_, name)| name)
    }

    /// Whether the address is that of a displaced instruction, or of the first one that a jump displaces.
    fn is_displaced(&self, pc: u64) -> bool {
        let inside = |(from, to): (u64, u64)| (from..to).contains(&pc);
        let (size, copies) = self.detour;
        inside(self.slots) || inside(self.detours) && (pc - self.detours.0) % size == copies
    }
}

/// The instructions of each whole hit, from the probed address on, without the displaced one.
fn hits(log: &str, symbols: &Symbols) -> Vec<Vec<u64>> {
    let mut hits = Vec::new();
    let mut hit: Option<Vec<u64>> = None;
    for line in log.lines() {
        // Trace CPU: HOST [CS_BASE/PC/FLAGS/CFLAGS] SYMBOL
        let pc = line.split('[').nth(1).and_then(|rest| rest.split('/').nth(1));
        let Some(pc) = pc.and_then(|pc| u64::from_str_radix(pc, 16).ok()) else { continue };
        if pc == symbols.probe {
            hit = Some(vec![pc]);
        } else if symbols.is_displaced(pc) {
            hits.extend(hit.take());
        } else if let Some(hit) = &mut hit {
            hit.push(pc);
        }
    }
    hits
}

/// Prints the hit of median length: an interrupt may lengthen some, but not the median.
fn print(form: &str, symbols: &Symbols, hits: &[Vec<u64>]) {
    let mut by_length: Vec<&Vec<u64>> = hits.iter().collect();
    by_length.sort_by_key(|hit| hit.len());
    let hit = by_length[by_length.len() / 2];
    println!("\n{form}: {} instructions ({} hits seen)", hit.len(), hits.len());
    let mut functions: BTreeMap<&str, usize> = BTreeMap::new();
    for pc in hit.iter() {
        *functions.entry(symbols.name(*pc)).or_default() += 1;
    }
    let mut functions: Vec<_> = functions.into_iter().collect();
    functions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (function, count) in functions.iter().take(MOST) {
        println!("{count:>6} {function}");
    }
    let rest: usize = functions.iter().skip(MOST).map(|(_, count)| count).sum();
    if rest > 0 {
        println!("{rest:>6} in {} more", functions.len() - MOST);
    }
}
