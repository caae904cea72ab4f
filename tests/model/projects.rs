//! tests/model/projects.rs: third-party libraries, each compiled with a driver as one program, and executed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::commands::{run, support};
use crate::compared::symbols;
use crate::counting;
use crate::live::environment;

/// A library below the folder that `cargo xtask libraries` fills.
pub(crate) struct Library {
    pub name: &'static str,
    /// The optimization level of its normal build.
    pub level: &'static str,
    root: &'static str,
    /// Its sources: folders and files.
    sources: &'static [&'static str],
    /// The files in these folders that belong to other programs.
    without: &'static [&'static str],
    /// The folders of its headers.
    headers: &'static [&'static str],
    options: &'static [&'static str],
}

const NONE: Library =
    Library { name: "", level: "-O2", root: "", sources: &[""], without: &[], headers: &[""], options: &[] };

pub(crate) const LIBRARIES: [Library; 7] = [
    Library { name: "zlib", level: "-O3", root: "libz-sys/src/zlib", options: &["-DHAVE_UNISTD_H"], ..NONE },
    Library { name: "lz4", level: "-O3", root: "lz4-sys/liblz4/lib", ..NONE },
    Library {
        name: "zstd",
        level: "-O3",
        root: "zstd-sys/zstd/lib",
        sources: &["common", "compress", "decompress", "dictBuilder"],
        options: &["-DZSTD_DISABLE_ASM"],
        ..NONE
    },
    Library {
        name: "bzip2",
        root: "bzip2-sys/bzip2-1.0.8",
        without: &["bzip2.c", "bzip2recover.c", "dlltest.c", "mk251.c", "spewG.c", "unzcrash.c"],
        options: &["-DBZ_NO_STDIO"],
        ..NONE
    },
    Library {
        name: "sqlite",
        root: "libsqlite3-sys/sqlite3",
        sources: &["sqlite3.c"],
        options: &["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-DSQLITE_ENABLE_MATH_FUNCTIONS"],
        ..NONE
    },
    Library {
        name: "jq",
        root: "jq-src/modules/jq",
        sources: &["src"],
        without: &["main.c", "jq_test.c", "inject_errors.c"],
        headers: &["", "src"],
        options: &[
            "-D_GNU_SOURCE",
            "-DIEEE_8087",
            "-DHAVE_MEMMEM",
            "-DHAVE_MKSTEMP",
            "-DHAVE_SQRT",
            "-DHAVE_FLOOR",
        ],
        ..NONE
    },
    Library {
        name: "xz",
        root: "liblzma-sys",
        sources: &[
            "xz/src/liblzma/common",
            "xz/src/liblzma/lzma",
            "xz/src/liblzma/lz",
            "xz/src/liblzma/check",
            "xz/src/liblzma/delta",
            "xz/src/liblzma/rangecoder",
            "xz/src/liblzma/simple",
            "xz/src/common/tuklib_cpucores.c",
            "xz/src/common/tuklib_physmem.c",
        ],
        without: &["mt.c", "tablegen.c", "_small.c", "crc_clmul_consts_gen.c"],
        headers: &[
            "",
            "xz/src/common",
            "xz/src/liblzma/api",
            "xz/src/liblzma/lzma",
            "xz/src/liblzma/lz",
            "xz/src/liblzma/check",
            "xz/src/liblzma/simple",
            "xz/src/liblzma/delta",
            "xz/src/liblzma/common",
            "xz/src/liblzma/rangecoder",
        ],
        options: &["-DHAVE_CONFIG_H", "-DNDEBUG"],
        ..NONE
    },
];

/// How a program counts the calls of its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    No,
    /// By the compiler, with -finstrument-functions: a call before and after the body.
    Hooks,
    /// By one instruction at the beginning of the body.
    Counters,
    /// The compiler's own counts of executed lines: --coverage of gcc, or clang's profile.
    Lines,
}

/// A compiled and linked program.
pub(crate) struct Built {
    pub program: PathBuf,
}

/// How often functions are entered and left, by name.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

