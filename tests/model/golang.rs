//! tests/model/golang.rs: programs of Go, with and without debug information, traced and compared with what they print
//! and with Go's own tools.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::support;
use crate::live::{can_trace, dtrace, text};
use crate::needs::{self, Go};
use kinst::debuginfo::ElfFile;
use kinst::sites::GoTable;

/// Options of `go build`, and whether the program has debug information.
const WAYS: [(&[&str], bool); 3] =
    [(&[], true), (&["-ldflags=-s -w"], false), (&["-buildmode=pie", "-ldflags=-s -w"], false)];

/// Compiles a source.
fn build(go: &Go, source: &str, options: &[&str], folder: &Path) -> String {
    let program = folder.join("program").display().to_string();
    let mut command = Command::new(&go.program);
    command.args(["build", "-o", &program]).args(options).arg(support(source));
    let built = with_root(go, command.env("CGO_ENABLED", "0")).output().expect("Go's compiler");
    assert!(built.status.success(), "{}: {}", go.name, text(&built.stderr));
    program
}

/// A source that a version of Go has compiled in one of the ways.
struct Built {
    /// The version and the options.
    way: String,
    program: String,
    /// Whether it has debug information.
    is_described: bool,
    dir: tempfile::TempDir,
}

/// Compiles a source with each version of Go in each of the ways.
fn built(source: &str) -> impl Iterator<Item = Built> {
    let versions = needs::golang().into_iter();
    versions.flat_map(|go| WAYS.map(|way| (go.clone(), way))).map(move |(go, (options, is_described))| {
        let dir = tempfile::tempdir().expect("a directory");
        let program = build(&go, source, options, dir.path());
        Built { way: format!("{} {options:?}", go.name), program, is_described, dir }
    })
}

fn with_root<'c>(go: &Go, command: &'c mut Command) -> &'c mut Command {
    command.env("GO111MODULE", "off").env("GOTOOLCHAIN", "local").env("GOFLAGS", "");
    match &go.root {
        Some(root) => command.env("GOROOT", root),
        None => command.env_remove("GOROOT"),
    }
}

/// The program's own lines, and its counters by function.
fn counters(output: &str) -> (Vec<&str>, BTreeMap<&str, u64>) {
    let own = output.lines().filter(|line| !line.is_empty() && !line.starts_with(['@', '=']));
    let counted = output.lines().filter_map(|line| line.strip_prefix("@ ")?.rsplit_once(' '));
    (own.collect(), counted.map(|(name, count)| (name, count.parse().expect("a number"))).collect())
}

/// The stacks of the program grow and move, its goroutines are many, and its memory is collected all the time.
#[test]
fn calls_under_load() {
    if !can_trace() {
        return;
    }
    for Built { way, program, dir: _dir, .. } in built("load.go") {
        let command = format!("sh -c \"{program}; echo status $?\"");
        let alone = text(
            &Command::new("sh")
                .args(["-c", &format!("{program}; echo status $?")])
                .output()
                .expect("a shell")
                .stdout,
        );
        let (lines, counted) = counters(&alone);
        let mut script = String::new();
        for function in counted.keys() {
            for (kind, end) in [("e", "entry"), ("r", "return")] {
                script += &format!(
                    "uprobe:{program}:\"{function}\":{end} {{ @{kind}[\"{function}\"] = count(); }}\n"
                );
            }
        }
        script += "END { printa(\"=e %s %@u\\n\", @e); printa(\"=r %s %@u\\n\", @r); }";
        let ran = dtrace(&["-qn", &script, "-c", &command], None);
        let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
        assert!(ran.status.success(), "{way}: {stderr}");
        assert_eq!(
            counters(&stdout),
            (lines, counted.clone()),
            "{way}: another output under dtrace: {stderr}"
        );
        assert!(stdout.contains("status 3"), "{way}: {stdout}");
        for (function, calls) in counted {
            for kind in ["e", "r"] {
                let prefix = format!("={kind} {function} ");
                let found = stdout.lines().find_map(|line| line.strip_prefix(&prefix)?.parse::<u64>().ok());
                assert_eq!(found, Some(calls), "{way}: {function} {kind}: {stderr}");
                assert!(calls > 0, "{way}: {function}");
            }
        }
    }
}

/// Probes at the entries and returns of all functions, those of the runtime among them, do not disturb a program.
#[test]
fn all_functions() {
    if !can_trace() {
        return;
    }
    for go in needs::golang() {
        let dir = tempfile::tempdir().expect("a directory");
        let program = build(&go, "values.go", &["-ldflags=-s -w"], dir.path());
        let alone = text(&Command::new(&program).output().expect("the program").stdout);
        let script =
            format!("uprobe:{program}::entry, uprobe:{program}::return {{ @[probename] = count(); }}");
        let ran = dtrace(&["-x", "maxprobes=50000", "-qn", &script, "-c", &program], None);
        let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
        assert!(ran.status.success(), "{}: {stderr}", go.name);
        assert!(stdout.starts_with(&alone), "{}: {stdout} {stderr}", go.name);
        let entries =
            stdout.lines().find_map(|line| line.trim().strip_prefix("entry ")?.trim().parse::<u64>().ok());
        assert!(entries.is_some_and(|entries| entries > 1000), "{}: {stdout}", go.name);
    }
}

