//! tests/outside/cli.rs: the commands dtrace and inlinecall, run by a user without the kernel module: exit statuses,
//! standard output and standard error.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::needs;
use crate::snapshot;

/// A finished command.
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

fn run(program: &str, arguments: &[&str]) -> Ran {
    let output = Command::new(program)
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        status: output.status.code().expect("no signal"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn dtrace(arguments: &[&str]) -> Ran {
    run(env!("CARGO_BIN_EXE_dtrace"), arguments)
}

fn inlinecall(arguments: &[&str]) -> Ran {
    run(env!("CARGO_BIN_EXE_inlinecall"), arguments)
}

/// Checks that the command fails with this status, with all of this on standard error and nothing on standard output.
#[track_caller]
pub(crate) fn refused(arguments: &[&str], status: i32, says: &[&str]) {
    let ran = dtrace(arguments);
    assert_eq!(ran.status, status, "{arguments:?}\n{}", ran.stderr);
    assert_eq!(ran.stdout, "", "{arguments:?}");
    for text in says {
        assert!(ran.stderr.contains(text), "{arguments:?}: no {text:?} in\n{}", ran.stderr);
    }
    assert!(ran.stderr.starts_with("dtrace: "), "{}", ran.stderr);
}

/// Checks that the command succeeds with nothing on standard error; returns its output.
#[track_caller]
pub(crate) fn accepted(arguments: &[&str]) -> String {
    let ran = dtrace(arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    ran.stdout
}

fn support(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

/// Makes a file with this text in a separate directory.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(name);
    std::fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    (dir, path)
}

#[test]
fn usage() {
    let ran = dtrace(&[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Usage: dtrace"), "{}", ran.stderr);
    refused(&["-y"], 2, &["'-y'", "Usage: dtrace", "--help"]);
    refused(&["--nosuch"], 2, &["'--nosuch'", "Usage: dtrace"]);
    refused(&["-n"], 2, &["a value is required for '--name <PROBE>'"]);
    refused(&["-l", "-V"], 2, &["-l, -V and --index exclude each other"]);
    refused(&["-39", "-n", "BEGIN"], 2, &["illegal option -- 39"]);
    refused(&["-32", "-n", "BEGIN"], 2, &["only the 64-bit data model"]);
    refused(&["--message-format=xml", "-e", "-n", "BEGIN"], 2, &["expected text or json"]);
    refused(&["-i", "one"], 2, &["-i one", "expected a probe id"]);
    let help = accepted(&["--help"]);
    for part in
        ["--name", "--sysroot", "Programs:", "Exit status:", "Environment:", "DTRACE_OPT_NAME", "Examples:"]
    {
        assert!(help.contains(part), "{part}");
    }
    assert!(accepted(&["-V"]).starts_with("dtrace: Sun D 1."));
    let options = accepted(&["-x", "help"]);
    assert!(options.lines().all(|line| line.chars().count() <= 132), "{options}");
    let line = |name: &str| options.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(line("  bufsize=SIZE").contains("(-b) [4m]"), "{options}");
    assert!(line("  missinglocals=error|zero|skip").contains("[error]"), "{options}");
}

/// Every option of the manual works with -e, if it is meaningful there, or is refused with a message.
#[test]
fn every_option_works_or_is_refused() {
    let (_dir, script) = file("s.d", "BEGIN { trace($1 + VALUE); trace($$2); }\n");
    for arguments in [
        &["-e", "-64", "-n", "BEGIN"][..],
        &["-e", "-n", "BEGIN { trace(1); }", "-n", "END"],
        &["-e", "-P", "dtrace", "-m", "vmlinux", "-f", "vfs_read", "-i", "1"],
        &["-e", "-P", "fbt { trace(pid); }", "-f", "vfs_read /pid > 1/ { trace(arg0); }"],
        &["-e", "-q", "-F", "-Z", "-w", "-b", "1m", "-n", "BEGIN"],
        &["-e", "-x", "bufsize=64k", "-xquiet", "-x", "strsize=32", "-n", "BEGIN"],
        &["-e", "-C", "-D", "VALUE=2", "-U", "OTHER", "-I", ".", "-X", "s", "-s", &script, "7", "x"],
        &["-e", "-o", "/nowhere/out", "-c", "/bin/true", "-p", "1", "-n", "BEGIN { trace($target); }"],
        &["-e", "-n", "BEGIN { trace($1); trace($$2); trace($pid + $uid); }", "5", "five"],
        &["-e", "-x", "defaultargs", "-n", "BEGIN { trace($1); }"],
        &["--execute-nothing", "--name", "BEGIN", "--quiet"],
    ] {
        assert_eq!(accepted(arguments), "", "{arguments:?}");
    }
    for option in ["-a", "-A", "-B"] {
        refused(&[option, "-n", "BEGIN"], 1, &[&format!("{option}: ")]);
    }
    refused(&["-e"], 1, &["no probes specified", "-s FILE"]);
    refused(&["BEGIN { exit(0); }"], 1, &["no probes specified", "comes after -n: -n 'BEGIN { exit(0); }'"]);
    refused(&["-p", "self", "-e", "-n", "BEGIN"], 1, &["invalid pid: self"]);
    refused(&["-x", "nosuchoption", "-n", "BEGIN"], 1, &["Invalid option name", "-x help"]);
    refused(&["-x", "quite", "-n", "BEGIN"], 1, &["Invalid option name", "did you mean 'quiet'?"]);
    refused(&["-x", "strsize=much", "-n", "BEGIN"], 1, &["Invalid value", "a size such as"]);
    refused(&["-x", "dump=all", "-n", "BEGIN"], 1, &["one of ast, plain, typed, dif"]);
    refused(&["-s", "/nowhere/s.d"], 1, &["failed to open /nowhere/s.d: No such file or directory"]);
    refused(&["-e", "-n", "BEGIN { getf(1); }"], 1, &["getf() does not exist on Linux"]);
}

/// -L and syslibdir: libraries are read in the order of their dependencies; one with an unmet dependency is
/// skipped, one with an error is reported.
#[test]
fn libraries_of_a_directory_are_read() {
    let (dir, path) = file("b.d", "#pragma D depends_on library a.d\ninline int twice[int x] = x + one;\n");
    let folder = path.trim_end_matches("/b.d");
    std::fs::write(dir.path().join("a.d"), "inline int one = 1;\ntypedef int own_t;\n").unwrap();
    let unmet = "#pragma D depends_on module nosuchmodule\ninline int one = 2;\n";
    std::fs::write(dir.path().join("c.d"), unmet).unwrap();
    std::fs::write(dir.path().join("README"), "not D").unwrap();
    accepted(&["-L", folder, "-e", "-n", "BEGIN { trace((own_t)twice[pid]); }"]);
    accepted(&["-x", &format!("syslibdir={folder}"), "-e", "-n", "BEGIN { trace(twice[pid]); }"]);
    refused(&["-xnolibs", "-L", folder, "-e", "-n", "BEGIN { trace(one); }"], 1, &["`one` is not defined"]);
    refused(&["-xnolibs", "-e", "-n", "BEGIN { trace(AF_INET); }"], 1, &["`AF_INET` is not defined"]);
    accepted(&["-e", "-n", "BEGIN { trace(AF_INET); trace(curcpu->cpu_id); }"]);
    let ran = dtrace(&["-L", "/nowhere", "-e", "-n", "BEGIN"]);
    let says = "dtrace: no D libraries were read from /nowhere: No such file or directory\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (0, says));
    std::fs::write(dir.path().join("d.d"), "inline int wrong = \"text\";\n").unwrap();
    refused(&["-L", folder, "-e", "-n", "BEGIN"], 1, &["failed to compile library", "d.d\", line 1: "]);
}

/// The built-in libraries, read from a directory, where none is skipped silently.
#[test]
fn every_library_fits_every_kernel() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dlib");
    // Each kernel fits one of these two; two other libraries have an alternative for kernels that lack the types.
    let alternatives = ["iodentry.d", "iodentry_union.d"];
    for (kernel, root) in needs::kernels() {
        let fits = |left_out: [&str; 3]| {
            let dir = tempfile::tempdir().expect("a directory");
            for entry in std::fs::read_dir(&own).expect("the libraries") {
                let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("an entry");
                let wanted = left_out.iter().all(|left_out| name != *left_out);
                if path.extension().is_some_and(|end| end == "d") && wanted {
                    std::fs::copy(path, dir.path().join(name)).expect("a copy");
                }
            }
            let libraries = format!("syslibdir={}", dir.path().display());
            let root = root.to_str().expect("UTF-8");
            dtrace(&["--sysroot", root, "-x", &libraries, "-e", "-n", "BEGIN"])
        };
        let plain = alternatives.map(|file| fits([file, "fsmount.d", "blockdev.d"]));
        let failed: Vec<&Ran> = plain.iter().filter(|ran| ran.status != 0).collect();
        assert_eq!(failed.len(), 1, "{kernel}: {}{}", plain[0].stderr, plain[1].stderr);
        assert!(failed[0].stderr.contains("/iodentry"), "{kernel}: {}", failed[0].stderr);
        let left_out = alternatives[usize::from(plain[0].status != 0)];
        for (left_out, file) in [
            ([left_out, "fsmount_none.d", "blockdev.d"], "/fsmount.d"),
            ([left_out, "fsmount.d", "blockdev_none.d"], "/blockdev.d"),
        ] {
            let ran = fits(left_out);
            // 6.1 has the types; for other kernels, only that library may not fit.
            assert!(
                ran.status == 0 || kernel != "6.1" && ran.stderr.contains(file),
                "{kernel}: {}",
                ran.stderr
            );
        }
    }
}

/// A file is rewritten only if it parses; its meaning does not change.
#[test]
fn fmt_rewrites_a_script() {
    let (_dir, script) = file("s.d", "BEGIN{x=1;/* one */exit(0)}\n");
    accepted(&["--fmt", &script]);
    let text = std::fs::read_to_string(&script).unwrap();
    assert_eq!(text, "BEGIN\n{\n\tx = 1; /* one */\n\texit(0);\n}\n");
    std::fs::write(&script, "BEGIN { x = ; }\n").unwrap();
    refused(&["--fmt", &script], 1, &["line 1: expected an expression"]);
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "BEGIN { x = ; }\n");
}

/// Common errors of new users are reported with the place, the reason, and a correction.
#[test]
fn mistakes_are_explained() {
    refused(
        &["-e", "-n", "BEGIN { prinft(\"x\"); }"],
        1,
        &["function `prinft` is not defined", "1 │ BEGIN", "^^^^^^", "did you mean `printf()`?"],
    );
    refused(
        &["-e", "-n", "BEGIN { trace(execnam); }"],
        1,
        &["`execnam` is not defined", "^^^^^^^", "did you mean `execname`?"],
    );
    refused(
        &["-e", "-n", "BEGIN { trace(1) "],
        1,
        &["`{` is never closed", "this `{` is open", "add the closing `}`"],
    );
    refused(&["-e", "-n", "BEGIN { x = ; }"], 1, &["expected an expression, found `;`", "^"]);
    refused(&["-e", "-n", "BEGIN { trace($1); }"], 1, &["$1 is not defined", "defaultargs"]);
    refused(&["-xerrtags", "-e", "-n", "BEGIN { x = ; }"], 1, &["[D_SYNTAX]"]);
    let (_dir, script) = file("s.d", "BEGIN\n{\n\ttrace(\"unfinished);\n}\n");
    refused(&["-e", "-s", &script], 1, &["failed to compile script", "line 3", "s.d:3:"]);
    let ran = dtrace(&["--message-format=json", "-e", "-n", "BEGIN { x = ; }"]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1));
    let object: serde_json::Value = serde_json::from_str(&ran.stderr).expect("JSON");
    assert_eq!((&object["tag"], &object["labels"][0]["column"]), (&"D_SYNTAX".into(), &13.into()));
}

/// Tracing needs the module: if it is missing, that is reported at once, with help.
#[test]
fn without_the_module() {
    if Path::new("/dev/dtrace/kinst").exists() {
        return needs::missing("machine without the module", "rmmod kinst");
    }
    for arguments in [&["-n", "BEGIN"][..], &["-n", "syntax error {"], &["-c", "/nowhere", "-n", "BEGIN"]] {
        let ran = dtrace(&[&["-x", "backend=module"][..], arguments].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{arguments:?}");
        let not_root = ran.stderr.contains("additional privileges") && ran.stderr.contains("as root");
        let not_loaded = ran.stderr.contains("cannot be loaded") && ran.stderr.contains("dtrace doctor");
        assert!(not_root || not_loaded, "{}", ran.stderr);
    }
    let ran = dtrace(&["-x", "backend=module", "-dn", "BEGIN"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ":::BEGIN\n{\n}\n\n"), "-d needs no module");
    assert!(ran.stderr.contains("to print the program without tracing, add -e"), "{}", ran.stderr);
}

#[test]
fn the_program_after_sugar_is_printed() {
    let text = accepted(&[
        "-edn",
        "BEGIN /pid != 0/ { if (pid == $1) trace(\"a\\tb\"); else x = (1 + 2) * 0x10; }",
        "7",
    ]);
    assert!(
        text.contains(":::BEGIN\n/!self->%error && this->%condition_2/\n{\n        trace(\"a\\tb\");\n}\n\n"),
        "{text}"
    );
    assert!(text.contains("this->%condition_2 = this->%condition_1 && pid == 7;"), "{text}");
    assert!(text.contains("x = (1 + 2) * 0x10;"), "{text}");
    // The output can be run, and prints itself.
    assert_eq!(accepted(&["-edn", &text]), text);
    let plain = accepted(&[
        "-edn",
        "fbt::vfs_read:entry, kinst::vfs_read:4 { @[stack(3), \"x\"] = quantize(arg2); }",
    ]);
    assert_eq!(
        plain,
        "fbt::vfs_read:entry,\nkinst::vfs_read:4\n{\n        @[stack(3), \"x\"] = quantize(arg2);\n}\n\n"
    );
    assert_eq!(accepted(&["-edn", &plain]), plain);
}

#[test]
fn trees_and_listings_are_on_standard_error() {
    let dumped = |arguments: &[&str]| {
        let program = "BEGIN /pid > 1/ { x = 1 + 2; @[x] = count(); if (x) trace(x); }";
        let all = [&["-e"], arguments, &["-n", program]].concat();
        let ran = dtrace(&all);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{all:?}\n{}", ran.stderr);
        ran.stderr
    };
    for (arguments, contains) in [
        (&["-x", "dump=ast"][..], "if"),
        (&["-x", "dump=plain"], "%condition_1"),
        (&["-x", "dump=typed"], "gt (signed): int"),
        (&["-x", "dump=dif"], "DIFO 0x0 returns"),
        (&["-xtree=1"], "clause\n  probe :::BEGIN"),
        (&["-xtree=2"], "gt (signed): int"),
        (&["-xtree=8"], ":::BEGIN\n{\n"),
        (&["-S"], "OFF OPCODE      INSTRUCTION\n00: "),
    ] {
        let text = dumped(arguments);
        assert!(text.contains(contains), "{arguments:?}: no {contains:?} in\n{text}");
    }
    assert!(dumped(&["-xtree=1"]).contains("if") && !dumped(&["-x", "dump=plain"]).contains("\n  if"));
    assert!(dumped(&["-x", "dump=dif"]).contains("aggregation"), "{}", dumped(&["-x", "dump=dif"]));
    refused(&["-e", "-xtree=x", "-n", "BEGIN"], 1, &["expected a number"]);
}

#[test]
fn scripts() {
    let (_dir, script) = file(
        "hello.d",
        "#!/usr/sbin/dtrace -qs\n/* a comment */\n#pragma D option quiet\nBEGIN { printf(\"%s\\n\", $$1); }\n",
    );
    assert_eq!(accepted(&["-e", "-s", &script, "argument"]), "");
    assert_eq!(
        accepted(&["-eds", &script, "argument"]),
        ":::BEGIN\n{\n        printf(\"%s\\n\", \"argument\");\n}\n\n"
    );
    let (_dir, script) = file("cpp.d", "#!/usr/sbin/dtrace -Cs\n#define X 3\nBEGIN { trace(X + Y); }\n");
    assert_eq!(accepted(&["-ed", "-D", "Y=4", "-Cs", &script]), ":::BEGIN\n{\n        trace(3 + 4);\n}\n\n");
    let (_dir, script) = file("wrong.d", "#define X oops()\n\nEND { X; }\n");
    refused(&["-e", "-Cs", &script], 1, &["wrong.d: line 3", "function `oops` is not defined"]);
    let (_dir, script) = file("cpp.d", "#error wanted\n");
    refused_by_cpp(&script);
}

fn refused_by_cpp(script: &str) {
    let ran = dtrace(&["-e", "-Cs", script]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("Preprocessor failed to process input program"), "{}", ran.stderr);
}

/// Makes a sysroot with a small program as its kernel.
pub(crate) fn sysroot() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let boot = dir.path().join("usr/lib/debug/boot");
    std::fs::create_dir_all(&boot).expect("directories");
    compile(&["-O2", "-g", "-no-pie"], &boot.join("vmlinux-6.6.6"));
    dir
}

fn compile(options: &[&str], to: &Path) {
    let to = to.to_str().expect("UTF-8");
    let ran = run("gcc", &[options, &["-o", to, &support("calls.c")]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn a_kernel_under_a_sysroot() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("UTF-8");
    let text = accepted(&["--sysroot", root, "-edn", "kinst::leaf:entry { trace(pid); }"]);
    let descriptions: Vec<&str> = text.lines().filter(|line| line.starts_with("kinst::")).collect();
    // Once in one(), twice through middle() in two().
    assert_eq!(descriptions.len(), 3, "{text}");
    assert!(descriptions.iter().any(|line| line.starts_with("kinst::one:")), "{text}");
    assert_eq!(accepted(&["--sysroot", root, "-edn", &text]), text, "it means the same when pasted");
    let both =
        accepted(&["--sysroot", root, "-edn", "kinst::leaf:entry, kinst::leaf:return { trace(pid); }"]);
    assert!(both.lines().filter(|line| line.starts_with("kinst::")).count() > 3, "{both}");
    refused(
        &["--sysroot", root, "-e", "-n", "kinst::laef:entry"],
        1,
        &["no function `laef`", "did you mean `leaf`", "^^^"],
    );
    refused(&["--sysroot", "/nowhere", "-e", "-n", "kinst::leaf:entry"], 1, &["/nowhere"]);
    let ran = dtrace(&["--sysroot", root, "-v", "-e", "-n", "kinst::leaf:entry"]);
    assert!(ran.status == 0 && ran.stdout.contains("\nkinst::one:"), "{}{}", ran.stdout, ran.stderr);
}

/// After indexing: lookups by name, by glob, and without an index.
#[test]
fn the_index_of_a_sysroot() {
    let dir = sysroot();
    let (root, cache) = (dir.path().join("root"), dir.path().join("cache"));
    std::fs::create_dir_all(root.join("usr/lib/debug/boot")).expect("directories");
    compile(&["-O2", "-g", "-no-pie", "-Wl,--build-id"], &root.join("usr/lib/debug/boot/vmlinux-6.6.6"));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
        command.args(["--sysroot", root.to_str().expect("UTF-8")]).args(arguments);
        let output = command.env("NO_COLOR", "1").env("XDG_CACHE_HOME", &cache).output().expect("dtrace");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let made = || std::fs::read_dir(cache.join("kinst/index")).map_or(0, Iterator::count);
    let leaf = ["-edn", "kinst::leaf:entry, kinst::leaf:return"];
    let (status, walked, said) = run(&[&["--no-cache"][..], &leaf].concat());
    assert_eq!((status, said.as_str(), made()), (Some(0), "", 0), "nothing is cached");
    for before in [0, 1] {
        let (status, told, said) = run(&["--index"]);
        assert_eq!((status, said.as_str()), (Some(0), ""));
        let files = format!("1 files of debug information ({before} already indexed)");
        assert!(told.starts_with("6.6.6: ") && told.contains(&files), "{told}");
        assert_eq!(made(), 2);
    }
    assert_eq!(run(&leaf), (Some(0), walked, String::new()));
    let (status, all, said) = run(&["-edn", "kinst::*e*:entry"]);
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert!(all.matches("kinst::").count() > 3, "{all}");
    let (status, none, said) = run(&["-x", "maxprobes=2", "-edn", "kinst::*e*:entry"]);
    assert_eq!((status, none.as_str()), (Some(1), ""));
    assert!(said.contains("option maxprobes allows 2") && said.contains("-x maxprobes="), "{said}");
    // The cache cannot be created.
    std::fs::remove_dir_all(&cache).expect("our directory");
    std::fs::write(&cache, "").expect("a file");
    let (status, _, said) = run(&["--index"]);
    assert!(status == Some(1) && said.contains("cannot store the index in"), "{said}");
    assert_eq!(run(&leaf).0, Some(0), "it is done without");
}

/// The report covers each program of the command line, then each of its descriptions.
#[test]
fn stability_is_reported() {
    let three = |names: &str, data: &str, class: &str| {
        format!(
            "\t\tIdentifier Names: {names}\n\t\tData Semantics:   {data}\n\t\tDependency Class: {class}\n"
        )
    };
    let stable = three("Stable", "Stable", "Common");
    let report = accepted(&["-e", "-v", "-n", "dtrace:::BEGIN { trace(1); }"]);
    let expected = format!(
        "\nStability attributes for description dtrace:::BEGIN :\n\
         \n\tMinimum Probe Description Attributes\n{stable}\n\tMinimum Statement Attributes\n{stable}\
         \ndtrace:::BEGIN\n\
         \n\tProbe Description Attributes\n{stable}\n\tArgument Attributes\n{stable}\n\tArgument Types\n\t\tNone\n\n"
    );
    assert_eq!(report, expected);
    let text = "provider own { probe go(int a, char *b) : (char *b, int a); };
        #pragma D attributes Evolving/Unstable/Group provider own provider
        #pragma D attributes Standard/Stable/Common provider own name
        #pragma D attributes External/Stable/ISA provider own args
        #pragma D attributes Obsolete/Stable/Common old
        inline int old = 1;
        inline int older = old + 1;
        own:::go { trace(args[1]); }
        own:::go /older/ { trace(stringof(args[0])); }
        fbt::vfs_read:entry, fbt::*: { trace(curthread); }\n";
    let (dir, script) = file("own.d", text);
    let output = dir.path().join("report");
    accepted(&["-e", "-v", "-Z", "-o", output.to_str().unwrap(), "-s", &script]);
    let report = std::fs::read_to_string(&output).unwrap();
    let private = three("Private", "Private", "Group");
    for part in [
        format!("script {script}:\n\n\tMinimum Probe Description Attributes\n{private}"),
        format!("Minimum Statement Attributes\n{}", three("Obsolete", "Private", "ISA")),
        format!("\nown:::go\n\n\tProbe Description Attributes\n{}", three("Evolving", "Unstable", "Group")),
        format!("Argument Attributes\n{}", three("External", "Stable", "ISA")),
        "Argument Types\n\t\targs[0]: char *\n\t\targs[1]: int\n".to_owned(),
        format!("\nfbt::*:\n\n\tProbe Description Attributes\n{}", three("Evolving", "Evolving", "Common")),
    ] {
        assert!(report.contains(&part), "no {part:?} in\n{report}");
    }
}

/// The message about a probe that does not exist.
#[test]
fn no_such_probe() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("UTF-8");
    let ran = dtrace(&["--sysroot", root, "-xerrtags", "-e", "-n", "kinst::laef:entry"]);
    snapshot::settings("cli").bind(|| insta::assert_snapshot!("no_such_probe.stderr", ran.stderr));
}

#[test]
fn lists() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("UTF-8");
    let heading = "   ID   PROVIDER            MODULE                          FUNCTION NAME\n";
    let ran = dtrace(&["--sysroot", root, "-l", "-n", "BEGIN", "-n", "fbt::two:", "-n", "fbt::tow:entry"]);
    assert_eq!(ran.status, 1, "one of them does not exist");
    assert!(ran.stdout.starts_with(heading), "{}", ran.stdout);
    let names: Vec<&str> =
        ran.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(names, ["BEGIN", "entry", "return"]);
    for text in ["failed to match fbt::tow:entry: No probe matches description", "did you mean `two`"] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
    let ran = dtrace(&["--sysroot", root, "-l", "-n", "kinst::two:1"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, heading));
    assert!(ran.stderr.contains("offset 1 is inside an instruction of `two`"), "{}", ran.stderr);
    let ran = dtrace(&["--sysroot", root, "-Z", "-l", "-n", "kinst::two:1"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, heading));
    let ran = dtrace(&["--sysroot", root, "-l", "-n", "kinst::two:0x1f"]);
    assert!(ran.stderr.contains("an offset is written in decimal: kinst::two:31"), "{}", ran.stderr);
    let verbose = accepted(&["-l", "-v", "-i", "1"]);
    assert!(verbose.contains("BEGIN\n\n\tProbe Description Attributes\n"), "{verbose}");
    let out = dir.path().join("list");
    let out = out.to_str().expect("UTF-8");
    assert_eq!(accepted(&["-l", "-P", "dtrace", "-o", out]), "");
    assert_eq!(std::fs::read_to_string(out).expect("the list").lines().count(), 4);
    assert!(accepted(&["--sysroot", root, "-l"]).lines().any(|line| line.ends_with(" two entry")));
}

#[test]
fn lists_as_json() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("UTF-8");
    let objects = |arguments: &[&str]| -> Vec<serde_json::Value> {
        let text = accepted(&[&["--sysroot", root, "-l", "--json"], arguments].concat());
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let found = objects(&["-n", "BEGIN", "-n", "fbt::two:entry"]);
    assert_eq!(found.len(), 2);
    let expected =
        serde_json::json!({ "id": 1, "provider": "dtrace", "module": "", "function": "", "name": "BEGIN" });
    assert_eq!(found[0], expected);
    assert_eq!((&found[1]["provider"], &found[1]["function"]), (&"fbt".into(), &"two".into()));
    let verbose = objects(&["-v", "-n", "kinst::leaf:entry"]);
    assert_eq!(verbose.len(), 3);
    for object in &verbose {
        let instruction = &object["instruction"];
        assert!(instruction["file"].as_str().is_some_and(|file| file.ends_with("calls.c")), "{object}");
        let entered = instruction["entered"].as_array().expect("frames");
        assert!(entered.iter().any(|frame| frame["function"] == "leaf"), "{object}");
        assert!(object["args"].is_array(), "{object}");
    }
    assert!(objects(&["-v", "-n", "BEGIN"])[0]["instruction"].is_null());
    refused(
        &["--json", "-n", "BEGIN"],
        2,
        &["--json goes with -l, --disas, --annotate, --coverage or --path"],
    );
}

#[test]
fn a_vmlinux_that_cannot_be_used() {
    let dir = sysroot();
    let root = dir.path().to_str().expect("UTF-8");
    let (_files, text) = file("vmlinux", "no program\n");
    let bare = dir.path().join("bare");
    compile(&["-O2", "-no-pie"], &bare);
    for (path, says) in [
        ("/nowhere/vmlinux", "cannot read /nowhere/vmlinux: No such file"),
        (&text, "is not a readable ELF file"),
        (bare.to_str().expect("UTF-8"), "bare has no debug information"),
    ] {
        for program in ["kinst::leaf:entry", "BEGIN"] {
            refused(&["--sysroot", root, "--vmlinux", path, "-edn", program], 1, &[says]);
        }
    }
    let vmlinux = format!("{root}/usr/lib/debug/boot/vmlinux-6.6.6");
    let text = accepted(&["--sysroot", root, "--vmlinux", &vmlinux, "-edn", "kinst::leaf:entry"]);
    assert_eq!(text.matches("kinst::").count(), 3, "{text}");
}

#[test]
fn inlinecall_prints_the_boundaries() {
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("calls");
    compile(&["-O2", "-g", "-no-pie"], &program);
    let program = program.to_str().expect("UTF-8");
    let ran = inlinecall(&["leaf", program]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> = ran.stdout.lines().map(|line| line.split("  ").collect()).collect();
    assert_eq!(lines.len(), 3, "{}", ran.stdout);
    let mut places = Vec::new();
    for line in &lines {
        let [entry, returns, caller, called_at] = line[..] else { panic!("{line:?}") };
        assert!(entry.starts_with("0x") && returns.split(',').all(|at| at.starts_with("0x")), "{line:?}");
        places.push((
            caller.split(':').next().expect("a caller"),
            called_at.rsplit(':').next().expect("a line"),
        ));
    }
    places.sort();
    // The lines of calls.c: leaf() is called by one(), and twice by middle(), which is inlined in two().
    assert_eq!(places, [("one", "24"), ("two", "16"), ("two", "16")]);
    let ran = inlinecall(&["--json", "leaf", program]);
    assert_eq!((ran.status, ran.stderr.as_str(), ran.stdout.lines().count()), (0, "", 3));
    for (json, line) in ran.stdout.lines().zip(&lines) {
        let object: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(object["function"], "leaf");
        assert_eq!(object["entry"]["address"], line[0]);
        assert_eq!(
            format!("{}:{}", object["caller"].as_str().expect("a name"), object["entry"]["offset"]),
            line[2]
        );
        assert!(object["call"]["file"].as_str().is_some_and(|file| file.ends_with("calls.c")));
        assert!(!object["returns"].as_array().expect("returns").is_empty());
    }
    let object = dir.path().join("calls.o");
    compile(&["-O2", "-g", "-c"], &object);
    let ran = inlinecall(&["leaf", object.to_str().expect("UTF-8")]);
    assert!(ran.stdout.lines().all(|line| line.starts_with(".text+0x")), "{}", ran.stdout);
    let ran = inlinecall(&["leaf", program, object.to_str().expect("UTF-8")]);
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 6));
    assert!(ran.stdout.lines().all(|line| line.contains("calls")), "the file comes first");
}

#[test]
fn inlinecall_says_why_there_is_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let (with, without) = (dir.path().join("with"), dir.path().join("without"));
    compile(&["-O2", "-g"], &with);
    compile(&["-O2"], &without);
    let [with, without] = [&with, &without].map(|path| path.to_str().expect("UTF-8"));
    for (arguments, status, says) in [
        (&["laef", with][..], 1, &["no function `laef`", "did you mean `leaf`"][..]),
        (&["one", with], 1, &["`one` is not inlined anywhere"]),
        (&["leaf", without], 2, &["has no debug information", "-g"]),
        (&["leaf", "/nowhere/file"], 2, &["/nowhere/file", "No such file"]),
        (&["leaf", "/proc/self/status"], 2, &["/proc/self/status"]),
        (&["leaf"], 2, &["Usage"]),
        (&[], 2, &["Usage"]),
    ] {
        let ran = inlinecall(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{arguments:?}\n{}", ran.stderr);
        says.iter().for_each(|text| assert!(ran.stderr.contains(text), "{arguments:?}\n{}", ran.stderr));
    }
    assert_eq!(inlinecall(&["--help"]).status, 0);
}

#[test]
fn a_stock_kernel() {
    let Some(root) = needs::linux_6_1() else { return };
    let vmlinux = needs::vmlinux(&root).expect("it is there");
    let (root, vmlinux) = (root.to_str().expect("UTF-8"), vmlinux.to_str().expect("UTF-8"));
    let text = accepted(&[
        "--sysroot",
        root,
        "-edn",
        "kinst:vmlinux:file_start_write:entry { @[caller] = count(); }",
    ]);
    let sites: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("kinst:vmlinux:")).collect();
    let calls = inlinecall(&["file_start_write", vmlinux]);
    let mut places: Vec<&str> = calls.stdout.lines().filter_map(|line| line.split("  ").nth(2)).collect();
    assert!(sites.len() > 1 && calls.status == 0, "{text}\n{}", calls.stderr);
    let mut sites: Vec<&str> = sites.iter().map(|site| site.trim_end_matches(',')).collect();
    sites.sort_unstable();
    places.sort_unstable();
    places.dedup();
    assert_eq!(sites, places, "both tools report the same for the same file");
    assert_eq!(accepted(&["--sysroot", root, "-edn", &text]), text);
    for (description, says) in [
        ("sched:sched_switch", "write it as sdt:::sched_switch"),
        ("kprobe:vfs_read", "write it as fbt::vfs_read:entry"),
        ("uprobe:/bin/bash:readline", "write it as uprobe:/bin/bash:readline:entry"),
        ("uretprobe:/bin/bash:readline", "write it as uprobe:/bin/bash:readline:return"),
        ("usdt:/bin/bash:prompt", "write it as usdt:/bin/bash::prompt"),
        ("usdt:/bin/bash:bash:prompt", "the probes are those of a kernel's files"),
        ("python*:::line", "all processes of a file, now and later: usdt:/PATH:python:line"),
        (
            "uprobes:/bin/bash:readline:entry",
            "all processes of a program, now and later: uprobe:/usr/bin/bash:main:entry",
        ),
        ("process(\"/bin/bash\").function(\"f\")", "is uprobe:/bin/bash:f:entry"),
        ("kernel.function(\"f\")", "is fbt::f:entry"),
        ("upobe:::entry", "did you mean `uprobe`?"),
        ("pid$target::malloc:entry", "the probes are those of a kernel's files"),
        ("cpc:::cycles", "`profile-997` samples by time"),
        ("vminfo:::swapin", "Linux has no counterpart of vminfo:::swapin"),
    ] {
        refused(&["--sysroot", root, "-e", "-n", description], 1, &[says]);
    }
    refused(&["-e", "-n", "pid$target::malloc:entry"], 1, &["$target is 0 without a process", "with -p PID"]);
    refused(
        &["--sysroot", root, "-e", "-n", "kinst:vmlinux:file_start_wirte:entry"],
        1,
        &["no function `file_start_wirte`", "did you mean `file_start_write`"],
    );
}

