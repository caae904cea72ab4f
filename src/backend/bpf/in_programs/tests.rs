//! backend/bpf/in_programs/tests.rs: a program is traced: counts of its threads, arguments, registers, edges.

use crate::backend::bpf::{EnableError, NoKernel, Session};
use crate::backend::{Fired, Plan, Tracing as _};
use crate::needs;
use crate::options::Options as Settings;
use crate::parser::Macros;
use crate::pipeline::{self, Given};
use kinst_base::image::FileId;
use kinst_base::probe::{Condition, End, Fields, InProgram, Jump, Passing, Place, Probe, Spot, When};
use kinst_base::source::{Origin, Source, Sources};
use kinst_base::uapi::{self, AggEntry, Flt, Plain as _};
use kinst_debuginfo::ElfFile;
use kinst_dif::action::Ustack;
use kinst_dif::enabled::Enabled;
use kinst_dif::{Options, Program};
use kinst_sites::uprobe::{Freedom, Nop5};
use kinst_sites::{NotPlaced, ProgramFiles};
use kinst_types::intrinsic::Intrinsic;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("serve.c");
const NAME: &str = "serve";

/// The program, built for a test.
struct Served {
    _dir: tempfile::TempDir,
    path: PathBuf,
    elf: ElfFile,
    loaded: Vec<(u64, u64, u64)>,
}

impl ProgramFiles for Served {
    fn path(&self, _: FileId) -> Option<PathBuf> {
        Some(self.path.clone())
    }

    fn offset(&self, _: FileId, address: u64) -> Option<u64> {
        let (_, vaddr, offset) =
            self.loaded.iter().copied().find(|(size, vaddr, _)| (*vaddr..vaddr + size).contains(&address))?;
        Some(offset + (address - vaddr))
    }

    fn placed(&self, place: &InProgram, _: Freedom, _: &dyn Fn() -> Nop5) -> Result<Vec<Spot>, NotPlaced> {
        Ok(place.spots.clone())
    }
}

/// The size, the address and the offset of each loaded segment, from the program headers.
fn loaded(file: &[u8]) -> Vec<(u64, u64, u64)> {
    const LOAD: u64 = 1;
    let word = |at: usize, bytes: usize| {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(&file[at..at + bytes]);
        u64::from_le_bytes(word)
    };
    let (first, each, count) = (word(0x20, 8) as usize, word(0x36, 2) as usize, word(0x38, 2) as usize);
    let headers = (0..count).map(|number| first + number * each).filter(|at| word(*at, 4) == LOAD);
    headers.map(|at| (word(at + 0x20, 8), word(at + 0x10, 8), word(at + 8, 8))).collect()
}

