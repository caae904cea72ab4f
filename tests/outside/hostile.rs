//! tests/outside/hostile.rs: malicious input ends in an error, not in a crash or in swapping.

use std::path::Path;
use std::process::{Command, Stdio};

/// Compiles a file with this text, which must fail; returns the output of `dtrace -e`.
fn refused(name: &str, text: &[u8], options: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    compile(&path, options)
}

fn compile(path: &Path, options: &[&str]) -> String {
    // Excludes the running kernel's types.
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_dtrace"))
        .args(["-xerrtags", "-e", "--sysroot"])
        .arg(empty.path())
        .args(options)
        .arg("-s")
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    stderr
}

#[test]
fn a_string_of_a_gigabyte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.d");
    std::fs::write(&path, "BEGIN { trace(\"").unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
    assert!(compile(&path, &[]).contains("the program is larger than 256 MB"));
}

#[test]
fn a_string_that_no_object_holds() {
    let text = format!("BEGIN {{ trace(\"{}\"); }}\n", "a".repeat(8 << 20));
    let said = refused("long.d", text.as_bytes(), &[]);
    assert!(said.contains("an object is at most 256 KiB"), "{said}");
    assert!(said.len() < 4096, "the message shows the line, not all of it: {} bytes", said.len());
}

#[test]
fn bytes_that_are_no_text() {
    assert!(
        refused("t.d", b"BEGIN { trace(\"\xff\xfe\"); }\n", &[]).contains("line 1 is not UTF-8: byte 0xff")
    );
    assert!(refused("t.d", b"BEGIN { trace(1\0); }\n", &[]).contains("[D_SYNTAX]"));
    assert!(refused("t.d", &[0; 4096], &[]).contains("[D_SYNTAX]"));
}

#[test]
fn files_that_include_each_other() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.h"), "#include \"b.h\"\n").unwrap();
    std::fs::write(dir.path().join("b.h"), "#include \"a.h\"\n").unwrap();
    let script = dir.path().join("cycle.d");
    std::fs::write(&script, "#include \"a.h\"\nBEGIN { exit(0); }\n").unwrap();
    assert!(compile(&script, &["-C", "-I", dir.path().to_str().unwrap()]).contains("nested"));
}

#[test]
fn definitions_of_themselves() {
    for (text, tag) in [
        ("struct s { int a; struct s b; };\nBEGIN { }\n", "D_DECL_INCOMPLETE"),
        ("struct a { struct b x; };\nstruct b { struct a y; };\nBEGIN { }\n", "D_DECL_INCOMPLETE"),
        ("struct s { struct { struct s b; } c; };\nBEGIN { }\n", "D_DECL_INCOMPLETE"),
        ("typedef struct s { struct s b[2]; } s_t;\nBEGIN { }\n", "D_DECL_INCOMPLETE"),
        ("inline int a = a + 1;\nBEGIN { trace(a); }\n", "D_IDENT_UNDEF"),
        ("inline int a = b + 1;\ninline int b = a + 1;\nBEGIN { trace(a); }\n", "D_IDENT_UNDEF"),
        ("inline int f[int n] = n ? f[n - 1] : 0;\nBEGIN { trace(f[3]); }\n", "D_VAR_UNDEF"),
        (
            "struct o { int a; };\ntranslator struct o <int I> { a = (xlate <struct o> (I)).a; };\nBEGIN { }\n",
            "D_XLATE_NONE",
        ),
    ] {
        let said = refused("itself.d", text.as_bytes(), &[]);
        assert!(said.contains(tag), "{text}: {said}");
    }
}

/// Inlines that double in size end at the limit on the tree, not when memory runs out.
#[test]
fn definitions_that_grow() {
    let mut text = "inline int f0 = pid + pid;\n".to_owned();
    for number in 1..64 {
        text += &format!("inline int f{number} = f{0} + f{0};\n", number - 1);
    }
    refused("grow.d", (text + "BEGIN { trace(f63); }\n").as_bytes(), &[]);
}

/// Each struct contains the previous one twice: 2^59 in total, in two lines of text.
#[test]
fn a_struct_of_structs_of_structs() {
    let twice = |level: usize| format!("struct s{level} {{ struct s{} a, b; }}; ", level - 1);
    let all: String = (1..60).map(twice).collect();
    let text = format!(
        "struct s0 {{ char a; }}; {all}\nBEGIN {{ print(*(struct s59 *)0); trace(sizeof(struct s59)); x }}\n"
    );
    assert!(refused("twice.d", text.as_bytes(), &[]).contains("[D_"), "in no time");
}

#[test]
fn ten_thousand_levels() {
    let n = 10_000;
    for text in [
        format!("BEGIN {{ trace({}1{}); }}\n", "(".repeat(n), ")".repeat(n)),
        format!("BEGIN {{ {}{} }}\n", "if (1) { ".repeat(n), "}".repeat(n)),
        format!("BEGIN {{ x = {}1; }}\n", "-".repeat(n)),
        format!("BEGIN {{ x = {}1; }}\n", "1 ? 1 : ".repeat(n)),
        format!("BEGIN {{ x{} = 1; }}\n", "[x".repeat(n) + &"]".repeat(n)),
        format!("int {}p;\nBEGIN {{ }}\n", "*".repeat(n)),
        format!("int p{};\nBEGIN {{ }}\n", "[1]".repeat(n)),
        format!("{}int a;{}\nBEGIN {{ }}\n", "struct { ".repeat(n), " } m;".repeat(n)),
    ] {
        let said = refused("deep.d", text.as_bytes(), &[]);
        assert!(said.contains("nested more than"), "{said}");
    }
}