#[test]
fn an_edge_over_a_static_key() {
    let Some(root) = needs::linux_6_1() else { return };
    let root = root.to_str().expect("UTF-8");
    let text = accepted(&["--sysroot", root, "-edn", "kinst:vmlinux:cpusets_enabled:return"]);
    let mut names = text.lines().filter_map(|line| {
        let (function, name) = line.strip_prefix("kinst:vmlinux:")?.trim_end_matches(',').split_once(':')?;
        let offsets: Option<Vec<u32>> = name.split('-').map(|offset| offset.parse().ok()).collect();
        Some((function, offsets.filter(|offsets| offsets.len() == 3)?))
    });
    let (function, offsets) = names.next().expect("an edge over one key");
    let [from, key, to] = offsets[..] else { panic!("three offsets: {offsets:?}") };
    let listed =
        |name: &str| dtrace(&["--sysroot", root, "-e", "-l", "-n", &format!("kinst::{function}:{name}")]);
    let path = format!("{from}-{key}-{to}");
    assert!(listed(&path).stdout.ends_with(&format!("{function} {path}\n")), "{}", listed(&path).stdout);
    for (wrong, says) in [
        (format!("{from}-{key}-{}", to + 1), format!("{function}:{from}-{key}-{to}")),
        (format!("{from}-{}-{to}", key + 1), "inside an instruction".to_owned()),
        (format!("{from}-{to}-{to}"), format!("control does not go from {from} to {to}")),
        (format!("{from}-{key}-{to}-{to}"), format!("{to} in `{function}` is not a static key")),
        (format!("{from}-{key}-{to}-{to}-{to}"), "cannot lead over more than 2 static keys".to_owned()),
        (format!("{from}-{key}-"), format!("kinst has no probe `{from}-{key}-`")),
        (format!("{from}-{key}-no_such_function+0"), format!("control does not go from {key} to no_such")),
    ] {
        let ran = listed(&wrong);
        assert!(ran.stderr.contains(&says), "{wrong}: {}", ran.stderr);
    }
}
