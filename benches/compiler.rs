//! benches/compiler.rs: the delays before tracing begins: parsing a script, compiling it, looking up the first type,
//! and loading its programs without the module.

#[path = "../tests/support/btf.rs"]
mod btf;
#[path = "../tests/support/here.rs"]
mod here;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kinst::backend::Plan;
use kinst::backend::bpf::{self, Session};
use kinst::debuginfo::{Bytes, ElfFile};
use kinst::diag::{Diagnostic, tags};
use kinst::dif::enabled::Enabled;
use kinst::dif::{self, Program};
use kinst::knowledge::{Files, Installed, Knowledge, Located};
use kinst::options::Options;
use kinst::parser::{self, Macros, ParseOptions, Settings};
use kinst::pipeline::{self, Given};
use kinst::probe::{Fields, Place, Probe};
use kinst::sites::{Catalog, Kernel};
use kinst::source::{FileId, Origin, Source, Sources};
use kinst::types::TagKind;
use kinst::types::intrinsic::Intrinsic;
use kinst::types::{Type, TypeSource};

const SCRIPT: &str = include_str!("script.d");

fn source(text: String) -> (Sources, FileId) {
    let mut sources = Sources::default();
    let file = sources.add(Source { name: "script.d".to_owned(), origin: Origin::Script, text });
    (sources, file)
}

fn macros() -> Macros {
    let variables = vec![("pid".to_owned(), 1)];
    Macros { script: "script.d".to_owned(), arguments: vec!["5".to_owned()], variables, targetless: false }
}

/// Measures lexing and parsing of the script's clauses, repeated.
fn parse(criterion: &mut Criterion) {
    let clauses = &SCRIPT[SCRIPT.find("dtrace:::BEGIN").unwrap()..];
    let (sources, file) = source(clauses.repeat(512));
    let macros = macros();
    let is_type_name = |word: &str| Intrinsic.named(word).is_some();
    let settings = Settings { argref: true, any_call: true, ..Settings::default() };
    let options = ParseOptions { macros: &macros, is_type_name: &is_type_name, settings };
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(sources.get(file).text.len() as u64)).sample_size(20);
    group.bench_function("clauses", |bencher| {
        // Only parsing is measured; the tree is dropped outside the measurement.
        bencher.iter_with_large_drop(|| parser::parse(&sources, file, &options).unwrap());
    });
}

/// Measures the script through all stages, in this process and as the CPU time of `dtrace -e`.
fn compile(criterion: &mut Criterion) {
    let (sources, file) = source(SCRIPT.to_owned());
    let mut group = criterion.benchmark_group("compile");
    group.bench_function("stages", |bencher| bencher.iter(|| compiled(&sources, file)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/script.d");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function("command", |bencher| {
        bencher.iter_custom(|rounds| {
            let before = children();
            for _ in 0..rounds {
                let status = Command::new(env!("CARGO_BIN_EXE_dtrace"))
                    .args(["-e", "-s"])
                    .arg(&path)
                    .arg("5")
                    .status();
                assert!(status.unwrap().success());
            }
            children() - before
        });
    });
}

fn compiled(sources: &Sources, file: FileId) -> Program {
    let macros = macros();
    let index = |_| Err(Box::new(Diagnostic::error(tags::UNKNOWN, "no index")));
    let given = Given {
        macros: &macros,
        kernel: &Intrinsic,
        places: &Intrinsic,
        index: &index,
        libraries: &[],
        stability: false,
    };
    pipeline::compile(sources, &[file], given, &mut Options::default()).result.unwrap().program
}

