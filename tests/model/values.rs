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

/// A value whose memory cannot be read is shown by its members, and the rest of the record is there.
#[test]
fn strings_and_vectors_that_refer_to_no_memory() {
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("broken").display().to_string();
    for compiler in ["g++", "clang++"] {
        run(compiler, &["-w", "-g", "-O1", "-o", &program, &support("broken.cpp").display().to_string()]);
        let script = "pid$target:a.out:look:entry { print(*args[0]); printf(\"after\\n\"); } ERROR { printf(\"error\\n\"); }";
        let lines = traced(&program, script);
        assert_lines(&lines, &["pointer _M_p = 0x10", "}"]);
        assert_lines(&lines, &["pointer _M_start = ADDRESS", "pointer _M_finish = ADDRESS"]);
        assert!(lines.iter().any(|line| line.ends_with("_M_head_impl = ADDRESS")), "{lines:#?}");
        assert_lines(&lines, &["string whole = \"whole\"", "int last = 0x5", "}", "after"]);
        assert!(!lines.iter().any(|line| line == "error"), "{lines:#?}");
    }
}

/// A compiler that knows all callers of a function need not pass what it knows.
#[test]
fn an_argument_that_is_not_passed_is_not_guessed() {
    if !can_trace() || !needs::program("rustc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (program, source) = (dir.path().join("kinds").display().to_string(), dir.path().join("kinds.rs"));
    let own = std::fs::read_to_string(support("kinds.rs")).expect("the source");
    std::fs::write(&source, own.replace("(black_box(&", "((&")).expect("written");
    let source = source.display().to_string();
    // LLVM marks some of these functions, but not all.
    let reasons = [
        "the compiler passes its arguments in its own way (DW_CC_nocall)",
        "does not read all registers in which the calling convention passes its arguments",
    ];
    for (level, is_passed) in [("-Copt-level=0", true), ("-Copt-level=3", false)] {
        let options =
            ["--edition", "2024", "-Aunused", "-g", level, "-Ccodegen-units=1", "-o", &program, &source];
        run("rustc", &options);
        for (function, value) in [("known", " u8 0x27"), ("a_u8", " u8 0xc8"), ("a_i8", " i8 0x9c")] {
            let script = format!("pid$target:a.out:\"shown::{function}\":entry {{ print(*args[0]); }}");
            let ran = dtrace(&["-qn", &script, "-c", &program], None);
            let (out, err) = (text(&ran.stdout), text(&ran.stderr));
            assert_eq!(ran.status.success(), is_passed, "{level} {function}: {err}");
            assert_eq!(out.contains(value), is_passed, "{level} {function}: {out}");
            let is_refused = reasons.iter().any(|why| err.contains(why));
            assert_eq!(is_refused, !is_passed, "{level} {function}: {err}");
        }
    }
}

/// A floating-point number is read from memory; the registers for them are not there at a probe.
#[test]
fn floating_point_numbers() {
    const SOURCE: &str = "\
        struct pair { float small; double large; };\n\
        __attribute__((noinline)) double take(double x, int n, float y, struct pair *p, double b, double c, double d,\n\
            double e, double f, double g, double on_stack)\n\
        { static volatile double s; s = x + n + y + p->small + b + c + d + e + f + g + on_stack; return s; }\n\
        int main(int c, char **v) { struct pair p = {0.1f, -2.5}; return take(1, c, 2, &p, 3, 4, 5, 6, 7, 8, 9.5) == 0; }\n";
    if !can_trace() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (source, program) = (dir.path().join("take.c"), dir.path().join("take").display().to_string());
    std::fs::write(&source, SOURCE).expect("written");
    for (compiler, level) in [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O1")] {
        run(compiler, &["-g", level, "-o", &program, &source.display().to_string()]);
        let way = format!("{compiler} {level}");
        let script = "pid$target:a.out:take:entry { print(*args[3]); trace(args[3]->large);\
             printf(\" %f\\n\", args[3]->small); }";
        let lines = traced(&program, script);
        assert_lines(&lines, &["float small = 0.1", "double large = -2.5", "}", "-2.5 0.100000"]);
        for (argument, register) in [("args[0]", "%xmm0"), ("args[2]", "%xmm1"), ("args[9]", "%xmm7")] {
            let script = format!("pid$target:a.out:take:entry {{ print({argument}); }}");
            let ran = dtrace(&["-qn", &script, "-c", &program], None);
            let said = text(&ran.stderr);
            assert!(
                said.contains(&format!("in the vector register {register}, which a probe cannot read")),
                "{way}: {said}"
            );
        }
        let all = traced(&program, "pid$target:a.out:take:entry { print(args); }");
        // Otherwise its location is that of a copy, which the function makes after its entry.
        let is_there = all.iter().any(|line| line == "double on_stack = 9.5");
        assert!(is_there || level != "-O2", "{way}: {all:#?}");
        let ran = dtrace(&["-qn", "pid$target:a.out:take:return { print(args[1]); }", "-c", &program], None);
        assert!(text(&ran.stderr).contains("args[1] is in the vector register %xmm0"), "{way}");
    }
}

/// Methods of traits, instances of generics, closures and async functions.
#[test]
fn names_of_rust() {
    if !can_trace() || !needs::program("rustc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("traits").display().to_string();
    let source = support("traits.rs").display().to_string();
    // Each name, and the functions that have its code without optimisation and with it.
    let names: [(&str, &[&str], &[&str]); 11] = [
        ("<P as Area>::area", &["traits::P::area"], &["traits::P::area"]),
        ("<traits::P as traits::Area>::area", &["traits::P::area"], &["traits::P::area"]),
        (
            "<* as Area>::area",
            &["traits::P::area", "traits::Q<T>::area"],
            &["traits::P::area", "traits::Q<T>::area"],
        ),
        ("<P as Display>::fmt", &["traits::P::fmt"], &["traits::P::fmt"]),
        ("<Q<*> as Area>::twice", &["traits::Q<T>::twice"], &["traits::Q<T>::twice"]),
        ("<traits::Iter as Iterator>::next", &["traits::Iter::next"], &["traits::Iter::next"]),
        ("traits::leaf", &["traits::leaf"], &["traits::leaf"]),
        ("leaf::{async_fn#0}", &["traits::leaf::{{closure}}"], &["traits::main"]),
        ("traits::main::{closure#0}", &["traits::main::{{closure}}"], &["traits::apply"]),
        ("traits::apply", &["traits::apply"], &["traits::apply"]),
        ("Vec<u32>::push", &["alloc::vec::Vec<T,A>::push"], &["traits::main"]),
    ];
    for (level, optimised) in [("-Copt-level=0", false), ("-Copt-level=2", true)] {
        run("rustc", &["--edition", "2024", "-g", level, "-Ccodegen-units=1", "-o", &program, &source]);
        for (name, plain, inlined) in &names {
            let found = listed(&program, &format!("pid$target:a.out:\"{name}\":entry"));
            let function = |line: &String| line.rsplit_once(' ').map(|(function, _)| function.to_owned());
            let mut found: Vec<String> = found.iter().filter_map(function).collect();
            found.sort();
            found.dedup();
            let expected = if optimised { inlined } else { plain };
            assert_eq!(found, *expected, "{level} {name}");
        }
    }
}
