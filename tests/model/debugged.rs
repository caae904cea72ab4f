//! tests/model/debugged.rs: values of Rust as print() shows them, compared with what the program prints by `{:?}`.

use std::collections::BTreeMap;

use crate::commands::{run, support};
use crate::live::{can_trace, dtrace, text};
use crate::needs;

/// A value in the output of print().
#[derive(Clone, Debug)]
enum Shown {
    /// A number, an enumerator, or a text in quotes.
    Word(String),
    /// The members: type, name and value.
    Record(Vec<(String, String, Shown)>),
    List(Vec<Shown>),
    /// The value that a reference or box refers to.
    Referent(Box<Shown>),
}

/// The rest of the output.
struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn skip(&mut self, text: &str) -> bool {
        self.0 = self.0.trim_start();
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Takes the text up to one of these, which is left.
    fn until(&mut self, ends: &[char]) -> String {
        let at = self.0.find(ends).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(at);
        self.0 = rest;
        taken.trim().to_owned()
    }

    fn quoted(&mut self) -> String {
        let mut escaped = false;
        let end = self.0.char_indices().skip(1).find(|(_, c)| {
            let is_end = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            is_end
        });
        let (taken, rest) = self.0.split_at(end.map_or(self.0.len(), |(at, _)| at + 1));
        self.0 = rest;
        taken.to_owned()
    }

    fn value(&mut self) -> Shown {
        if self.skip("{") {
            let mut members = Vec::new();
            while !self.skip("}") {
                let line = self.until(&['=']);
                assert!(self.skip("="), "a member in {line:?} before {:?}", self.0);
                let (ty, name) = line.rsplit_once(' ').expect("a type and a name");
                members.push((ty.to_owned(), name.to_owned(), self.value()));
            }
            return Shown::Record(members);
        }
        if self.skip("[") {
            let mut elements = Vec::new();
            while !self.skip("]") {
                elements.push(self.value());
                self.skip(",");
            }
            return Shown::List(elements);
        }
        if self.skip("->") {
            // The type of what a Rc refers to.
            self.until(&['{', '\n']);
            return Shown::Referent(Box::new(self.value()));
        }
        self.0 = self.0.trim_start();
        if self.0.starts_with('"') {
            let text = self.quoted();
            if self.skip("... (") {
                self.until(&['\n']);
            }
            return Shown::Word(text);
        }
        let word = self.until(&[' ', ',', '\n']);
        let rest = self.0;
        if self.skip("element ") || self.skip("elements ") {
            return self.value();
        }
        self.0 = rest;
        if self.0.starts_with(" -> ") {
            self.skip("->");
            return Shown::Referent(Box::new(self.value()));
        }
        Shown::Word(word)
    }
}

/// The name of a type without its kind, its path and its arguments.
fn own_name(ty: &str) -> &str {
    let ty =
        ty.split_once(' ').filter(|(kind, _)| matches!(*kind, "struct" | "enum")).map_or(ty, |(_, ty)| ty);
    let name = ty.split('<').next().unwrap_or(ty);
    name.rsplit("::").next().unwrap_or(name)
}

/// The first argument of a generic, or the type of elements or referents.
fn inner(ty: &str) -> String {
    let ty = ty.strip_prefix("struct ").unwrap_or(ty);
    let of_array = |ty: &str| {
        let inside = ty.strip_prefix('[')?.strip_suffix(']')?;
        let (of, length) = inside.rsplit_once("; ")?;
        length.bytes().all(|byte| byte.is_ascii_digit()).then(|| of.to_owned())
    };
    if let Some(of) = of_array(ty) {
        return of;
    }
    if let Some(to) = ty.strip_prefix('&') {
        return match to.strip_prefix('[').filter(|_| of_array(to).is_none()) {
            Some(of) => of.trim_end_matches(']').to_owned(),
            None => to.to_owned(),
        };
    }
    if let Some((of, lengths)) = ty.rsplit_once(" [") {
        // The element of an array of arrays is an array.
        return match lengths.split_once('[') {
            Some((_, rest)) => format!("{of} [{rest}"),
            None => of.to_owned(),
        };
    }
    let Some((_, arguments)) = ty.split_once('<') else { return String::new() };
    let mut depth = 0;
    let end = arguments.char_indices().find(|(_, c)| {
        depth += i32::from(matches!(c, '<' | '(' | '[')) - i32::from(matches!(c, '>' | ')' | ']'));
        depth < 0 || depth == 0 && *c == ','
    });
    let first = &arguments[..end.map_or(arguments.len(), |(at, _)| at)];
    first.strip_prefix('[').map_or(first, |slice| slice.trim_end_matches(']')).to_owned()
}