impl Library {
    /// Compiles the library and its driver, unless that is done already. `way` names the compiler and options.
    pub(crate) fn build(
        &self,
        libraries: &Path,
        way: &str,
        compiler: &str,
        options: &[&str],
        counting: Counting,
    ) -> Built {
        let dir = folder(&format!("{}-{way}-{counting:?}", self.name).to_lowercase());
        let program = dir.join("program");
        let mut arguments: Vec<String> = ["-w", "-g", "-no-pie"].map(str::to_owned).into();
        arguments.extend(self.options.iter().chain(options).map(|option| (*option).to_owned()));
        let mut files = self.all_files(libraries);
        match counting {
            Counting::No => {}
            Counting::Hooks => {
                arguments.push("-finstrument-functions".to_owned());
                files.push(support("libraries/hooks.c"));
            }
            Counting::Counters => arguments.push("-fcommon".to_owned()),
            Counting::Lines if compiler == "gcc" => arguments.push("--coverage".to_owned()),
            Counting::Lines => {
                arguments.extend(["-fprofile-instr-generate", "-fcoverage-mapping"].map(str::to_owned));
            }
        }
        arguments.extend(self.headers(libraries));
        let command = dir.join("command");
        let text = format!("{compiler} {arguments:?} {files:?}\n");
        let is_done =
            is_newer(&program, &files) && std::fs::read_to_string(&command).ok().as_ref() == Some(&text);
        if !is_done {
            match counting {
                Counting::Counters => files = with_counters(&dir, compiler, &arguments, &files),
                Counting::Lines => files = objects(&dir, compiler, &arguments, &files),
                Counting::No | Counting::Hooks => {}
            }
            arguments.extend(files.iter().map(|file| file.display().to_string()));
            arguments.extend(["-lm".to_owned(), "-o".to_owned(), program.display().to_string()]);
            run(compiler, &texts(&arguments));
            std::fs::write(command, text).expect("written");
        }
        Built { program }
    }

    /// The functions without side effects, according to gcc: a compiler may merge or remove their calls.
    pub(crate) fn without_effects(&self, libraries: &Path) -> BTreeSet<String> {
        let dir = folder(&format!("{}-effects", self.name));
        let files = self.all_files(libraries);
        let list = dir.join("functions");
        if !is_newer(&list, &files) {
            let mut functions = BTreeSet::new();
            for file in files {
                let mut arguments = ["-w", "-O2", "-S", "-o", "/dev/null"].map(str::to_owned).to_vec();
                let dumps = ["ipa-pure-const", "tree-local-pure-const1"];
                arguments.extend(dumps.map(|dump| format!("-fdump-{dump}=stdout")));
                arguments.extend(self.options.iter().map(|option| (*option).to_owned()));
                arguments.extend(self.headers(libraries));
                arguments.push(file.display().to_string());
                // `Function found to be pure: f/12`
                let output = run("gcc", &texts(&arguments));
                let found = output.lines().filter_map(|line| line.strip_prefix("Function found to be "));
                let found = found.filter_map(|line| line.split_once(": "));
                let found = found.filter(|(kind, _)| kind.ends_with("pure") || kind.ends_with("const"));
                functions
                    .extend(found.filter_map(|(_, name)| Some(name.split(['/', '.']).next()?.to_owned())));
            }
            std::fs::write(&list, Vec::from_iter(functions).join("\n")).expect("written");
        }
        std::fs::read_to_string(list).expect("a list").lines().map(str::to_owned).collect()
    }

    fn all_files(&self, libraries: &Path) -> Vec<PathBuf> {
        let root = libraries.join(self.root);
        let mut files: Vec<PathBuf> =
            self.sources.iter().flat_map(|name| self.files(&root.join(name))).collect();
        files.push(support("libraries").join(format!("{}.c", self.name)));
        files
    }

    fn headers(&self, libraries: &Path) -> impl Iterator<Item = String> {
        let root = libraries.join(self.root);
        self.headers.iter().map(move |folder| format!("-I{}", root.join(folder).display()))
    }

