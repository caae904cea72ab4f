//! parser/tests.rs: small programs, the limits, and the property that the printed text parses back.

use super::*;
use crate::source::{Origin, Source};

fn no_type(_: &str) -> bool {
    false
}

pub fn read(text: &str, origin: Origin) -> Result<ast::Program, ParseError> {
    let mut sources = Sources::default();
    let file = sources.add(Source { name: "test.d".to_owned(), origin, text: text.to_owned() });
    let macros = Macros::default();
    let settings = Settings { empty: true, ..Settings::default() };
    let options = ParseOptions { macros: &macros, is_type_name: &no_type, settings };
    parse(&sources, file, &options).map(|parsed| parsed.program)
}

#[test]
fn the_first_program() {
    let text = r#"kinst::f:entry /pid/ { printf("\t%d\t%s", pid, execname); @a[execname] = count(); if (x) { self->ts = timestamp; } }"#;
    let program = read(text, Origin::Name).unwrap();
    let printed = pretty::clauses(&program);
    assert_eq!(
        printed,
        "kinst::f:entry\n/pid/\n{\n        printf(\"\\t%d\\t%s\", pid, execname);\n        @a[execname] = count();\n        \
         if (x) {\n                self->ts = timestamp;\n        }\n}\n\n"
    );
    let (plain, _) = crate::sugar::if_else::expand(program, crate::sugar::Session::default());
    let printed = pretty::clauses(&ast::Program::from(&plain));
    eprintln!("{printed}");
    read(&printed, Origin::Script).unwrap();
}
