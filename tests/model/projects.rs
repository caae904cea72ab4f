//! tests/model/projects.rs: libraries that others wrote, each with a driver: compiled as one program, and executed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::{run, support};

/// A library below the folder that `cargo xtask libraries` fills.
pub struct Library {
    pub name: &'static str,
    /// The level at which its own build compiles it.
    pub level: &'static str,
    root: &'static str,
    /// Its sources: folders and files.
    sources: &'static [&'static str],
    /// The files of these folders that belong to other programs.
    without: &'static [&'static str],
    /// The folders of its headers.
    headers: &'static [&'static str],
    options: &'static [&'static str],
}

const NONE: Library =
    Library { name: "", level: "-O2", root: "", sources: &[""], without: &[], headers: &[""], options: &[] };

pub const LIBRARIES: [Library; 7] = [
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

/// A program that is compiled and linked.
pub struct Built {
    pub program: PathBuf,
}

impl Library {
    /// Compiles the library, its driver and the files `more`; not if that is done. `way` is a name of the options.
    pub fn build(
        &self,
        libraries: &Path,
        compiler: &str,
        way: &str,
        options: &[&str],
        more: &[PathBuf],
    ) -> Built {
        let dir =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries").join(format!("{}-{way}", self.name));
        std::fs::create_dir_all(&dir).expect("a directory");
        let program = dir.join("program");
        let root = libraries.join(self.root);
        let mut arguments: Vec<String> = ["-w", "-g", "-static", "-no-pie"].map(str::to_owned).into();
        arguments.extend(self.options.iter().chain(options).map(|option| (*option).to_owned()));
        arguments.extend(self.headers.iter().map(|folder| format!("-I{}", root.join(folder).display())));
        let mut files: Vec<PathBuf> =
            self.sources.iter().flat_map(|name| self.files(&root.join(name))).collect();
        files.push(support("libraries").join(format!("{}.c", self.name)));
        files.extend_from_slice(more);
        arguments.extend(files.iter().map(|file| file.display().to_string()));
        arguments.extend(["-lm".to_owned(), "-o".to_owned(), program.display().to_string()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let is_done = std::fs::metadata(&program).and_then(|built| built.modified()).is_ok_and(|built| {
            let changed = |file: &PathBuf| std::fs::metadata(file).and_then(|file| file.modified());
            files.iter().all(|file| changed(file).is_ok_and(|changed| changed < built))
        });
        let command = dir.join("command");
        let text = format!("{compiler} {}\n", arguments.join(" "));
        if !is_done || std::fs::read_to_string(&command).ok().as_ref() != Some(&text) {
            run(compiler, &arguments);
            std::fs::write(command, text).expect("written");
        }
        Built { program }
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

/// The counts of -finstrument-functions: entries and exits, by the address of the function.
pub type Hooks = BTreeMap<u64, (u64, u64)>;

impl Built {
    /// Runs the program; returns its own output, and what the hooks have counted.
    pub fn run(&self) -> (String, Hooks) {
        let output = run(&self.program.display().to_string(), &[]);
        let (hooks, own): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| line.starts_with("@ "));
        let hooks = hooks.into_iter().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |index: usize| words[index].parse().expect("a number");
            (u64::from_str_radix(words[1], 16).expect("an address"), (number(2), number(3)))
        });
        (own.join("\n"), hooks.collect())
    }

    /// Counts the hits of these places, in QEMU.
    pub fn follow(&self, lines: &[String]) -> Vec<u64> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::write(path("sites"), lines.join("\n")).expect("written");
        let source = support("libraries/follow.c").display().to_string();
        run("gcc", &["-O2", "-shared", "-fPIC", "-o", &path("follow.so"), &source]);
        let plugin = format!("{},sites={},hits={}", path("follow.so"), path("sites"), path("hits"));
        let mut command = Command::new("qemu-x86_64");
        let output = command.args(["-plugin", &plugin]).arg(&self.program).output().expect("QEMU");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let hits = std::fs::read_to_string(path("hits")).expect("hits");
        hits.lines().map(|line| line.parse().expect("a number")).collect()
    }
}
