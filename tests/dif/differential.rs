//! differential.rs: the kernel module's verifier and interpreter, built in user space, compared with the Rust ones.

use crate::machine;
use crate::model;
use crate::numbers::Random;
use crate::program;
use kinst::dif::action::{ActionKind, Ustack};
use kinst::dif::insn::Opcode;
use kinst::dif::object::{self, Image};
use kinst::dif::{Options, Program, dump};
use kinst::uapi::{self, Plain, Verify};
use kinst_oracle::verify::{Limits, verify};
use std::io::{Read, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const LIMITS: Limits = Limits { max_probes: 1000, max_insns: 1 << 20 };
const VERIFY: u32 = 0;
const RUN: u32 = 1;

/// Returns the seeds; for longer searches, KINST_DIF_CASES gives their number and KINST_DIF_FROM the first.
fn seeds(times: u64) -> Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, cases) = (number("KINST_DIF_FROM").unwrap_or(0), number("KINST_DIF_CASES").unwrap_or(600));
    times * first..times * (first + cases)
}

fn encode(program: &Program, options: &Options) -> Vec<u8> {
    let ecbs: Vec<_> = (0..program.clauses.len() as u32).map(|clause| (0, clause).into()).collect();
    object::encode(program, &[machine::probe()], &ecbs, options).unwrap()
}

fn options(random: &mut Random) -> Options {
    let (nspec, specsize) = (random.below(4) as u32, random.pick(&[100, 4096]));
    Options {
        strsize: random.pick(&[8, 16, 64, 256]),
        bufsize: 1 << 20,
        nspec,
        specsize,
        ..Options::default()
    }
}

#[test]
fn programs_record_the_same() {
    let mut kernel = Kernel::start();
    for seed in seeds(1) {
        let mut random = Random(seed);
        let options = options(&mut random);
        let program = program::program(&mut random);
        let times = 1 + random.below(4) as u32;
        let (ring, entries) = kernel.run(&encode(&program, &options), times);
        let (events, aggregations) = model::fire(&program, &options, times);
        let context = || format!("seed {seed}, strsize {}\n{}", options.strsize, dump::dump(&program));
        assert_eq!(model::read_ring(&program, &options, &ring), events, "{}", context());
        assert_eq!(model::read_aggregations(&program, &options, &entries), aggregations, "{}", context());
    }
}

#[test]
fn damaged_bytes_are_refused_alike() {
    let mut kernel = Kernel::start();
    let (seeds, mut refused) = (seeds(4), 0);
    for seed in seeds.clone() {
        let mut random = Random(seed);
        let options = options(&mut random);
        let mut bytes = encode(&program::program(&mut random), &options);
        for _ in 0..1 + random.below(2) {
            let place = random.below(bytes.len());
            bytes[place] = random.pick(&[0, 1, 2, 5, 7, 8, 0x7f, 0xff, bytes[place] ^ 1]);
        }
        refused += u64::from(compare(&mut kernel, &bytes, seed));
    }
    assert!(refused > (seeds.end - seeds.start) / 16, "only {refused} were refused");
}

/// Changes one field of a table at a time, so that the later rules are reached too.
#[test]
fn damaged_fields_are_refused_alike() {
    let mut kernel = Kernel::start();
    let (seeds, mut refused) = (seeds(4), 0);
    for seed in seeds.clone() {
        let mut random = Random(seed);
        let options = options(&mut random);
        let mut image = object::decode(&encode(&program::program(&mut random), &options)).unwrap();
        damage(&mut image, &mut random);
        refused += u64::from(compare(&mut kernel, &image.to_bytes().unwrap(), seed));
    }
    assert!(refused > (seeds.end - seeds.start) / 4, "only {refused} were refused");
}

/// The verdict on each kind of action, built-in variable and subroutine, known or not: rows that one side lacks.
#[test]
fn rows_of_tables_are_judged_alike() {
    let mut kernel = Kernel::start();
    let base = || (0..).map(|seed| program::program(&mut Random(seed)));
    let image = |program: Program| object::decode(&encode(&program, &Options::default())).unwrap();
    let wanted = |image: &Image| !image.actions.is_empty() && image.difos.iter().any(|difo| difo.ninsns > 1);
    let image = base().map(image).find(wanted).unwrap();
    for kind in 0..0x0a00 {
        let mut image = image.clone();
        image.actions[0].kind = kind;
        compare(&mut kernel, &image.to_bytes().unwrap(), kind.into());
    }
    let first = image.difos.iter().find(|difo| difo.ninsns > 1).unwrap().insn as usize;
    for opcode in [Opcode::Ldga, Opcode::Ldgs, Opcode::Stgs, Opcode::Call] {
        for operand in 0..0x600 {
            let mut image = image.clone();
            image.insns[first] = (opcode as u32) << 24 | operand << 8 | 1;
            compare(&mut kernel, &image.to_bytes().unwrap(), operand.into());
        }
    }
}

