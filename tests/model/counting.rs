//! tests/model/counting.rs: C programs whose functions count their own calls.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A definition of a function in preprocessed C.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub name: String,
    /// The offset of the brace that begins its body.
    pub body: usize,
    /// Whether it is in one of the system's headers.
    pub system: bool,
}

/// Finds the functions that are defined in preprocessed C.
pub(crate) fn definitions(text: &str) -> Vec<Definition> {
    let (mut found, mut depth, mut system) = (Vec::new(), 0_usize, false);
    let bytes = text.as_bytes();
    // The declaration before the next brace or semicolon outside of all braces.
    let mut from = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' if at == 0 || bytes[at - 1] == b'\n' => {
                let line = text[at..].lines().next().unwrap_or_default();
                // `# 12 "file" 3`: the flag of system headers.
                if line.starts_with("# ") {
                    system =
                        line.rsplit('"').next().is_some_and(|flags| flags.split(' ').any(|flag| flag == "3"));
                }
                at += line.len();
                continue;
            }
            b'"' | b'\'' => at = end_of_literal(bytes, at),
            b'{' => {
                if let Some(name) = Some(&text[from..at]).filter(|_| depth == 0).and_then(declared) {
                    found.push(Definition { name, body: at, system });
                }
                depth += 1;
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                from = if depth == 0 { at + 1 } else { from };
            }
            b';' if depth == 0 => from = at + 1,
            _ => {}
        }
        at += 1;
    }
    found
}

/// Inserts a counter into each function of preprocessed C that is not in one of the system's headers, and adds its
/// name to `names`. Functions of one name share one counter, in all files.
pub(crate) fn with_counters(text: &str, names: &mut BTreeSet<String>) -> String {
    let own: Vec<Definition> = definitions(text).into_iter().filter(|one| !one.system).collect();
    let mut counting = String::new();
    for name in own.iter().map(|one| one.name.as_str()).collect::<BTreeSet<_>>() {
        let _ = write!(counting, "unsigned long calls_of_{name} __attribute__((common)); ");
    }
    counting.push('\n');
    let mut at = 0;
    for Definition { name, body, .. } in own {
        let _ =
            write!(counting, "{} __asm__ volatile(\"incq %0\" : \"+m\"(calls_of_{name}));", &text[at..=body]);
        at = body + 1;
        names.insert(name);
    }
    counting + &text[at..]
}

/// A source that prints these counters at the end of the program.
pub(crate) fn report(names: &BTreeSet<String>) -> String {
    let mut text = "#include <stdio.h>\n".to_owned();
    let mut prints = String::new();
    for name in names {
        let _ = writeln!(text, "unsigned long calls_of_{name} __attribute__((common));");
        let _ = writeln!(prints, " printf(\"@ {name} %lu\\n\", calls_of_{name});");
    }
    text + "__attribute__((destructor)) static void report(void)\n{\n" + &prints + "}\n"
}

/// The offset of the closing quote of a string or character.
fn end_of_literal(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != bytes[start] {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// The function declared by the text before a body, which ends with the parameters.
fn declared(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let text = lines.join("\n");
    let mut text = text.trim();
    if !text.ends_with(')') || text.contains('=') {
        return None;
    }
    loop {
        let mut depth = 0;
        let open = text.char_indices().rev().find(|(_, c)| {
            depth += i32::from(*c == ')') - i32::from(*c == '(');
            depth == 0
        });
        let before = text[..open?.0].trim_end();
        // `(name)(int a)` prevents the expansion of a macro of that name.
        let before = before.strip_suffix(')').map_or(before, str::trim_end);
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let name = &before[start..];
        match name {
            "__attribute__" | "__asm__" | "asm" => text = before[..start].trim_end(),
            "" | "struct" | "union" | "enum" | "void" | "int" | "char" | "const" => return None,
            _ => return Some(name.to_owned()),
        }
        if !text.ends_with(')') {
            return None;
        }
    }
}

#[test]
fn definitions_in_preprocessed_text() {
    let text = "# 1 \"/usr/include/a.h\" 1 3\nextern int a(int b) { return ')'; }\n# 2 \"own.c\" 2\n\
        struct s { int a; };\nstatic int b(struct s *s)\n{\n if (\"}\\\"\"[0]) { return 1; }\n return 0;\n}\n\
        int c[] = { 1, f(2) };\nvoid (d)(void)\n# 9 \"own.c\"\n __attribute__((noinline)) { }\nint e(int);\n\
        struct __attribute__((packed)) { int a; } t;\nint main() { { } }\n";
    let found: Vec<(String, bool)> =
        definitions(text).into_iter().map(|one| (one.name, one.system)).collect();
    let found: Vec<(&str, bool)> = found.iter().map(|(name, system)| (name.as_str(), *system)).collect();
    assert_eq!(found, [("a", true), ("b", false), ("d", false), ("main", false)]);
}
