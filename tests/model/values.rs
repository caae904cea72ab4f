//! tests/model/values.rs: functions and values of C++ and Rust, traced in a program.

use crate::commands::{run, support};
use crate::live::{can_trace, dtrace, text};
use crate::needs;

/// Members of the object in kinds.cpp, whose values are integers.
const MEMBERS: [&str; 60] = [
    "yes",
    "no",
    "letter",
    "tiny",
    "byte",
    "number",
    "word",
    "integer",
    "plain",
    "wide",
    "widest",
    "c16",
    "c32",
    "wide_char",
    "i8",
    "u64",
    "enumerated",
    "small",
    "large",
    "derived.first",
    "derived.second",
    "derived.both",
    "derived.third",
    "aligned.byte",
    "shorts.held[0]",
    "shorts.held[1]",
    "shorts.held[2]",
    "shorts.last",
    "nested.held[0].second",
    "nested.held[0].both",
    "nested.held[1].second",
    "nested.held[1].both",
    "nested.last.both",
    "bits.one",
    "bits.two",
    "bits.three",
    "bits.four",
    "bits.five",
    "either.whole",
    "either.parts[0]",
    "either.parts[3]",
    "matrix[0][0]",
    "matrix[0][2]",
    "matrix[1][0]",
    "matrix[1][1]",
    "inner.depth",
    "outer.depth",
    "outer.next->depth",
    "constant",
    "changing",
    "unnamed",
    "low",
    "pair.first",
    "pair.second",
    "array._M_elems[0]",
    "array._M_elems[1]",
    "text._M_string_length",
    "vector._M_impl._M_start[0]",
    "vector._M_impl._M_start[1]",
    "after",
];

