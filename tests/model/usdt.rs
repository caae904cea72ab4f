//! tests/model/usdt.rs: static probes of programs, from `dtrace -h` to their arguments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::commands::{run, support};
use crate::live::{can_trace, dtrace, text};
use crate::needs;
use kinst::debuginfo::ElfFile;
use kinst::sites::StaticNotes;

/// A project in C with static probes, as its makefile builds it.
struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    /// Makes the header; `-G` follows with each program.
    fn new() -> Project {
        let project = Project { dir: tempfile::tempdir().expect("a directory") };
        project.make(&["-h"], "probes.h", &[]);
        project
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn make(&self, options: &[&str], output: &str, objects: &[&str]) {
        let (script, output) = (support("usdt.d").display().to_string(), self.path(output));
        let ran = dtrace(&[options, &["-s", &script, "-o", &output], objects].concat(), None);
        assert!(ran.status.success(), "{options:?}: {}", text(&ran.stderr));
    }

    /// Compiles the program, and the library that it opens later.
    fn compile(&self, compiler: &str, language: &str, options: &[&str], with_object: bool) {
        let include = self.path("");
        let all = [options, &["-Wall", "-Wextra", "-Werror", "-I", &include]].concat();
        let object = |source: &str, more: &[&str], output: &str| {
            let source = support(source).display().to_string();
            let output = self.path(output);
            run(compiler, &[&all[..], more, &["-x", language, "-c", &source, "-o", &output]].concat());
            output
        };
        let (main, later) = (object("usdt.c", &[], "main.o"), object("usdt_later.c", &["-fPIC"], "later.o"));
        let (program, library) = (self.path("program"), self.path("later.so"));
        if with_object {
            self.make(&["-G"], "probes.o", &[&main]);
            run(compiler, &[&main, &self.path("probes.o"), "-o", &program]);
            self.make(&["-G"], "probes.o", &[&later]);
            run(compiler, &["-shared", &later, &self.path("probes.o"), "-o", &library]);
        } else {
            run(compiler, &[&main, "-o", &program]);
            run(compiler, &["-shared", &later, "-o", &library]);
        }
    }

    /// Runs the program with a script; returns the lines of the program and those of the script.
    fn traced(&self, script: &str) -> (Vec<String>, Vec<String>) {
        let command = format!("{} {}", self.path("program"), self.path("later.so"));
        let ran = dtrace(&["-qn", script, "-c", &command], None);
        assert!(ran.status.success() && ran.stderr.is_empty(), "{script}: {}", text(&ran.stderr));
        let lines = text(&ran.stdout);
        let of = |prefix: &str| {
            lines.lines().filter_map(|line| Some(line.strip_prefix(prefix)?.to_owned())).collect()
        };
        (of("P "), of("D "))
    }
}

/// Prints the arguments of static probes as usdt.c does. `of` returns the description of those with a name, in the
/// program and in the library if that has them.
fn script(of: impl Fn(&str, bool) -> String) -> String {
    let of = |name: &str| of(name, ["order-start", "idle"].contains(&name));
    let numbers = |count: usize| (0..count).map(|n| format!(", args[{n}]")).collect::<String>();
    let many = "%d ".repeat(12);
    let [start, done, sizes, many_of, element, idle] =
        ["order-start", "order__done", "sizes", "many", "element", "idle"].map(of);
    format!(
        "{start} {{ printf(\"D start %d %s\\n\", args[0], copyinstr(arg1)); }}\n\
         {done} {{ this->order = (int64_t *)copyin(arg1, 8); printf(\"D done %d %d %s %d %d\\n\", args[0], \
         *this->order, copyinstr(arg1 + 8), args[2], args[3]); }}\n\
         {sizes} {{ printf(\"D sizes %d %d %d %d %d %u %d %u\\n\"{}); }}\n\
         {many_of} {{ printf(\"D many {}\\n\"{}); }}\n\
         {element} {{ this->number = (int32_t *)copyin(arg1, 4); printf(\"D element %d %d\\n\", args[0], *this->number); }}\n\
         {idle} /probemod != \"a.out\" && probemod != \"{{program}}\"/ {{ printf(\"D idle\\n\"); }}\n",
        numbers(8),
        many.trim_end(),
        numbers(12),
    )
}

