//! benches/compiler.rs: what a user waits for before anything is traced: reading a script, compiling it, finding the first type.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kinst::diag::{Diagnostic, tags};
use kinst::options::Options;
use kinst::parser::{self, Macros, ParseOptions, Settings, ast::TagKind};
use kinst::pipeline::{self, Given};
use kinst::sites::Kernel;
use kinst::source::{FileId, Origin, Source, Sources};
use kinst::types::intrinsic::Intrinsic;
use kinst::types::kernel::{Installed, KernelTypes};
use kinst::types::{Type, TypeSource};

const SCRIPT: &str = include_str!("script.d");

fn source(text: String) -> (Sources, FileId) {
    let mut sources = Sources::default();
    let file = sources.add(Source { name: "script.d".to_owned(), origin: Origin::Script, text });
    (sources, file)
}

fn macros() -> Macros {
    let variables = vec![("pid".to_owned(), 1)];
    Macros { script: "script.d".to_owned(), arguments: vec!["5".to_owned()], variables }
}

/// Lexing and parsing: the clauses of the script, over and over.
fn parse(criterion: &mut Criterion) {
    let clauses = &SCRIPT[SCRIPT.find("dtrace:::BEGIN").unwrap()..];
    let (sources, file) = source(clauses.repeat(512));
    let macros = macros();
    let is_type_name = |word: &str| Intrinsic.named(word).is_some();
    let settings = Settings { argref: true, ..Settings::default() };
    let options = ParseOptions {
        macros: &macros,
        is_type_name: &is_type_name,
        check_call: &parser::any_call,
        settings,
    };
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(sources.get(file).text.len() as u64)).sample_size(20);
    group.bench_function("clauses", |bencher| {
        bencher.iter(|| parser::parse(&sources, file, &options).unwrap());
    });
}

/// The script through all stages, in this process, and as a user runs it: the CPU time of `dtrace -e`.
fn compile(criterion: &mut Criterion) {
    let (sources, file) = source(SCRIPT.to_owned());
    let macros = macros();
    let index = |_| Err(Box::new(Diagnostic::error(tags::UNKNOWN, "no index")));
    let mut group = criterion.benchmark_group("compile");
    group.bench_function("stages", |bencher| {
        bencher.iter(|| {
            let given = Given { macros: &macros, kernel: &Intrinsic, index: &index, libraries: &[] };
            pipeline::compile(&sources, &[file], given, &mut Options::default()).result.unwrap()
        });
    });
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

/// The CPU time of the children that have ended, in steps of 10 ms: enough over hundreds of them.
fn children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[13..15].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
}

/// `struct task_struct` and its members, and for comparison all that there is.
fn types(criterion: &mut Criterion) {
    let Some(sysroot) = std::env::var_os("KINST_BENCH_SYSROOT").map(PathBuf::from) else {
        eprintln!("types: left out, as KINST_BENCH_SYSROOT names no kernel");
        return;
    };
    let open = || {
        let sysroot = sysroot.clone();
        let kernel = move || Kernel::sysroot(&sysroot, None).map(Arc::new);
        KernelTypes::new(Installed::new(false, Box::new(kernel)))
    };
    let mut group = criterion.benchmark_group("types");
    group.sample_size(20);
    group.bench_function("first", |bencher| {
        bencher.iter(|| {
            let types = open();
            let Some(Type::Record(task)) = types.tagged(TagKind::Struct, "task_struct") else {
                panic!("no task")
            };
            types.members(&task).len()
        });
    });
    group.sample_size(10);
    group.bench_function("whole", |bencher| {
        bencher.iter(|| {
            let types = open();
            let names: Vec<&str> = types.names();
            let types = names.iter().filter_map(|name| types.named(name));
            types.map(|ty| ty.to_string().len()).sum::<usize>()
        });
    });
}

criterion_group!(benches, parse, compile, types);
criterion_main!(benches);