/// Measures the generation of the script's BPF programs and maps, and their verification by the kernel.
fn load(criterion: &mut Criterion) {
    if let Err(error) = bpf::check() {
        eprintln!("load: skipped, as no program can be loaded: {error}");
        return;
    }
    let (sources, file) = source(SCRIPT.to_owned());
    let program = compiled(&sources, file);
    let mut enabled = Enabled::default();
    for (clause, description) in
        (0..).zip(&program.clauses).flat_map(|(at, clause)| clause.probes.iter().map(move |one| (at, one)))
    {
        let name = description.fields().unwrap();
        let known = enabled.probes.iter().position(|probe| probe.name == name);
        let index = known.unwrap_or_else(|| {
            let id = enabled.probes.len() as u32;
            enabled.probes.push(Probe { id, place: place(&name, id), name });
            id as usize
        });
        enabled.ecbs.push((index as u32, clause).into());
    }
    let plan = Plan { enabled, descriptions: Vec::new() };
    let options = dif::Options { strsize: 128, ..dif::Options::default() };
    let mut group = criterion.benchmark_group("load");
    group.sample_size(20);
    group.bench_function("script", |bencher| {
        bencher.iter(|| {
            let loaded = Session::try_load(&program, &plan, &options, &here::Here).unwrap();
            assert_eq!(loaded, 4, "programs at entries, at returns, at BEGIN and at END");
        });
    });
}

fn place(name: &Fields, id: u32) -> Place {
    let func = 0x1000 * (1 + u64::from(id));
    match &*name.name {
        "entry" => Place::FbtEntry { func },
        "return" => Place::FbtReturn { func },
        "BEGIN" => Place::Begin,
        "END" => Place::End,
        "ERROR" => Place::Error,
        other => panic!("a probe {other}"),
    }
}

/// Returns the CPU time of the children that have ended, in steps of 10 ms: precise enough for hundreds of them.
fn children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[13..15].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
}

/// Measures `struct task_struct` and its members, from BTF read like /sys/kernel/btf/vmlinux; and for comparison
/// the members of all named structs.
fn types(criterion: &mut Criterion) {
    let Some(sysroot) = std::env::var_os("KINST_BENCH_SYSROOT").map(PathBuf::from) else {
        eprintln!("types: skipped, as KINST_BENCH_SYSROOT names no kernel");
        return;
    };
    let catalog = move || Ok(Arc::new(Catalog::new(Arc::new(Kernel::sysroot(&sysroot, None)?), None)));
    let installed = Installed::new(false, Box::new(catalog));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("btf");
    std::fs::write(&path, &*installed.btf(None).unwrap()).unwrap();
    let members = |types: &Knowledge<Vmlinux<'_>>, name: &str| match types.tagged(TagKind::Struct, name) {
        Some(Type::Record(tagged)) => types.members(&tagged).len(),
        _ => 0,
    };
    let mut group = criterion.benchmark_group("types");
    group.sample_size(20);
    group.bench_function("first", |bencher| {
        bencher.iter(|| {
            let count = members(&Knowledge::new(Vmlinux(&path)), "task_struct");
            assert!(count > 100, "{count} members");
        });
    });
    let all: Vec<String> = structs(&std::fs::read(&path).unwrap());
    assert!(all.len() > 1000, "{} structs", all.len());
    group.sample_size(10);
    group.bench_function("whole", |bencher| {
        bencher.iter(|| {
            let types = Knowledge::new(Vmlinux(&path));
            all.iter().map(|name| members(&types, name)).sum::<usize>()
        });
    });
}

/// Returns the tags of the kernel's structs.
fn structs(file: &[u8]) -> Vec<String> {
    const STRUCT: u32 = 4;
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let strings = (word(4) + word(16)) as usize;
    let structs = btf::records(file).into_iter().filter(|(_, info)| info >> 24 & 0x1f == STRUCT);
    let names =
        structs.map(|(at, _)| file[strings + word(at) as usize..].split(|byte| *byte == 0).next().unwrap());
    names.filter(|name| !name.is_empty()).map(|name| String::from_utf8(name.to_vec()).unwrap()).collect()
}

/// A kernel with only its types.
struct Vmlinux<'a>(&'a Path);

impl Files for Vmlinux<'_> {
    fn btf(&self, module: Option<&str>) -> Option<Bytes> {
        module.is_none().then(|| Bytes::Owned(std::fs::read(self.0).unwrap()))
    }

    fn modules(&self) -> Vec<String> {
        Vec::new()
    }

    fn symbol(&self, _: Option<&str>, _: &str) -> Option<Located> {
        None
    }

    fn debug(&self, _: &str) -> Option<&ElfFile> {
        None
    }

    fn linked(&self, _: &Located) -> Option<u64> {
        None
    }

    fn without_types(&self) -> String {
        String::new()
    }
}

criterion_group!(benches, parse, compile, load, types);
criterion_main!(benches);