/// The header and the object of dtrace are compiled as in a project, and the arguments are those that the program prints:
/// also in copies of an inlined function, and in a library that is opened later.
#[test]
fn a_project_with_static_probes() {
    if !can_trace() || !needs::program("clang") {
        return;
    }
    let project = Project::new();
    let (program, library) = (project.path("program"), project.path("later.so"));
    let ways: [(&str, &str, &[&str], bool); 7] = [
        ("gcc", "c", &["-O0"], true),
        ("gcc", "c", &["-O2", "-g"], true),
        ("gcc", "c", &["-O3", "-fPIE", "-std=c11", "-pedantic"], false),
        ("g++", "c++", &["-O2"], true),
        ("clang", "c", &["-O0"], false),
        ("clang", "c", &["-O2", "-std=gnu99"], true),
        ("clang++", "c++", &["-O1"], false),
    ];
    for (compiler, language, options, with_object) in ways {
        let way = format!("{compiler} {options:?}");
        project.compile(compiler, language, options, with_object);
        // The process opens the library after the probes are placed: it is named by its path.
        let either = |one: String, other: String, both| if both { format!("{one},{other}") } else { one };
        let of_process = |name: &str, both: bool| {
            let (own, later) =
                (format!("shop$target:a.out::{name}"), format!("shop$target:{library}::{name}"));
            either(own, later, both)
        };
        let (printed, seen) = project.traced(&script(of_process).replace("{program}", &program));
        assert!(printed.iter().any(|line| line == "start 1000 later"), "{way}: {printed:#?}");
        assert!(printed.iter().any(|line| line == "idle"), "{way}: its own semaphore: {printed:#?}");
        assert_eq!(printed.iter().filter(|line| line.starts_with("done")).count(), 4, "{way}");
        assert_eq!(printed, seen, "{way}");
        let of_files = |name: &str, both: bool| {
            let (own, later) = (format!("usdt:{program}:shop:{name}"), format!("usdt:{library}:shop:{name}"));
            either(own, later, both)
        };
        let (printed, seen) = project.traced(&script(of_files).replace("{program}", &program));
        assert_eq!(printed, seen, "{way}, all processes");
        // They are not traced now.
        let (printed, _) = project.traced("pid$target:a.out:main:entry { }");
        assert!(
            !printed.iter().any(|line| line.starts_with("done") || line == "idle"),
            "{way}: {printed:#?}"
        );
    }
}

/// QEMU's build has a definition for each of its folders, also for those without a probe.
#[test]
fn a_definition_without_probes() {
    let project = Project::new();
    for (name, definition) in
        [("nothing", ""), ("comment", "/* Made. */\n"), ("none", "provider none { };\n")]
    {
        let script = project.path(&format!("{name}.d"));
        std::fs::write(&script, definition).expect("written");
        let [header, object, source, compiled] =
            ["h", "o", "c", "compiled.o"].map(|extension| project.path(&format!("{name}.{extension}")));
        for (option, output) in [("-h", &header), ("-G", &object)] {
            let ran = dtrace(&["-DSTAP_SDT_V2", "-o", output, option, "-s", &script], None);
            assert!(ran.status.success() && ran.stderr.is_empty(), "{option} {name}: {}", text(&ran.stderr));
        }
        std::fs::write(&source, format!("#include \"{name}.h\"\nint main(void) {{ return 0; }}\n"))
            .expect("written");
        run("gcc", &["-Wall", "-Wextra", "-Werror", "-c", &source, "-o", &compiled]);
        run("gcc", &[&compiled, &object, "-o", &project.path(name)]);
    }
}

