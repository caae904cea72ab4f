//! tests/model/debugfiles.rs: programs whose debug information is in other files, traced, and compared with their counts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::commands::{run, support};
use crate::live::{can_trace, command, dtrace, text};
use crate::needs;

/// The script that counts like parts.c itself: calls, copies, and members of its types.
pub(crate) const SCRIPT: &str = "
pid$target:a.out:helper:entry {
    @calls = count(); @colours = sum((int)args[0]->colour); @thirds = sum(args[0]->numbers[2]);
    @bits = sum(args[0]->low * 1000 + args[0]->high);
}
pid$target:a.out:inner:entry { @copies = count(); @keys = sum(args[0]->key); }
pid$target:a.out:helper:parts.c@45 { @sums = sum(locals->sum); }
pid$target:a.out:helper:return { @returns = count(); }
END { printf(\"= \"); printa(\"%@d \", @calls); printa(\"%@d \", @copies); printa(\"%@d \", @keys);
    printa(\"%@d \", @colours); printa(\"%@d \", @thirds); printa(\"%@d \", @bits); printa(\"%@d \", @sums);
    printa(\"%@d\\n\", @returns); }";

/// Compiles parts.c in a folder, and links it to a program with a name. The object is `NAME.o`.
pub(crate) fn compile(folder: &Path, name: &str, compiler: &str, options: &[&str]) -> PathBuf {
    let source = folder.join("parts.c");
    std::fs::copy(support("parts.c"), &source).expect("a copy");
    let object = format!("{name}.o");
    let mut build = Command::new(compiler);
    build.args(["-w", "-c", "-o", &object, "parts.c"]).args(options).current_dir(folder);
    assert!(build.status().expect("a compiler").success(), "{compiler} {options:?}");
    let mut link = Command::new(compiler);
    let options = options.iter().filter(|option| option.starts_with("-Wl") || **option == "-static");
    link.args(["-o", name, &object]).args(options).current_dir(folder);
    assert!(link.status().expect("a linker").success());
    folder.join(name)
}

/// Traces the program; returns its own line of counts, and that of the script.
fn traced(program: &Path, script: &str) -> Result<(String, String), String> {
    let ran = dtrace(&["-qn", script, "-c", program.to_str().expect("text")], None);
    let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
    if !ran.status.success() || !stderr.is_empty() {
        return Err(stderr);
    }
    let own = stdout.lines().find(|line| !line.starts_with('=') && line.contains(' '));
    let counted = stdout.lines().find_map(|line| line.strip_prefix("= "));
    Ok((own.expect("a line of the program").to_owned(), counted.expect("a line of dtrace").to_owned()))
}

#[track_caller]
fn counts_are_equal(way: &str, program: &Path) {
    let (own, counted) = traced(program, SCRIPT).unwrap_or_else(|stderr| panic!("{way}: {stderr}"));
    let calls = own.split(' ').next().expect("a number");
    assert_eq!(counted, format!("{own} {calls}"), "{way}");
}

/// The message of a run that fails.
#[track_caller]
fn refused(program: &Path, script: &str) -> String {
    match traced(program, script) {
        Ok(traced) => panic!("{traced:?}"),
        Err(stderr) => stderr,
    }
}

/// The files in a folder with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("a folder").flatten().map(|file| file.path());
    files.filter(|path| path.extension().is_some_and(|end| end == extension)).collect()
}

pub(crate) fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Units of types have the types of some.
#[test]
fn split_programs_are_traced() {
    if !can_trace() || !needs::program("clang") || !needs::program("llvm-dwp") {
        return;
    }
    for compiler in ["gcc", "clang", "g++", "clang++"] {
        for format in ["-gdwarf-4", "-gdwarf-5"] {
            for more in [&["-O0"][..], &["-O2"], &["-O2", "-fdebug-types-section"]] {
                let dir = tempfile::tempdir().expect("a directory");
                let language: &[&str] = if compiler.ends_with("++") { &["-x", "c++"] } else { &[] };
                let options = [language, &["-g", format, "-gsplit-dwarf"], more].concat();
                let program = compile(dir.path(), "parts", compiler, &options);
                let way = format!("{compiler} {options:?}");
                // The skeleton has no functions.
                let dump =
                    run("readelf", &["--debug-dump=info", "--debug-dump=no-follow-links", path(&program)]);
                assert!(dump.contains("dwo_id") || dump.contains("DWO ID"), "{way}: {dump}");
                assert!(!dump.contains("DW_TAG_formal_parameter"), "{way}");
                counts_are_equal(&way, &program);
                // With gcc's DWARF 5, dwp of binutils 2.40 crashes, and llvm-dwp 14 hangs.
                let packer = match (compiler.starts_with('g'), format) {
                    (true, "-gdwarf-5") => needs::program("llvm-dwp-19").then_some("llvm-dwp-19"),
                    (true, _) => Some("dwp"),
                    _ => Some("llvm-dwp"),
                };
                if let Some(packer) = packer {
                    let package = dir.path().join("parts.dwp");
                    let mut pack = Command::new(packer);
                    pack.args(["-e", path(&program), "-o", path(&package)]).current_dir(dir.path());
                    assert!(pack.status().expect("a packer").success(), "{way}");
                    for file in files(dir.path(), "dwo") {
                        std::fs::remove_file(file).expect("removed");
                    }
                    counts_are_equal(&format!("{way}, packed"), &program);
                }
            }
        }
    }
}

/// rustc packs its files by itself.
#[test]
fn split_programs_of_rust_are_traced() {
    if !can_trace() || !needs::program("rustc") {
        return;
    }
    let source = "
        pub struct Pair { pub one: u32, pub other: u64 }
        #[inline(always)] fn inner(pair: &Pair) -> u64 { std::hint::black_box(pair.other) + 1 }
        #[unsafe(no_mangle)] pub extern \"C\" fn helper(pair: &Pair) -> u64 { inner(pair) + u64::from(pair.one) }
        fn main() {
            let helper: extern \"C\" fn(&Pair) -> u64 = std::hint::black_box(helper);
            let (mut calls, mut sum) = (0, 0);
            for i in 0..50 { let pair = Pair { one: i, other: 3 }; calls += 1; sum += pair.one; helper(&pair); }
            println!(\"{calls} {sum}\");
        }";
    let script = "pid$target:a.out:helper:entry { @a = sum(args[0]->one); }
        pid$target:a.out:inner:entry { @b = count(); }
        END { printf(\"= \"); printa(\"%@d \", @b); printa(\"%@d\\n\", @a); }";
    for kind in ["packed", "unpacked"] {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("split.rs"), source).expect("written");
        let mut rustc = Command::new("rustc");
        rustc.args(["-g", "-Copt-level=1", &format!("-Csplit-debuginfo={kind}"), "split.rs"]);
        assert!(rustc.current_dir(dir.path()).status().expect("rustc").success());
        let extension = if kind == "packed" { "dwp" } else { "dwo" };
        assert!(!files(dir.path(), extension).is_empty());
        let (own, counted) = traced(&dir.path().join("split"), script).expect("traced");
        assert_eq!(own, counted, "{kind}");
    }
}

/// gdb reads the same values from the same files.
#[test]
fn values_of_split_programs_are_those_of_gdb() {
    if !can_trace() || !needs::program("gdb") {
        return;
    }
    for format in ["-gdwarf-4", "-gdwarf-5"] {
        let dir = tempfile::tempdir().expect("a directory");
        let program = compile(dir.path(), "parts", "gcc", &["-g", "-O2", "-gsplit-dwarf", format]);
        let expressions =
            ["box->node.key", "box->node.next->key", "box->numbers[2]", "box->high", "number", "sum"];
        let commands: Vec<String> = ["break parts.c:45 if number == 33", "run"]
            .map(str::to_owned)
            .into_iter()
            .chain(expressions.map(|expression| format!("print {expression}")))
            .collect();
        let mut arguments = vec!["-nx", "-batch"];
        arguments.extend(commands.iter().flat_map(|command| ["-ex", command]));
        arguments.push(path(&program));
        let of_gdb = run("gdb", &arguments);
        let of_gdb: Vec<&str> =
            of_gdb.lines().filter_map(|line| line.strip_prefix('$')?.split(" = ").nth(1)).collect();
        let values = expressions.map(|expression| format!("locals->{expression}")).join(", ");
        let script = format!(
            "pid$target:a.out:helper:parts.c@45 /locals->number == 33/ {{ printf(\"= %d %d %d %d %d %d\\n\", {values}); }}"
        );
        let (_, of_dtrace) = traced(&program, &script).expect("traced");
        assert_eq!(of_dtrace, of_gdb.join(" "), "{format}");
    }
}

/// A function that may be in a file that is missing is not said to be unknown.
#[test]
fn missing_split_files_are_named() {
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    for (compiler, format) in [("gcc", "-gdwarf-4"), ("gcc", "-gdwarf-5"), ("clang", "-gdwarf-5")] {
        if !needs::program(compiler) {
            return;
        }
        let options = ["-g", "-O2", "-gsplit-dwarf", format];
        let program = compile(dir.path(), "parts", compiler, &options);
        let kept = dir.path().join("parts.kept");
        let file = dir.path().join("parts.dwo");
        std::fs::rename(&file, &kept).expect("moved");
        let missing =
            format!("the file {}, which has the debug information of parts.c, is missing", path(&file));
        let copies = refused(&program, "pid$target:a.out:inner:entry { }");
        assert!(copies.contains(&missing) && copies.contains("`inner` is unknown"), "{copies}");
        let typed = refused(&program, "pid$target:a.out:helper:entry { trace(args[1]); }");
        assert!(typed.contains(&missing) && typed.contains("the type of this argument"), "{typed}");
        let line = refused(&program, "pid$target:a.out:helper:L45 { }");
        assert!(line.contains(&missing), "{line}");
        let variable = refused(&program, "pid$target:a.out:helper:parts.c@45 { trace(locals->sum); }");
        assert!(variable.contains(&missing), "{variable}");
        // The functions themselves, and the lines, are in the program.
        let ran =
            dtrace(&["-qn", "pid$target:a.out:helper:entry { @ = count(); }", "-c", path(&program)], None);
        assert!(ran.status.success() && text(&ran.stdout).contains(" 100\n"), "{}", text(&ran.stdout));
        assert!(text(&ran.stderr).contains(&format!("= note: {missing}")), "{}", text(&ran.stderr));
        // Another build has another id.
        compile(dir.path(), "other", compiler, &[&options[..], &["-Dcalls=others"]].concat());
        if format == "-gdwarf-4" {
            let mut pack = Command::new("dwp");
            pack.args(["-e", "other", "-o", "parts.dwp"]).current_dir(dir.path());
            assert!(pack.status().expect("dwp").success());
            let package = path(&dir.path().join("parts.dwp")).to_owned();
            let other = refused(&program, "pid$target:a.out:inner:entry { }");
            assert!(other.contains(&format!("{missing}, and {package} belongs to another build")), "{other}");
            std::fs::write(&package, "no ELF").expect("written");
            let damaged = refused(&program, "pid$target:a.out:inner:entry { }");
            assert!(
                damaged.contains(&format!("{missing}, and {package} is not a readable ELF file")),
                "{damaged}"
            );
            std::fs::remove_file(&package).expect("removed");
        }
        std::fs::rename(dir.path().join("other.dwo"), &file).expect("moved");
        let other = refused(&program, "pid$target:a.out:inner:entry { }");
        assert!(other.contains("parts.c, belongs to another build of the program"), "{other}");
        std::fs::write(&file, "no ELF").expect("written");
        let damaged = refused(&program, "pid$target:a.out:inner:entry { }");
        assert!(damaged.contains("cannot be read: ") && damaged.contains("parts.dwo"), "{damaged}");
        std::fs::rename(&kept, &file).expect("moved");
        counts_are_equal(format, &program);
    }
}

#[test]
fn files_that_dwz_shares() {
    if !can_trace() || !needs::program("dwz") {
        return;
    }
    for format in ["-gdwarf-4", "-gdwarf-5"] {
        let dir = tempfile::tempdir().expect("a directory");
        let options = ["-g", "-O2", format, "-Wl,--build-id"];
        let programs = ["one", "two", "three"].map(|name| compile(dir.path(), name, "gcc", &options));
        let mut dwz = Command::new("dwz");
        dwz.args(["-m", "shared.debug", "one", "two", "three"]).current_dir(dir.path());
        assert!(dwz.status().expect("dwz").success());
        for program in &programs {
            let sections = run("readelf", &["-SW", path(program)]);
            assert!(sections.contains(".gnu_debugaltlink"), "{sections}");
            counts_are_equal(format, program);
        }
        let shared = dir.path().join("shared.debug");
        let kept = dir.path().join("kept");
        std::fs::rename(&shared, &kept).expect("moved");
        for script in
            ["pid$target:a.out:inner:entry { }", "pid$target:a.out:helper:entry { trace(args[0]->colour); }"]
        {
            let missing = refused(&programs[0], script);
            assert!(missing.contains("which is missing: shared.debug"), "{missing}");
        }
        std::fs::copy(compile(dir.path(), "other", "gcc", &["-g", "-O1", "-Wl,--build-id"]), &shared)
            .expect("a copy");
        let other = refused(&programs[0], "pid$target:a.out:inner:entry { }");
        assert!(other.contains(&format!("{} belongs to another build", path(&shared))), "{other}");
    }
}

/// Moves the debug information of a program to a separate file, with a link to it.
fn separate(program: &Path, file: &Path) {
    run("objcopy", &["--only-keep-debug", path(program), path(file)]);
    run("strip", &[path(program)]);
    run("objcopy", &[&format!("--add-gnu-debuglink={}", path(file)), path(program)]);
}

#[test]
fn separate_files_and_their_checks() {
    if !can_trace() {
        return;
    }
    for (id, format) in [("-Wl,--build-id", "-gdwarf-5"), ("-Wl,--build-id=none", "-gdwarf-4")] {
        for level in ["-O0", "-O2"] {
            let dir = tempfile::tempdir().expect("a directory");
            let program = compile(dir.path(), "parts", "gcc", &["-g", level, format, id]);
            let debug = dir.path().join("parts.debug");
            separate(&program, &debug);
            counts_are_equal(&format!("{id} {level}"), &program);
            // gdb has the same opinion of the file.
            std::fs::create_dir(dir.path().join(".debug")).expect("a folder");
            std::fs::rename(&debug, dir.path().join(".debug/parts.debug")).expect("moved");
            counts_are_equal(&format!("{id} {level} .debug/"), &program);
            let other = compile(dir.path(), "other", "gcc", &["-g", level, "-Dcalls=others", format, id]);
            std::fs::rename(other, dir.path().join(".debug/parts.debug")).expect("moved");
            let refused = refused(&program, "pid$target:a.out:inner:entry { }");
            assert!(refused.contains(".debug/parts.debug belongs to another build"), "{id}: {refused}");
            assert_eq!(refused.contains("its CRC is"), id.ends_with("none"), "{refused}");
        }
    }
}

/// A process with another root directory.
struct Contained(Child);

impl Drop for Contained {
    fn drop(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("waited for");
    }
}

/// The files are those of the process's root, by build id and beside the program.
#[test]
fn files_in_the_root_of_a_process() {
    if !can_trace() || !needs::program("unshare") {
        return;
    }
    let separate_file = |root: &Path| {
        let program = compile(&root.join("app"), "parts", "gcc", &["-g", "-O2", "-static", "-Wl,--build-id"]);
        let id = build_id(&program);
        let folder = root.join("usr/lib/debug/.build-id").join(&id[..2]);
        std::fs::create_dir_all(&folder).expect("a folder");
        run(
            "objcopy",
            &["--only-keep-debug", path(&program), path(&folder.join(format!("{}.debug", &id[2..])))],
        );
        run("strip", &[path(&program)]);
    };
    let split_files = |root: &Path| {
        // The compiler's path is nowhere, so the file is looked for beside the program.
        let map = format!("-fdebug-prefix-map={}=/nowhere", path(root));
        compile(&root.join("app"), "parts", "gcc", &["-g", "-O2", "-static", "-gsplit-dwarf", &map]);
    };
    for make in [&separate_file as &dyn Fn(&Path), &split_files] {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(root.path().join("app")).expect("a folder");
        make(root.path());
        let mut unshare = Command::new("unshare");
        unshare.args(["-m", "chroot", path(root.path()), "/app/parts", "on"]);
        let process = Contained(unshare.spawn().expect("unshare"));
        let pid = process.0.id();
        let runs = |pid: u32| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("app/parts"))
        };
        while !runs(pid) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let number = pid.to_string();
        for description in ["pid$target:a.out".to_owned(), format!("uprobe:/proc/{pid}/root/app/parts")] {
            let script = format!("{description}:inner:entry /args[0]->key >= 0 && ++n == 20/ {{ exit(0); }}");
            let ran = command(&["-qn", &script, "-p", &number]).output().expect("dtrace runs");
            assert!(ran.status.success() && ran.stderr.is_empty(), "{description}: {}", text(&ran.stderr));
        }
    }
}

/// A stripped program has some symbols in a packed section.
#[test]
fn packed_symbols() {
    if !can_trace() || !needs::program("xz") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = compile(dir.path(), "parts", "gcc", &["-g", "-O2"]);
    let own: Vec<String> = symbols(&program);
    let mini = dir.path().join("mini");
    run("objcopy", &["-S", "--keep-symbol=helper", "--keep-symbol=main", path(&program), path(&mini)]);
    run("objcopy", &["--only-keep-debug", path(&mini)]);
    run("xz", &[path(&mini)]);
    run("strip", &[path(&program)]);
    assert!(own.contains(&"helper".to_owned()) && symbols(&program).is_empty());
    let packed = dir.path().join("mini.xz");
    let with = |section: &Path| {
        let to = dir.path().join("packed");
        run(
            "objcopy",
            &[&format!("--add-section=.gnu_debugdata={}", path(section)), path(&program), path(&to)],
        );
        to
    };
    let script =
        "pid$target:a.out:helper:entry { @a = count(); } pid$target:a.out:helper:return { @b = count(); }
        pid$target:a.out:helper:0 { @c = count(); }
        END { printf(\"= \"); printa(\"%@d \", @a); printa(\"%@d \", @b); printa(\"%@d\\n\", @c); }";
    assert_eq!(traced(&with(&packed), script).expect("traced").1, "100 100 100");
    // A damaged section is named.
    let whole = std::fs::read(&packed).expect("a file");
    for (cut, text) in [(whole.len() / 2, "half"), (0, "none")] {
        let damaged = dir.path().join(text);
        std::fs::write(&damaged, [&whole[..cut], b"?"].concat()).expect("written");
        let refused = refused(&with(&damaged), script);
        assert!(
            refused.contains(".gnu_debugdata: ") && refused.contains("no function `helper`"),
            "{refused}"
        );
    }
}

/// The functions that gdb's symbols have, by nm.
fn symbols(program: &Path) -> Vec<String> {
    let output = Command::new("nm").arg(program).output().expect("nm");
    text(&output.stdout).lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect()
}

/// The build id of a file, by readelf.
pub(crate) fn build_id(file: &Path) -> String {
    let notes = run("readelf", &["-n", path(file)]);
    notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("an id").to_owned()
}