/// The lines that a script prints for a program, without indentation; the addresses of memory are replaced.
fn traced(program: &str, script: &str) -> Vec<String> {
    let ran = dtrace(&["-qn", script, "-c", program], None);
    assert!(ran.status.success(), "{script}: {}", text(&ran.stderr));
    let address = |word: &str| match word.strip_prefix("0x") {
        Some(digits) if digits.len() > 8 => "ADDRESS".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: &str| line.split_whitespace().map(address).collect::<Vec<_>>().join(" ");
    text(&ran.stdout).lines().map(line).filter(|line| !line.is_empty()).collect()
}

/// The functions and names of the probes that a description means.
fn listed(program: &str, description: &str) -> Vec<String> {
    let ran = dtrace(&["-ln", description, "-c", program], None);
    assert!(ran.status.success(), "{description}: {}", text(&ran.stderr));
    let lines = text(&ran.stdout);
    // The id, the provider and the module come first.
    let place = |line: &str| line.split_whitespace().skip(3).collect::<Vec<_>>().join(" ");
    lines.lines().filter(|line| line.contains("a.out")).map(place).collect()
}

/// Asserts that these lines follow each other.
#[track_caller]
fn assert_lines(lines: &[String], expected: &[&str]) {
    let found = lines.windows(expected.len()).any(|window| window == expected);
    assert!(found, "{expected:#?} in {lines:#?}");
}

#[test]
fn functions_and_values_of_cpp() {
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("values").display().to_string();
    let source = support("values.cpp").display().to_string();
    for (compiler, level, format) in
        [("g++", "-O2", "-gdwarf-5"), ("clang++", "-O2", "-gdwarf-5"), ("clang++", "-O1", "-gdwarf-4")]
    {
        let way = format!("{compiler} {level} {format}");
        run(compiler, &["-w", "-fcf-protection=none", format, level, "-o", &program, &source]);
        let scale = vec!["app::Rect::scale entry"];
        for name in ["scale", "\"Rect::scale\"", "\"app::Rect::scale\"", "\"app::Rect::sc*\"", "*cale"] {
            assert_eq!(listed(&program, &format!("pid$target:a.out:{name}:entry")), scale, "{way} {name}");
        }
        let int = vec!["app::twice<int> entry"];
        assert_eq!(listed(&program, "pid$target:a.out:\"twice<int>\":entry"), int, "{way}");
        let all = listed(&program, "pid$target:a.out:twice:entry");
        assert_eq!(all.len(), 2, "{way}: {all:?}");
        let sum = listed(&program, "pid$target:a.out:\"Rect::sum\":entry");
        assert!(matches!(&sum[..], [one] if one.starts_with("main ")), "{way}: {sum:?}");
        let lines = traced(
            &program,
            "pid$target:a.out:take:entry { print(*args[0]); print(args[1]); print(args[2]); print(args[3]);\
             printf(\"%d %d\\n\", args[4], args[0]->w); }\
             pid$target:a.out:\"Rect::sum\":entry { printf(\"%s %d\\n\", inlinefunc, locals->this->h); }",
        );
        assert_lines(&lines, &["int id = 0x3", "int w = 0x6", "int h = 0x4", "double ratio = 1.5"]);
        assert!(!lines.iter().any(|line| line.contains("count")), "a static member: {lines:#?}");
        assert_lines(&lines, &["enum Color color = Green", "}", "struct Pair {", "long first = 0x5"]);
        assert_lines(&lines, &["struct Kept {", "long value = 0x8", "}", "enum Color Red", "9 6"]);
        assert_lines(&lines, &["app::Rect::sum 4"]);
        let name = traced(&program, "pid$target:a.out:name:entry { trace(stringof(*args[0])); }");
        assert!(name.iter().any(|line| line.contains("a name")), "{way}: {name:?}");
    }
}

#[test]
fn functions_and_values_of_rust() {
    if !can_trace() || !needs::program("rustc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("values").display().to_string();
    let source = support("values.rs").display().to_string();
    run("rustc", &["--edition", "2024", "-g", "-O", "-C", "codegen-units=1", "-o", &program, &source]);
    assert_eq!(listed(&program, "pid$target:a.out:\"P::area\":entry"), ["values::P::area entry"]);
    assert_eq!(listed(&program, "pid$target:a.out:\"values::look\":entry"), ["values::look entry"]);
    let script = "pid$target:a.out:\"values::look\":entry { print(*args[0]); printf(\"%d\\n\", args[0]->next.Some.__0 != 0); }\
         pid$target:a.out:\"values::see\":entry { print(*args[0]); }\
         pid$target:a.out:\"values::text\":entry {\
         printf(\"%d [%s] %d\\n\", args[0].length, stringof(args[0]), args[1].length); }";
    let lines = traced(&program, script);
    assert_lines(&lines, &["bool ok = 0x1"]);
    assert_lines(&lines, &["struct Vec<u16, alloc::alloc::Global> tags = 3 elements [ 0x1, 0x2, 0x3 ]"]);
    assert_lines(&lines, &["struct Err Err = {", "struct String __0 = \"no\""]);
    assert_lines(&lines, &["struct Some Some = {", "u32 __0 = 0x4d", "}"]);
    let next = "alloc::boxed::Box<values::P, alloc::alloc::Global> __0 = ADDRESS -> {";
    assert_lines(&lines, &["struct Some Some = {", next, "i32 x = 0x1"]);
    assert_lines(&lines, &["struct None None = {", "}"]);
    assert_lines(&lines, &["struct Ok Ok = {", "u8 __0 = 0x9", "}"]);
    assert_lines(&lines, &["struct Rect Rect = {", "u32 w = 0x3", "u32 h = 0x4", "}"]);
    assert_lines(&lines, &["struct Circle Circle = {", "f64 __0 = 1.5", "}"]);
    assert_lines(&lines, &["struct Empty Empty = {", "}"]);
    assert_lines(&lines, &["5 [hello] 3"]);
    assert_lines(&lines, &["0 [] 3"]);
}

/// gdb reads the same members.
#[test]
fn values_are_those_of_gdb() {
    if !can_trace() || !needs::program("gdb") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (program, commands) = (path("kinds"), path("commands"));
    let print = |member: &&str| format!("printf \"%ld\\n\", (long)(k.{member})\n");
    let prints: String = MEMBERS.iter().map(print).collect();
    std::fs::write(&commands, format!("break kinds::look\nrun\n{prints}")).expect("written");
    let traced_print = |member: &&str| format!("printf(\"%d\\n\", (int64_t)(args[0]->{member}));");
    let prints: String = MEMBERS.iter().map(traced_print).collect();
    let script = format!("pid$target:a.out:\"kinds::look\":entry {{ {prints} }}");
    for [compiler, level] in [["g++", "-O0"], ["g++", "-O2"], ["clang++", "-O1"]] {
        let source = support("kinds.cpp").display().to_string();
        run(compiler, &["-w", "-g", "-std=c++17", level, "-o", &program, &source]);
        let of_gdb = run("gdb", &["-nx", "-batch", "-x", &commands, &program]);
        let is_number = |line: &&str| line.parse::<i64>().is_ok();
        let of_gdb: Vec<&str> = of_gdb.lines().filter(is_number).collect();
        let of_dtrace = traced(&program, &script);
        assert_eq!(of_gdb.len(), MEMBERS.len(), "{compiler} {level}: {of_gdb:?}");
        for ((member, one), other) in MEMBERS.iter().zip(of_gdb).zip(&of_dtrace) {
            assert_eq!(one, other, "{compiler} {level} {member}");
        }
        assert_eq!(of_dtrace.len(), MEMBERS.len(), "{compiler} {level}");
    }
}