/// Clauses that print typed arguments of values.go. The argument `pair` of see() is on the stack, where Go's compiler does
/// not describe it.
const TYPED: &str = r#"
pid$target:a.out:main.see:entry {
    printf("%d %s %s %d %d ", args[0], stringof(args[1]), stringof(args[2]), args[2].len, args[2].cap);
    printf("%s %d\n", args[5] ? "true" : "false", args[6]);
    printf("%d %s\n", args[4]->left, stringof(args[4]->text));
}
pid$target:a.out:see:0 { printf("%d %s\n", locals->number, stringof(locals->text)); }
pid$target:a.out:see:return { printf("%d\n", args[1]); }
pid$target:a.out:"main.(*Pair).scale":entry { printf("%d %d %s\n", args[0]->left, args[1], stringof(args[2])); }
pid$target:a.out:"Square.Area":entry { printf("side %d\n", args[0].side); }
pid$target:a.out:total:entry { printf("%d shapes\n", args[0].len); }
"#;
const TYPED_LINES: [&str; 8] = [
    "42 a text",
    "42 a text abc 3 8 true -5",
    "-7 of a pair",
    "84",
    "-7 3 name ",
    "2 shapes",
    "side 2",
    "side 3",
];

/// The same of raw arguments, which need no debug information.
const RAW: &str = r#"
pid$target:a.out:many:entry {
    printf("%d %d %d %d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8);
}
pid$target:a.out:many:return { printf("%d\n", arg1); }
pid$target:a.out:"Pair.scale":entry { printf("%d %s\n", arg1, copyinstr(arg2, arg3 + 1)); }
pid$target:a.out:"Pair.scale":return { printf("%d\n", (int64_t)arg1); }
"#;
const RAW_LINES: [&str; 4] = ["3 name ", "-21", "1 2 3 4 5 6 7 8 9", "151"];

/// The arguments that the program prints.
#[test]
fn arguments() {
    if !can_trace() {
        return;
    }
    for Built { way, program, is_described, dir } in built("values.go") {
        let lines = |script: &str| {
            let out = dir.path().join("trace").display().to_string();
            // The output is appended.
            let _ = std::fs::remove_file(&out);
            let ran = dtrace(&["-qn", script, "-o", &out, "-c", &program], None);
            assert!(ran.status.success(), "{way}: {}", text(&ran.stderr));
            let traced = std::fs::read_to_string(&out).expect("the output");
            traced.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(RAW), RAW_LINES, "{way}");
        if is_described {
            assert_eq!(lines(TYPED), TYPED_LINES, "{way}");
        }
        let refusals: &[(&str, &str)] = match is_described {
            true => &[("see:entry { print(args[3]); }", "Go passes arguments in its own way")],
            false => {
                &[("see:entry { print(args[0]); }", "the type of this argument of main.see() is unknown")]
            }
        };
        let all = [("many:entry { trace(arg9); }", "nine arguments are in registers")];
        for (clause, message) in refusals.iter().chain(&all) {
            let ran = dtrace(&["-qn", &format!("pid$target:a.out:{clause}"), "-c", &program], None);
            assert!(text(&ran.stderr).contains(message), "{way} {clause}: {}", text(&ran.stderr));
            assert_eq!(ran.status.code(), Some(1), "{way} {clause}");
        }
    }
}

/// Stacks are unwound by the frames of the program's own table if it is stripped.
#[test]
fn stacks_and_goroutines() {
    if !can_trace() {
        return;
    }
    for Built { way, program, dir: _dir, .. } in built("values.go") {
        let ends = ["entry", "return"].map(|end| format!("uprobe:{program}:\"Square.Area\":{end}"));
        let script = format!("{} {{ printf(\"= %s\", probefunc); ustack(); }}", ends.join(", "));
        let command = format!("sh -c \"sleep 3 | {program} waits\"");
        let ran = dtrace(&["-qn", &script, "-c", &command], None);
        let stdout = text(&ran.stdout);
        let stacks: Vec<Vec<&str>> = stdout
            .split("= main.Square.Area")
            .skip(1)
            .map(|stack| {
                let names = stack.lines().filter_map(|line| line.split_once('`')?.1.split('+').next());
                names.map(|name| name.trim_end_matches(".abi0")).collect()
            })
            .collect();
        assert_eq!(stacks.len(), 4, "{way}: {stdout}{}", text(&ran.stderr));
        let expected = [
            "main.Square.Area",
            "main.(*Square).Area",
            "main.total",
            "main.main",
            "runtime.main",
            "runtime.goexit",
        ];
        for stack in stacks {
            assert_eq!(stack, expected, "{way}: {stdout}");
        }
    }
}

/// Go's own tool lists the same functions, with their addresses and sizes.
#[test]
fn functions_are_those_of_nm() {
    for go in needs::golang() {
        for options in [&[][..], &["-buildmode=pie"]] {
            let dir = tempfile::tempdir().expect("a directory");
            let program = build(&go, "load.go", options, dir.path());
            let mut nm = Command::new(&go.program);
            let listed = with_root(&go, nm.args(["tool", "nm", "-size", "-type", &program]))
                .output()
                .expect("go tool nm");
            let listed = text(&listed.stdout);
            let mut expected: BTreeMap<u64, (u64, Vec<String>)> = BTreeMap::new();
            for line in listed.lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                let [address, size, "T" | "t", name @ ..] = &words[..] else { continue };
                let (address, size) =
                    (u64::from_str_radix(address, 16).expect("hexadecimal"), size.parse().expect("a number"));
                // Labels.
                if size > 0 {
                    expected
                        .entry(address)
                        .or_insert((size, Vec::new()))
                        .1
                        .extend([name.join(" "), plain(&name.join(" "))]);
                }
            }
            let elf = ElfFile::open(&PathBuf::from(&program)).expect("ELF");
            let section = [".gopclntab", ".data.rel.ro.gopclntab"]
                .iter()
                .find_map(|name| elf.section(name))
                .expect("a table");
            let text_start = elf.symbol("runtime.text").expect("a symbol").address;
            let table = GoTable::parse(elf.code_at(section.address).expect("bytes"), Some(text_start))
                .expect("a table");
            let code = |address: u64| {
                let section = elf.section_at(address).filter(|section| section.executable);
                section.map_or(0, |section| section.range().end - address)
            };
            let found = table.functions(&code);
            println!("{} {options:?}: {} functions", go.name, found.len());
            assert!(found.len() > 1000);
            for function in &found {
                let (size, names) =
                    expected.remove(&function.address).unwrap_or_else(|| panic!("{function:?}"));
                assert_eq!(function.size, size, "{} {options:?}: {function:?}", go.name);
                assert!(names.contains(&function.name.replace('·', ".")), "{names:?} {function:?}");
            }
            assert!(expected.is_empty(), "{} {options:?}: {expected:?}", go.name);
        }
    }
}