/// The headers of two folders may have the same probe.
#[test]
fn a_probe_of_two_headers() {
    let project = Project::new();
    project.make(&["-h"], "other.h", &[]);
    let (source, output) = (project.path("both.c"), project.path("both"));
    let text = "#include \"probes.h\"\n#include \"other.h\"\n\
        int main(void) { if (SHOP_IDLE_ENABLED()) SHOP_IDLE(); SHOP_ELEMENT(1L, (int *)0); return 0; }\n";
    std::fs::write(&source, text).expect("written");
    for (compiler, language) in [("gcc", "c"), ("g++", "c++")] {
        run(compiler, &["-Wall", "-Wextra", "-Werror", "-x", language, &source, "-o", &output]);
        assert_eq!(read_by_readelf(&run("readelf", &["--notes", &output])).len(), 2, "{compiler}");
    }
}

/// A definition of the provider gives its arguments types.
#[test]
fn a_definition_of_the_provider_has_the_types() {
    if !can_trace() {
        return;
    }
    let project = Project::new();
    project.compile("gcc", "c", &["-O2", "-g"], true);
    let definition = "struct order { long price; char name[8]; };\n\
         typedef struct { long price; string name; } order_info_t;\n\
         translator order_info_t < struct order *o > { price = o->price; name = stringof(o->name); };\n\
         provider shop { probe order__start(int, string who); \
         probe order__done(int mode, struct order *o, unsigned char count, int last) : \
         (struct order *o, unsigned char count); probe element(long, int *); };\n";
    let script = format!(
        "{definition}\
         shop$target:a.out::order-start {{ printf(\"D start %d %s\\n\", args[0], args[1]); }}\n\
         shop$target:a.out::order-done {{ printf(\"D done %d %d %s %d %d\\n\", (int)arg0, args[0]->price, \
         stringof(args[0]->name), args[1], (int)arg3); }}\n\
         shop$target:a.out::element {{ printf(\"D element %d %d\\n\", args[0], *args[1]); }}\n"
    );
    let (printed, seen) = project.traced(&script);
    let is_meant = |line: &&String| {
        !line.ends_with("later") && ["start", "done", "element"].iter().any(|name| line.starts_with(name))
    };
    assert_eq!(printed.iter().filter(is_meant).collect::<Vec<_>>(), seen.iter().collect::<Vec<_>>());
}

/// gdb stops at the same places, and reads the same arguments.
#[test]
fn arguments_are_those_of_gdb() {
    if !can_trace() || !needs::program("gdb") {
        return;
    }
    let project = Project::new();
    let arguments: [(&str, usize); 5] =
        [("order__start", 2), ("order__done", 4), ("sizes", 8), ("many", 10), ("element", 2)];
    for (compiler, level) in [("gcc", "-O0"), ("gcc", "-O2"), ("gcc", "-O3")] {
        project.compile(compiler, "c", &[level], true);
        let commands = project.path("commands");
        // gdb knows no name of the parts of %r8 to %r15, which compilers choose for `sizes` with -O2.
        let is_read = |name: &str| level == "-O0" || name != "sizes";
        let arguments = || arguments.into_iter().filter(|(name, _)| is_read(name));
        let stops = arguments().map(|(name, count)| {
            let formats = " %ld".repeat(count);
            let values: String = (0..count).map(|n| format!(", (long)$_probe_arg{n}")).collect();
            format!(
                "break -probe-stap shop:{name}\ncommands\nsilent\nprintf \"D {name}{formats}\\n\"{values}\ncontinue\nend\n"
            )
        });
        // The stack is where it is without gdb.
        let start = "set startup-with-shell off\nunset environment LINES\nunset environment COLUMNS\n";
        std::fs::write(&commands, format!("{start}{}run\n", stops.collect::<String>())).expect("written");
        let of_gdb =
            run("setarch", &["-R", "gdb", "-nx", "-batch", "-x", &commands, &project.path("program")]);
        let clauses = arguments().map(|(name, count)| {
            let formats = " %d".repeat(count);
            let values: String = (0..count).map(|n| format!(", (int64_t)args[{n}]")).collect();
            format!("shop$target:a.out::{name} {{ printf(\"D {name}{formats}\\n\"{values}); }}\n")
        });
        let ran = std::process::Command::new("setarch")
            .args([
                "-R",
                env!("CARGO_BIN_EXE_dtrace"),
                "-x",
                "backend=bpf",
                "-qn",
                &clauses.collect::<String>(),
                "-c",
            ])
            .arg(project.path("program"))
            .output()
            .expect("setarch runs");
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let of = |lines: &str| -> Vec<String> {
            lines.lines().filter(|line| line.starts_with("D ")).map(str::to_owned).collect()
        };
        let (of_gdb, of_dtrace) = (of(&of_gdb), of(&text(&ran.stdout)));
        assert_eq!(of_gdb.len(), 4 * (arguments().count() + 1), "{compiler} {level}: {of_gdb:#?}");
        assert_eq!(of_gdb, of_dtrace, "{compiler} {level}");
    }
}