impl Served {
    fn build(flags: &[&str]) -> Option<Served> {
        if !needs::program("gcc") {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let (source, path) = (dir.path().join("serve.c"), dir.path().join(NAME));
        std::fs::write(&source, SOURCE).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-fno-omit-frame-pointer", "-pthread", "-o"]).arg(&path).arg(&source).args(flags);
        assert!(gcc.status().unwrap().success());
        let elf = ElfFile::open(&path).unwrap();
        let loaded = loaded(&std::fs::read(&path).unwrap());
        Some(Served { _dir: dir, path, elf, loaded })
    }

    fn address(&self, name: &str) -> u64 {
        self.elf.symbol(name).unwrap_or_else(|| panic!("no symbol {name}")).address
    }

    fn spot(&self, name: &str, when: When) -> Spot {
        let (address, start) = (self.address(name), self.address("work"));
        Spot { address, exit: address.wrapping_sub(start), when, keys: Vec::new() }
    }

    fn place(&self, end: Option<End>, spots: Vec<Spot>) -> InProgram {
        InProgram { file: FileId(0), process: None, end, passing: Passing::C, spots, semaphore: None }
    }

    /// Whether a running program has a breakpoint at a symbol.
    fn is_armed(&self, program: &Waiting, bias: u64, name: &str) -> bool {
        use std::os::unix::fs::FileExt as _;
        let mut byte = [0];
        let memory = std::fs::File::open(format!("/proc/{}/mem", program.0.id())).unwrap();
        memory.read_exact_at(&mut byte, self.address(name).wrapping_add(bias)).unwrap();
        byte[0] == 0xcc
    }

    /// The program, which waits; and the distance of its addresses from the file's layout.
    fn start(&self, threads: u32, calls: u32) -> (Waiting, u64) {
        let mut command = Command::new(&self.path);
        command.args([threads.to_string(), calls.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let work: u64 = line.trim().parse().unwrap();
        (Waiting(child), work.wrapping_sub(self.address("work")))
    }
}

struct Waiting(Child);

impl Waiting {
    fn finish(mut self) {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

fn compiled(text: &str) -> Program {
    let mut sources = Sources::default();
    let file =
        sources.add(Source { name: "test.d".to_owned(), origin: Origin::Script, text: text.to_owned() });
    let given = Given {
        macros: &Macros::default(),
        kernel: &Intrinsic,
        places: &Intrinsic,
        index: &|_| panic!("nothing is inlined"),
        libraries: &[],
        stability: false,
    };
    let compiled = pipeline::compile(&sources, &[file], given, &mut Settings::default());
    compiled.result.unwrap_or_else(|errors| panic!("{text}: {errors:?}")).program
}

/// Each clause of the text at one of the places.
fn plan(places: Vec<InProgram>) -> Plan {
    let mut enabled = Enabled::default();
    for (index, place) in (0..).zip(places) {
        let name = Fields::new("uprobe", NAME, "work", &index.to_string());
        enabled.probes.push(Probe { id: 100 + index, place: Place::Program(Box::new(place)), name });
        enabled.ecbs.push((index, index).into());
    }
    Plan { enabled, descriptions: Vec::new() }
}

/// Arms a clause with `body` at each of the places; `None`, with a report, where that is not permitted.
fn armed(served: &Served, body: &str, places: Vec<InProgram>) -> Option<Session> {
    let text = format!("BEGIN {{ {body} }}\n").repeat(places.len());
    let options = Options { bufsize: 1 << 16, aggsize: 1 << 20, ..Options::default() };
    let plan = plan(places);
    assert!(plan.needs_bpf() && !plan.needs_kernel());
    let enabled = Session::enable(&compiled(&text), &plan, &options, &NoKernel, served);
    let (mut session, refused) = match enabled {
        Ok(enabled) => enabled,
        Err(error @ (EnableError::Rights(_) | EnableError::NoBpf | EnableError::Lockdown)) => {
            needs::missing("uprobes", &error.to_string());
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    if let Some((_, why)) = refused.first() {
        assert!(super::uprobes().is_err(), "{why}");
        needs::missing("uprobes", &why.to_string());
        return None;
    }
    session.go().unwrap();
    Some(session)
}

/// The counts of a session by the words of the keys, after its end.
fn counts(mut session: Session) -> BTreeMap<Vec<u64>, u64> {
    let mut counts = BTreeMap::new();
    session.stop().unwrap();
    assert_eq!(session.missed(), 0);
    let mut cpus = Vec::new();
    let mut add = |cpu: u32, bytes: &[u8], lost: u64| {
        cpus.push(cpu);
        assert_eq!(lost, 0);
        let mut rest = bytes;
        while let Some(header) = AggEntry::read(rest) {
            let (entry, after) = rest.split_at(header.len as usize);
            rest = after;
            let words = entry[AggEntry::SIZE..].chunks_exact(8);
            let mut words: Vec<u64> =
                words.map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
            let count = words.pop().unwrap();
            *counts.entry(words).or_default() += count;
        }
    };
    session.aggregations(&mut add).unwrap();
    // A CPU's lanes are one.
    assert!(cpus.windows(2).all(|pair| pair[0] < pair[1]), "{cpus:?}");
    counts
}

const THREADS: u32 = 16;
const CALLS: u32 = 20_000;
const ALL: u64 = THREADS as u64 * CALLS as u64;

#[test]
fn every_call_of_many_threads_is_counted() {
    let Some(served) = Served::build(&[]) else { return };
    for body in ["@ = count();", "@[\"a\", pid == 0] = count();", "@[arg0 - arg0] = sum(1);"] {
        let place = served.place(None, vec![served.spot("work", When::Always)]);
        let Some(session) = armed(&served, body, vec![place]) else { return };
        served.start(THREADS, CALLS).0.finish();
        let counts = counts(session);
        assert_eq!(counts.values().collect::<Vec<_>>(), [&ALL], "{body}");
    }
}

#[test]
fn only_the_hits_of_a_process_count() {
    let Some(served) = Served::build(&[]) else { return };
    let (one, other) = (served.start(2, 100).0, served.start(3, 100).0);
    let of = |process: Option<u32>| {
        let spots = vec![served.spot("work", When::Always), served.spot("work_exit", When::Always)];
        InProgram { process, ..served.place(None, spots) }
    };
    let places = vec![of(Some(one.0.id())), of(None), of(Some(1))];
    let Some(session) = armed(&served, "@[id] = count();", places) else { return };
    one.finish();
    other.finish();
    assert_eq!(counts(session), BTreeMap::from([(vec![100], 400), (vec![101], 1000)]));
}

#[test]
fn ends_have_arguments() {
    let Some(served) = Served::build(&[]) else { return };
    let entry = served.place(Some(End::Entry), vec![served.spot("work", When::Always)]);
    let exit = served.place(Some(End::Return), vec![served.spot("work_exit", When::Always)]);
    let body = "@[id, arg0, arg1, arg5, arg6, arg7, arg8 == 0, arg9] = count();";
    let Some(session) = armed(&served, body, vec![entry.clone()]) else { return };
    served.start(3, 10).0.finish();
    let entries = counts(session);
    assert_eq!(entries.len(), 3);
    for (key, count) in entries {
        assert_eq!((&key[2..6], count), (&[1, 5, 66, 77][..], 10), "{key:?}");
        assert!(key[0] == 100 && key[1] < 3);
    }
    let session = armed(&served, "@[id, arg0, arg1, arg2] = count();", vec![exit]).unwrap();
    served.start(3, 10).0.finish();
    let offset = served.address("work_exit") - served.address("work");
    let returned = |value: u64| (vec![100, offset, 7 + value, 0], 10);
    assert_eq!(counts(session), (0..3).map(returned).collect());
}

#[test]
fn registers_and_callers_are_the_programs() {
    for flags in [&["-pie", "-fPIE"][..], &["-no-pie"]] {
        let Some(served) = Served::build(flags) else { return };
        let places = ["work", "work_nop", "work_exit"];
        let ends = [Some(End::Entry), None, Some(End::Return)];
        let spots = places.map(|name| vec![served.spot(name, When::Always)]);
        let spots = ends.into_iter().zip(spots).map(|(end, spots)| served.place(end, spots)).collect();
        let body =
            "@[id, uregs[R_RIP], regs[R_RIP], ucaller, ustackdepth > 1, caller, stackdepth, ipl] = count();";
        let Some(session) = armed(&served, body, spots) else { return };
        let (waiting, bias) = served.start(1, 5);
        waiting.finish();
        let counts = counts(session);
        assert_eq!(counts.len(), 3, "{counts:?}");
        let callers: Vec<u64> = counts.keys().map(|key| key[3]).collect();
        assert!(callers.iter().all(|caller| *caller == callers[0]), "{callers:x?}");
        let run = served.address("run")..served.address("main");
        assert!(run.contains(&callers[0].wrapping_sub(bias)), "{callers:x?} {run:x?} {bias:x}");
        for ((key, count), name) in counts.into_iter().zip(places) {
            let at = served.address(name).wrapping_add(bias);
            assert_eq!((key[1], key[2], &key[4..], count), (at, at, &[1, 0, 0][..], 5), "{name} {key:x?}");
        }
    }
}

#[test]
fn edges_are_told_apart_wherever_the_program_is() {
    for flags in [&["-pie", "-fPIE"][..], &["-no-pie"]] {
        let Some(served) = Served::build(flags) else { return };
        let at = |name: &str| served.address(name);
        let jump = Jump { by: at("where"), memory: true, ..Jump::default() };
        let parts = [(at("choose"), at("choose_other")), (0, 0)];
        let edges = [
            ("choose_branch", When::Taken(Condition(0x74))),
            ("choose_branch", When::NotTaken(Condition(0x74))),
            ("choose_branch", When::Zero { register: 7, bits: u64::MAX, is: true }),
            ("choose_jump", When::Goes(jump, at("choose_first"))),
            ("choose_jump", When::Goes(jump, at("choose_other"))),
            ("choose_jump", When::Goes(jump, at("choose"))),
            ("choose_jump", When::Leaves(jump, parts)),
        ];
        let places = edges.map(|(name, when)| served.place(None, vec![served.spot(name, when)]));
        let Some(session) = armed(&served, "@[id] = count();", places.to_vec()) else { return };
        served.start(1, 1).0.finish();
        let counts: Vec<(u64, u64)> = counts(session).into_iter().map(|(key, n)| (key[0], n)).collect();
        assert_eq!(counts, [(100, 2), (101, 8), (102, 2), (103, 8), (104, 2), (106, 2)], "{flags:?}");
    }
}

#[test]
fn a_place_that_the_kernel_refuses_leaves_the_others() {
    let Some(served) = Served::build(&[]) else { return };
    let good = served.place(None, vec![served.spot("work", When::Always)]);
    let beyond = Spot { address: u64::MAX, ..served.spot("work", When::Always) };
    let bad = served.place(None, vec![served.spot("work_exit", When::Always), beyond]);
    let program = compiled("BEGIN { @[id] = count(); }\nBEGIN { @[id] = count(); }");
    let plan = plan(vec![good, bad]);
    let enabled = Session::enable(&program, &plan, &Options::default(), &NoKernel, &served);
    let Ok((mut session, refused)) = enabled else {
        return needs::missing("uprobes", "run the tests as root, on a kernel with uprobes");
    };
    if super::uprobes().is_err() {
        return needs::missing("uprobes", "boot a kernel with CONFIG_UPROBE_EVENTS");
    }
    assert_eq!(refused.iter().map(|(probe, _)| *probe).collect::<Vec<_>>(), [1]);
    session.go().unwrap();
    served.start(1, 7).0.finish();
    assert_eq!(counts(session), BTreeMap::from([(vec![100], 7)]));
}

/// Kernels before 6.6 close such links one by one, each in about 50 ms: a separate process does that.
#[test]
fn a_thousand_places_are_let_go_at_once() {
    const PLACES: u64 = 1000;
    let Some(served) = Served::build(&[]) else { return };
    let first = served.spot("many", When::Always);
    let spots = (0..PLACES).map(|nop| Spot { address: first.address + nop, ..first.clone() }).collect();
    let Some(session) = armed(&served, "@ = count();", vec![served.place(None, spots)]) else { return };
    assert_eq!(session.at_files.len() + session.at_instructions.len() / PLACES as usize, 1);
    served.start(1, 1).0.finish();
    let begun = Instant::now();
    assert_eq!(counts(session), BTreeMap::from([(vec![], PLACES)]));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// The copy of a stack is from the stack pointer at the hit on: at an exit, the return address is its first word.
#[test]
fn a_copied_stack_begins_at_the_hit() {
    let Some(served) = Served::build(&[]) else { return };
    let exit = served.place(Some(End::Return), vec![served.spot("work_exit", When::Always)]);
    let mut program = compiled("BEGIN { @[ucaller, ustack(1)] = count(); }");
    let copied = Ustack { copied: 64, ..Ustack::unpack(program.clauses[0].actions[1].arg) };
    program.clauses[0].actions[1].arg = copied.pack();
    let enabled = Session::enable(&program, &plan(vec![exit]), &Options::default(), &NoKernel, &served);
    let Ok((mut session, _)) = enabled else {
        return needs::missing("uprobes", "run the tests as root, on a kernel with uprobes");
    };
    session.go().unwrap();
    served.start(1, 3).0.finish();
    let words: Vec<u64> = counts(session).into_keys().next().unwrap();
    // The caller, the process and a frame, then the size, the registers and the stack.
    let [caller, _, frame, state @ ..] = &words[..] else { panic!("{words:x?}") };
    let bytes: Vec<u8> = state.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let registers = kinst_base::machine::Machine::HERE.facts().pt_regs.dwarf.len() as u64;
    let copy = uapi::Ustack::read(&bytes).unwrap();
    assert_eq!((copy.bytes, copy.nregs, copy.ip), (64, registers, *frame), "{words:x?}");
    assert_eq!(state[uapi::Ustack::SIZE / 8], *caller, "{words:x?}");
}

#[test]
fn faults_run_the_clauses_of_error_and_a_place_may_fire_once() {
    let Some(served) = Served::build(&[]) else { return };
    let entry = served.place(Some(End::Entry), vec![served.spot("work", When::Always)]);
    let nop = served.place(None, vec![served.spot("work_nop", When::Always)]);
    let clauses = "BEGIN { @[id, *(char *)arg0] = count(); }\nBEGIN { @[id, uregs[R_RSP] % 8] = count(); }";
    let program = compiled(&format!("{clauses}\nERROR {{ @[arg4, arg5] = count(); }}"));
    let mut plan = plan(vec![entry, nop]);
    let name = Fields::new("dtrace", "", "", "ERROR");
    plan.enabled.probes.push(Probe { id: 3, place: Place::Error, name });
    plan.enabled.ecbs.push((2, 2).into());
    let options = Options { once: true, ..Options::default() };
    let Ok((mut session, refused)) = Session::enable(&program, &plan, &options, &NoKernel, &served) else {
        return needs::missing("uprobes", "run the tests as root, on a kernel with uprobes");
    };
    assert_eq!(refused.len(), 0);
    session.go().unwrap();
    served.start(2, 9).0.finish();
    assert_eq!(session.fired(3).unwrap()[..2], [Fired::Yes; 2]);
    // Arguments 0 and 1 are not readable. Two keys of 4 bytes are one word.
    let bad = u64::from(Flt::BADADDR.0);
    let expected = [(vec![101], 1), (vec![bad], 9), (vec![bad | 1 << 32], 9)];
    assert_eq!(counts(session), BTreeMap::from(expected));
}

/// The kernel removes no probe of a program by itself: a place that has fired loses its probe at the next look, and the
/// others still fire.
#[test]
fn a_place_that_has_fired_once_loses_its_probe() {
    let Some(served) = Served::build(&[]) else { return };
    let names = ["work", "work_nop", "choose", "choose_jump"];
    let jump = Jump { by: served.address("where"), memory: true, ..Jump::default() };
    let never = When::Goes(jump, served.address("work"));
    let whens = [When::Always, When::Always, When::Always, never];
    let places = names.into_iter().zip(whens);
    let places = places.map(|(name, when)| served.place(None, vec![served.spot(name, when)])).collect();
    let mut plan = plan(places);
    plan.enabled.ecbs = (0..4).map(|probe| (probe, 0).into()).collect();
    let options = Options { once: true, ..Options::default() };
    let program = compiled("BEGIN { @[id] = count(); }");
    let Ok((mut session, refused)) = Session::enable(&program, &plan, &options, &NoKernel, &served) else {
        return needs::missing("uprobes", "run the tests as root, on a kernel with uprobes");
    };
    if !refused.is_empty() || session.at_files.is_empty() && session.rounds.places() == 0 {
        return needs::missing("uprobe.multi", "boot a kernel from 6.6 on");
    }
    session.go().unwrap();
    let armed = |process: &(Waiting, u64)| names.map(|name| served.is_armed(&process.0, process.1, name));
    let first = served.start(2, 9);
    assert_eq!((armed(&first), session.rounds.places()), ([true; 4], 4));
    first.0.finish();
    assert_eq!(session.fired(4).unwrap(), [Fired::Yes, Fired::Yes, Fired::Yes, Fired::No]);
    session.status().unwrap();
    assert_eq!(session.rounds.places(), 1);
    let second = served.start(1, 1);
    assert_eq!(armed(&second), [false, false, false, true]);
    second.0.finish();
    assert_eq!(counts(session), [100, 101, 102].map(|id| (vec![id], 1)).into());
}