/// A symbol's name without the arguments of a generic and the calling convention, as the runtime has it.
fn plain(name: &str) -> String {
    // The tool writes a dot for the one of type descriptions.
    let name = name.trim_end_matches(".abi0");
    match (name.find('['), name.rfind(']')) {
        (Some(start), Some(end)) => {
            format!("{}[...]{}", &name[..start], &name[end + 1..])
        }
        _ => name.to_owned(),
    }
}

/// Names in descriptions: the whole name, and ends of it.
#[test]
fn names() {
    if !can_trace() {
        return;
    }
    for Built { way, program, dir: _dir, .. } in built("load.go") {
        for (written, function) in [
            ("main.deep", "main.deep"),
            ("deep", "main.deep"),
            ("\"main.(*Counter).Add\"", "main.(*Counter).Add"),
            ("\"(*Counter).Add\"", "main.(*Counter).Add"),
            ("Counter.Add", "main.(*Counter).Add"),
            ("apply", "main.apply[...]"),
            ("main.apply[...]", "main.apply[...]"),
            ("work.func1", "main.work.func1"),
            ("strings.Repeat", "strings.Repeat"),
        ] {
            let list = dtrace(&["-ln", &format!("uprobe:{program}:{written}:entry")], None);
            let stdout = text(&list.stdout);
            let mut found: Vec<&str> =
                stdout.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3)).collect();
            found.dedup();
            assert_eq!(found, [function], "{way} {written}: {}", text(&list.stderr));
        }
        let list = dtrace(&["-ln", &format!("uprobe:{program}:Add:entry")], None);
        assert!(text(&list.stdout).contains("main.(*Counter).Add"), "{way}");
        let none = dtrace(&["-ln", &format!("uprobe:{program}:main.nothing:entry")], None);
        assert_eq!(none.status.code(), Some(1), "{way}: {}", text(&none.stderr));
    }
}

/// The table of an older Go, which is refused by its version.
#[test]
fn older_tables() {
    if !can_trace() {
        return;
    }
    for go in needs::golang() {
        let dir = tempfile::tempdir().expect("a directory");
        let program = build(&go, "values.go", &["-ldflags=-s -w"], dir.path());
        let elf = ElfFile::open(Path::new(&program)).expect("ELF");
        let section = elf.section(".gopclntab").expect("a table").address;
        let at = usize::try_from(elf.offset_of(section).expect("in the file")).expect("an offset");
        let mut bytes = std::fs::read(&program).expect("the program");
        bytes[at] = 0xfa;
        let old = dir.path().join("old").display().to_string();
        std::fs::write(&old, bytes).expect("written");
        let list = dtrace(&["-ln", &format!("uprobe:{old}:main.see:entry")], None);
        assert_eq!(list.status.code(), Some(1), "{}", go.name);
        assert!(
            text(&list.stderr).contains("built by Go 1.16 or 1.17"),
            "{}: {}",
            go.name,
            text(&list.stderr)
        );
    }
}