/// A note as readelf shows it: provider, name, location, semaphore, and the text of its arguments.
type Shown = (String, String, u64, u64, usize);

/// The notes of the system's files are those that readelf shows.
#[test]
fn notes_are_those_of_readelf() {
    let mut files: Vec<PathBuf> = ["/usr/bin", "/usr/lib/x86_64-linux-gnu"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten())
        .filter_map(|entry| entry.ok()?.path().canonicalize().ok())
        .collect();
    files.sort();
    files.dedup();
    let (mut with_notes, mut notes, mut unread) = (0, 0, BTreeMap::new());
    for path in files {
        let Some(shown) = read_by_us(&path, &mut unread) else { continue };
        let listed = run("readelf", &["--notes", &path.display().to_string()]);
        let listed = read_by_readelf(&listed);
        assert_eq!(shown, listed, "{}", path.display());
        with_notes += 1;
        notes += shown.len();
    }
    println!("{notes} notes of {with_notes} files; not readable: {unread:?}");
    if with_notes == 0 {
        needs::missing("files with static probes", "install g++: its library has some");
    }
}

fn read_by_us(path: &Path, unread: &mut BTreeMap<String, usize>) -> Option<Vec<Shown>> {
    let file = ElfFile::open(path).ok().filter(|file| file.machine().is_some())?;
    let section = file.debug_section(".note.stapsdt").ok().filter(|section| !section.is_empty())?;
    let symbol = |name: &str| Some(file.symbol(name)?.address);
    let base = file.sections().iter().find(|section| section.name == ".stapsdt.base")?.address;
    let notes =
        StaticNotes { section: &section, machine: file.machine()?, base: Some(base), symbol: &symbol }
            .probes();
    for argument in notes.iter().flat_map(|note| &note.arguments) {
        if let Err(why) = &argument.value {
            *unread.entry(why.to_string()).or_default() += 1;
        }
    }
    let shown = |note: &kinst::sites::StaticProbe| {
        let name = note.name.replace('-', "__");
        (note.provider.clone(), name, note.at, note.semaphore.unwrap_or(0), note.arguments.len())
    };
    Some(notes.iter().map(shown).collect())
}

fn read_by_readelf(listed: &str) -> Vec<Shown> {
    let mut notes = Vec::new();
    let number =
        |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).expect("a number");
    let mut open: Shown = Default::default();
    for line in listed.lines().map(str::trim) {
        if let Some(provider) = line.strip_prefix("Provider: ") {
            open.0 = provider.to_owned();
        } else if let Some(name) = line.strip_prefix("Name: ") {
            open.1 = name.to_owned();
        } else if let Some(places) = line.strip_prefix("Location: ") {
            let parts: Vec<&str> = places.split(", ").collect();
            open.2 = number(parts[0]);
            open.3 = number(parts[2].trim_start_matches("Semaphore: "));
        } else if let Some(arguments) = line.strip_prefix("Arguments:") {
            open.4 = arguments.split_whitespace().count();
            notes.push(std::mem::take(&mut open));
        }
    }
    notes
}