/// A value as `{:?}` prints it.
fn debugged(ty: &str, value: &Shown) -> String {
    let all = |values: Vec<String>| values.join(", ");
    match value {
        Shown::Word(word) => of_word(ty, word),
        Shown::Referent(to) => match (&**to, own_name(ty)) {
            // The counts of a Rc are left out.
            (Shown::Record(members), "Rc" | "Arc") => {
                let (ty, _, value) = members.last().expect("the value");
                debugged(ty, value)
            }
            (to, _) => debugged(&inner(ty), to),
        },
        Shown::List(elements) => {
            format!("[{}]", all(elements.iter().map(|element| debugged(&inner(ty), element)).collect()))
        }
        Shown::Record(members) => {
            let of = |at: usize| debugged(&members[at].0, &members[at].2);
            match (own_name(ty), &members[..]) {
                // The existing variant of an enum.
                (_, [(ty, name, value)]) if own_name(ty) == name => {
                    debugged(&format!("struct {name}"), value)
                }
                ("NonZero", _) => of_innermost(value),
                ("Cell", _) => format!("Cell {{ value: {} }}", of_innermost(value)),
                ("Range", _) => format!("{}..{}", of(0), of(1)),
                ("Duration", _) => format!("{}.{:0>9}s", of(0), of_innermost(&members[1].2)),
                (name, _) => {
                    let is_tuple = members.iter().all(|(_, name, _)| name.starts_with("__"));
                    let values = (0..members.len()).map(of);
                    let named = members.iter().zip((0..members.len()).map(of));
                    let named = named.map(|((_, name, _), value)| format!("{name}: {value}"));
                    match (name.starts_with('('), is_tuple) {
                        (true, _) => format!("({})", all(values.collect())),
                        (false, _) if members.is_empty() => name.to_owned(),
                        (false, true) => format!("{name}({})", all(values.collect())),
                        (false, false) => format!("{name} {{ {} }}", all(named.collect())),
                    }
                }
            }
        }
    }
}

/// The value in structures with one member.
fn of_innermost(value: &Shown) -> String {
    match value {
        Shown::Record(members) => match &members[..] {
            [(ty, _, Shown::Word(word))] => of_word(ty, word),
            [(_, _, value)] => of_innermost(value),
            _ => format!("{members:?}"),
        },
        other => format!("{other:?}"),
    }
}

fn of_word(ty: &str, word: &str) -> String {
    let Some(digits) = word.strip_prefix("0x") else { return word.to_owned() };
    let number = u128::from_str_radix(digits, 16).expect("a number");
    match own_name(ty) {
        "bool" => (number != 0).to_string(),
        "char" => format!("{:?}", char::from_u32(number as u32).expect("a character")),
        "i8" => (number as i8).to_string(),
        "i16" => (number as i16).to_string(),
        "i32" => (number as i32).to_string(),
        "i64" | "isize" => (number as i64).to_string(),
        "i128" => (number as i128).to_string(),
        _ => number.to_string(),
    }
}

/// The values that the program shows otherwise: print() shows the members that they consist of.
const MEMBERS: [(&str, &str); 4] = [
    ("a_vec_deque", "usize len = 0x2"),
    ("a_map", "usize items = 0x1"),
    ("a_tree", "usize length = 0x1"),
    ("a_function", "&fn(u8) -> u8 value = 0x"),
];

#[test]
fn kinds_of_rust() {
    if !can_trace() || !needs::program("rustc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("kinds").display().to_string();
    let source = support("kinds.rs").display().to_string();
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        run("rustc", &["--edition", "2024", "-g", level, "-Ccodegen-units=1", "-o", &program, &source]);
        let said = run(&program, &[]);
        let expected: BTreeMap<&str, &str> = said
            .lines()
            .filter(|line| line.starts_with("a_"))
            .filter_map(|line| line.split_once('='))
            .collect();
        assert!(expected.len() >= 85, "{} kinds", expected.len());
        let script = "pid$target:a.out:\"shown::a_*\":entry {\
             printf(\"\\n@%s \", probefunc); print(args); printf(\"\\n@end\\n\"); }";
        let ran = dtrace(&["-qn", script, "-c", &program], None);
        let ran_text = text(&ran.stdout);
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        let shown = |name: &str| -> &str {
            let (_, rest) = ran_text
                .split_once(&format!("@kinds::shown::{name} "))
                .unwrap_or_else(|| panic!("{level}: no {name}"));
            rest.split_once("@end").expect("its end").0.trim()
        };
        for (name, expected) in &expected {
            let (shown, way) = (shown(name), format!("{level} {name}"));
            if let Some((_, member)) = MEMBERS.iter().find(|(known, _)| known == name) {
                assert!(shown.contains(member), "{way}: {shown}");
                continue;
            }
            let Shown::Record(arguments) = Reader(shown).value() else { panic!("{way}: {shown}") };
            let [(ty, _, value)] = &arguments[..] else { panic!("{way}: {shown}") };
            let value = debugged(ty, value);
            if name == &"a_long_str" {
                let cut = value.trim_end_matches('"');
                assert!(cut.len() > 200 && expected.starts_with(cut), "{way}: {value}");
                assert!(shown.contains("... (300 bytes)"), "{way}: {shown}");
                continue;
            }
            assert_eq!(&value, expected, "{way}: {shown}");
        }
        assert!(shown("a_path").contains(" -> \"/tmp/x\""), "{level}: {}", shown("a_path"));
        assert!(shown("a_box_dyn").contains("dyn kinds::Speak * pointer = 0x"), "{level}");
    }
}
