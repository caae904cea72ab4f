//! tests/exits.rs: where inlined copies are left: over all copies of a vmlinux.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use kinst::sites::Kernel;
use kinst::sites::dwarf;
use kinst::sites::exits::Exit;
use rayon::prelude::*;

/// The kernels that `cargo xtask setup` has unpacked.
fn kernels() -> Vec<PathBuf> {
    let Some(home) = std::env::var_os("HOME") else { return Vec::new() };
    let kernels = PathBuf::from(home).join(".cache/kinst/kernels");
    let wanted = std::env::var("KINST_KERNELS").unwrap_or("stable".to_owned());
    wanted.split(',').map(|name| kernels.join(name)).filter(|path| path.exists()).collect()
}

#[derive(Default, Debug)]
struct Count {
    copies: usize,
    outside: usize,
    empty: usize,
    fallback: usize,
    no_entry: usize,
    plain: usize,
    edge: usize,
    lost: usize,
    across: usize,
    long: usize,
    unnamed: usize,
    labels: usize,
    switches: usize,
    none: usize,
}

#[test]
#[ignore = "measures: run with --release --nocapture"]
fn all_copies() {
    for path in kernels() {
        let kernel = Kernel::sysroot(&path, None).expect("a sysroot");
        let modules: Vec<usize> = (0..kernel.modules().len()).collect();
        let modules = if std::env::var_os("KINST_MODULES").is_some() { &modules[1..] } else { &modules[..1] };
        for module in modules {
            let Some(image) = kernel.debug(*module) else { continue };
            println!("{} {}", path.display(), kernel.modules()[*module].name);
            let names: Vec<String> = dwarf::inline_names(image).unwrap().into_iter().collect();
            let findings = dwarf::find(image, &names, false).unwrap();
            let copies: Vec<_> = findings.functions.iter().flat_map(|function| &function.copies).collect();
            kernel.symbols(*module);
            let t0 = Instant::now();
            let callers = kernel.callers(*module).unwrap();
            let t1 = Instant::now();
            let mut grouped: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            let mut count = Count { copies: copies.len(), ..Count::default() };
            for (index, copy) in copies.iter().enumerate() {
                match callers.caller(copy.entry) {
                    Some(caller) => grouped.entry(caller.address).or_default().push(index),
                    None => count.outside += 1,
                }
            }
            let t2 = Instant::now();
            let grouped: Vec<_> = grouped.into_iter().collect();
            let results: Vec<_> = grouped
                .par_iter()
                .map(|(caller, of)| {
                    let caller = callers.caller(*caller).unwrap();
                    let mut flow = match callers.flow(caller) {
                        Ok(flow) => flow,
                        Err(error) => return (caller.address, Err(error), Vec::new()),
                    };
                    let exits: Vec<_> = of
                        .iter()
                        .map(|index| (*index, flow.exits(copies[*index].entry, &copies[*index].ranges)))
                        .collect();
                    (caller.address, Ok(flow.len()), exits)
                })
                .collect();
            let t3 = Instant::now();
            let mut instructions = 0;
            for ((caller, flow, exits), (_, of)) in results.iter().zip(&grouped) {
                match flow {
                    Ok(len) => instructions += len,
                    Err(error) => {
                        count.fallback += of.len();
                        let symbols = kernel.symbols(*module).unwrap();
                        println!(
                            "  {} ({} copies): {error}",
                            symbols.name(symbols.containing(*caller).unwrap()),
                            of.len()
                        );
                    }
                }
                for (index, exits) in exits {
                    let copy = copies[*index];
                    count.empty += usize::from(copy.ranges.is_empty());
                    let Some(exits) = exits else {
                        count.no_entry += 1;
                        continue;
                    };
                    count.none += usize::from(exits.sites.is_empty());
                    if std::env::var_os("KINST_SHOW").is_some() && exits.sites.is_empty() {
                        println!("  none {:#x} {:x?}", copy.entry, copy.ranges);
                    }
                    count.lost += exits.lost as usize;
                    for exit in &exits.sites {
                        match exit {
                            Exit::At(_) => count.plain += 1,
                            Exit::Edge { from, to } => {
                                count.edge += 1;
                                let symbols = kernel.symbols(*module).unwrap();
                                let (a, b) = (symbols.containing(*from), symbols.containing(*to));
                                if let (Some(a), Some(b)) = (a, b)
                                    && a.address != b.address
                                {
                                    count.across += 1;
                                    let name = format!(
                                        "{}-{}+{}",
                                        from - a.address,
                                        symbols.name(b),
                                        to - b.address
                                    );
                                    if name.len() > 63 {
                                        count.long += 1;
                                    }
                                    if !symbols.name(b).contains(".cold")
                                        && !symbols.name(a).contains(".cold")
                                    {
                                        println!("  tail {}:{name}", symbols.name(a));
                                    }
                                }
                                count.unnamed += usize::from(a.is_none() || b.is_none());
                                let marks = callers.marks();
                                count.labels += usize::from(marks.jump_labels.iter().any(|l| l.0 == *from));
                                count.switches += usize::from(marks.switches.iter().any(|l| l.0 == *from));
                            }
                        }
                    }
                }
            }
            println!(
                "tables {:?}, grouping {:?}, flows {:?}: {} callers, {instructions} instructions\n{count:?}",
                t1 - t0,
                t2 - t1,
                t3 - t2,
                grouped.len()
            );
        }
    }
}