    /// The sources in a folder, or the one file.
    fn files(&self, path: &Path) -> Vec<PathBuf> {
        if path.is_file() {
            return vec![path.to_owned()];
        }
        let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
            .filter(|path| !self.without.iter().any(|end| path.to_string_lossy().ends_with(end)))
            .collect();
        files.sort();
        files
    }
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries").join(name);
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn is_newer(program: &Path, files: &[PathBuf]) -> bool {
    let changed = |file: &Path| std::fs::metadata(file).and_then(|file| file.modified()).ok();
    changed(program)
        .is_some_and(|built| files.iter().all(|file| changed(file).is_some_and(|one| one < built)))
}

/// Compiles each file to an object file with a separate name, after which gcc names the notes and the counts: two
/// sources may have the same name.
fn objects(dir: &Path, compiler: &str, arguments: &[String], files: &[PathBuf]) -> Vec<PathBuf> {
    let object = |(number, file): (usize, &PathBuf)| {
        let object = dir.join(format!("{number}.o"));
        let (source, to) = (file.display().to_string(), object.display().to_string());
        run(compiler, &[&texts(arguments)[..], &["-c", &source, "-o", &to]].concat());
        object
    };
    files.iter().enumerate().map(object).collect()
}

/// Preprocesses the files, and inserts counters.
fn with_counters(dir: &Path, compiler: &str, arguments: &[String], files: &[PathBuf]) -> Vec<PathBuf> {
    let mut names = BTreeSet::new();
    let mut counting = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let source = file.display().to_string();
        let text = run(compiler, &[&texts(arguments)[..], &["-E", &source]].concat());
        let to = dir.join(format!("{number}.i"));
        std::fs::write(&to, counting::with_counters(&text, &mut names)).expect("written");
        counting.push(to);
    }
    let report = dir.join("report.c");
    std::fs::write(&report, counting::report(&names)).expect("written");
    counting.push(report);
    counting
}

impl Built {
    /// Runs the program; returns its output, and its counts.
    pub(crate) fn run(&self) -> (String, Counts) {
        let output = run(&self.program.display().to_string(), &[]);
        let (counted, own): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| line.starts_with("@ "));
        let symbols = symbols(&self.program);
        let mut counts = Counts::new();
        for line in counted {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<u64>().expect("a number");
            let Some(address) = words[1].strip_prefix("0x") else {
                counts.insert(words[1].to_owned(), (number(2), number(2)));
                continue;
            };
            let address = u64::from_str_radix(address, 16).expect("an address");
            for symbol in symbols.iter().filter(|symbol| symbol.address == address && symbol.size > 0) {
                let function = symbol.name.split('.').next().unwrap_or_default();
                let (entered, left) = counts.entry(function.to_owned()).or_default();
                (*entered, *left) = (*entered + number(2), *left + number(3));
            }
        }
        counts.retain(|_, (entered, _)| *entered > 0);
        (own.join("\n"), counts)
    }

    /// Counts the hits of these places, in QEMU.
    pub(crate) fn follow(&self, lines: &[String]) -> Vec<u64> {
        let (hits, status) = follow(&self.program, &[], Path::new("."), lines);
        assert!(status.success(), "{status}");
        hits
    }
}

/// Runs a program in a folder, in QEMU, and counts the hits of these places.
pub(crate) fn follow(
    program: &Path,
    arguments: &[String],
    folder: &Path,
    lines: &[String],
) -> (Vec<u64>, ExitStatus) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(path("sites"), lines.join("\n")).expect("written");
    let source = support("libraries/follow.c").display().to_string();
    run("gcc", &["-O2", "-shared", "-fPIC", "-o", &path("follow.so"), &source]);
    let plugin = format!("{},sites={},hits={}", path("follow.so"), path("sites"), path("hits"));
    let mut command = Command::new("qemu-x86_64");
    command.args(["-plugin", &plugin]).arg(program).args(arguments).current_dir(folder).envs(environment());
    let output = command.output().expect("QEMU");
    let hits = std::fs::read_to_string(path("hits"));
    let hits = hits.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (hits.lines().map(|line| line.parse().expect("a number")).collect(), output.status)
}