/// Checks that both verdicts are the same; returns whether they are refusals.
fn compare(kernel: &mut Kernel, bytes: &[u8], seed: u64) -> bool {
    let theirs = kernel.verify(bytes);
    let ours = match verify(bytes, &LIMITS) {
        Ok(_) => uapi::Error { code: 0, difo: uapi::NONE, index: uapi::NONE, reserved: 0 },
        Err(refusal) => uapi::Error {
            code: refusal.code.0,
            difo: refusal.difo.unwrap_or(uapi::NONE),
            index: refusal.index.unwrap_or(uapi::NONE),
            reserved: 0,
        },
    };
    let name = |error: uapi::Error| Verify(error.code).name();
    assert_eq!(theirs, ours, "seed {seed}: theirs {:?}, ours {:?}", name(theirs), name(ours));
    ours.code != 0
}

fn damage(image: &mut Image, random: &mut Random) {
    let odd = random.pick(&[0, 1, 2, 3, 4, 7, 8, 9, 127, 255, 4096, 65536, 1 << 24, u32::MAX - 1, u32::MAX]);
    match random.below(11) {
        0..=2 => damage_word(&mut image.insns, random),
        3 => damage_variable(&mut image.vars, random, odd),
        4 | 5 => damage_type(image, random, odd),
        6 => damage_difo(&mut image.difos, random, odd),
        7 | 8 => damage_action(&mut image.actions, random, odd),
        9 => damage_clause(image, random, odd),
        _ => damage_header(image, random, odd),
    }
}

fn entry<'a, T>(table: &'a mut [T], random: &mut Random) -> Option<&'a mut T> {
    let index = random.below(table.len().max(1));
    table.get_mut(index)
}

fn damage_word(insns: &mut [u32], random: &mut Random) {
    let bits = 1u32 << random.below(32) | if random.one_in(2) { 1 << random.below(32) } else { 0 };
    let opcode = random.one_in(3).then(|| random.below(90) as u32);
    if let Some(word) = entry(insns, random) {
        match opcode {
            Some(opcode) => *word = *word & 0xff_ffff | opcode << 24,
            None => *word ^= bits,
        }
    }
}

fn damage_variable(vars: &mut [uapi::Var], random: &mut Random, odd: u32) {
    let which = random.below(5);
    if let Some(var) = entry(vars, random) {
        match which {
            0 => var.id = odd,
            1 => var.kind = odd as u8,
            2 => var.scope = odd as u8,
            3 => var.flags = odd as u16,
            _ => var.name = odd,
        }
    }
}

fn damage_type(image: &mut Image, random: &mut Random, odd: u32) {
    let types = image.vars.iter_mut().map(|var| &mut var.ty);
    let mut types: Vec<_> = types.chain(image.difos.iter_mut().map(|difo| &mut difo.rtype)).collect();
    let which = random.below(4);
    if let Some(ty) = entry(&mut types, random) {
        match which {
            0 => ty.kind = odd as u8,
            1 => ty.flags = odd as u8,
            2 => ty.reserved = odd as u8,
            _ => ty.size = odd,
        }
    }
}

fn damage_difo(difos: &mut [uapi::Difo], random: &mut Random, odd: u32) {
    let which = random.below(6);
    if let Some(difo) = entry(difos, random) {
        match which {
            0 => difo.insn = odd,
            1 => difo.ninsns = odd,
            2 => difo.int0 = odd,
            3 => difo.nints = odd,
            4 => difo.str0 = odd,
            _ => difo.strlen = odd,
        }
    }
}

fn damage_action(actions: &mut [uapi::Action], random: &mut Random, odd: u32) {
    let known = ActionKind::ALL.iter().map(|kind| *kind as u16).filter(|kind| *kind < 0x700);
    let recording: Vec<u16> = known.chain([0, 9, 0x102, 0x205, 0x504]).collect();
    let aggregating = 0x700 + random.below(12) as u16;
    let kind = if random.one_in(2) { random.pick(&recording) } else { aggregating };
    let wide =
        random.pick(&[u64::from(odd), random.clone().next(), 3 << 48 | 3 << 32, 2 << 48 | 3 << 16 | 4]);
    let frames = random.pick(&[0, 1, 20, uapi::MAX_FRAMES, uapi::MAX_FRAMES + 1]);
    let copied = random.pick(&[0, 4, 8, 4096, uapi::MAX_USTACK, uapi::MAX_USTACK + 8]);
    let which = random.below(8);
    if let Some(action) = entry(actions, random) {
        match which {
            0 | 1 => action.kind = kind,
            7 => {
                (action.kind, action.difo) = (uapi::ACT_USTACK as u16, uapi::NONE);
                action.arg = Ustack { frames, copied }.pack();
            }
            2 => action.ntuple = odd as u16,
            3 => action.difo = odd,
            4 => action.incr = odd,
            5 => action.agg = odd,
            _ => action.arg = wide,
        }
    }
}

fn damage_clause(image: &mut Image, random: &mut Random, odd: u32) {
    let which = random.below(5);
    if let Some(clause) = entry(&mut image.clauses, random) {
        match which {
            0 => clause.predicate = odd,
            1 => clause.action = odd,
            2 => clause.nactions = odd,
            3 => clause.flags = odd,
            _ => image.ecbs[0] = uapi::Ecb { probe: odd & 1, clause: odd, inlined: 0 },
        }
    }
}

fn damage_header(image: &mut Image, random: &mut Random, odd: u32) {
    let header = &mut image.header;
    match random.below(11) {
        8 => header.nspec = odd,
        9 => header.clean_us = odd,
        10 => header.flags = odd & 7,
        0 => header.strsize = odd,
        1 => header.bufsize = u64::from(odd),
        2 => header.aggsize = u64::from(odd),
        3 => header.dynvarsize = u64::from(odd),
        4 => header.specsize = u64::from(odd) << 20,
        5 => image.probes[0].kind = odd,
        6 => image.probes[0].nbytes = odd as u8,
        _ => image.probes.push(image.probes[0]),
    }
}

/// The C side in a separate process: one answer per request.
struct Kernel {
    process: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

impl Kernel {
    fn start() -> Kernel {
        let mut process = Command::new(program_path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the C side starts");
        let requests = process.stdin.take();
        let answers = process.stdout.take().expect("stdout is piped");
        Kernel { process, requests, answers }
    }

    fn verify(&mut self, image: &[u8]) -> uapi::Error {
        self.ask(VERIFY, 0, image)
    }

    /// Runs an image; returns the ring's data and the entries of the aggregations.
    fn run(&mut self, image: &[u8], times: u32) -> (Vec<u8>, Vec<u8>) {
        let error = self.ask(RUN, times, image);
        assert_eq!(error.code, 0, "{:?} {error:?}", Verify(error.code).name());
        let answer = (self.block(), self.block());
        assert_eq!(self.word(), 0, "something was dropped");
        answer
    }

    fn ask(&mut self, op: u32, times: u32, image: &[u8]) -> uapi::Error {
        let mut request = [op, times, LIMITS.max_probes, LIMITS.max_insns, image.len() as u32].to_bytes();
        request.extend_from_slice(image);
        let pipe = self.requests.as_mut().expect("it is closed only at the end");
        pipe.write_all(&request).and_then(|()| pipe.flush()).expect("the C side runs");
        let [code, difo, index] = [self.word(), self.word(), self.word()];
        uapi::Error { code, difo, index, reserved: 0 }
    }

    fn word(&mut self) -> u32 {
        u32::read(&self.bytes(4)).expect("four bytes")
    }

    fn block(&mut self) -> Vec<u8> {
        let len = self.word();
        self.bytes(len as usize)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.answers.read_exact(&mut bytes).expect("the C side answers");
        bytes
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        drop(self.requests.take());
        let status = self.process.wait();
        // A sanitizer's report shows in the exit status.
        if !std::thread::panicking() {
            assert!(status.is_ok_and(|status| status.success()), "the C side failed");
        }
    }
}

/// Returns the program, built once per test process from the module's files and serve.c, with sanitizers.
fn program_path() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let tests = std::env::var_os("KINST_KMOD_TESTS").map_or_else(|| root.join("kmod/tests"), PathBuf::from);
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kmod");
    let library = out.join("libkinst.a");
    // Each test may be a separate process: they build one after the other, and none runs a file that another is
    // writing.
    std::fs::create_dir_all(&out).expect("a folder for the C side");
    let lock = std::fs::File::create(out.join("lock")).expect("the lock of the folder");
    lock.lock().expect("the lock");
    let mut make = Command::new("make");
    make.arg("-s").arg("-C").arg(&tests).arg(format!("OUT={}", out.display())).arg(&library);
    assert!(make.status().is_ok_and(|status| status.success()), "make libkinst.a");
    let (program, written) = (out.join("serve"), out.join("serve.new"));
    let mut compile = Command::new("gcc");
    compile
        .args(["-g", "-O1", "-std=gnu11", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"])
        .arg(&tests)
        .arg("-I")
        .arg(tests.join(".."))
        .arg("-o")
        .arg(&written)
        .arg(root.join("tests/dif/serve.c"))
        .arg(&library);
    assert!(compile.status().is_ok_and(|status| status.success()), "gcc serve.c");
    std::fs::rename(&written, &program).expect("the program is in its place");
    program
}
