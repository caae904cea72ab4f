//! codegen/tests.rs: whole programs to DIF: what they compile to, and what that computes.

use super::generate;
use crate::dif::{self, Options, disasm};
use crate::typeck::tests::check_text;

/// The text as verified DIF.
fn compile(text: &str) -> dif::Program {
    let typed = check_text(text).unwrap_or_else(|d| panic!("{text}: {} {}", d.tag.0, d.title));
    let program = generate(&typed).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    if let Err(error) = dif::verify::verify_program(&program, &options()) {
        panic!("{text}: {error}\n{}", disasm::program(&program));
    }
    program
}

fn options() -> Options {
    Options { destructive: true, ..Options::default() }
}

#[test]
fn the_main_job() {
    for text in [
        r#"kinst::f:entry { printf("\t%d\t%s", pid, execname); }"#,
        "kinst::f:entry { @a[execname, caller] = count(); }",
        "kinst::f:entry { self->ts = timestamp; }",
        "kinst::f:return /self->ts/ { }  ",
        "kinst::f:entry { self->ts = timestamp; } kinst::f:return /self->ts/ { @[probefunc] = quantize(timestamp - self->ts); self->ts = 0; }",
    ] {
        match std::panic::catch_unwind(|| compile(text)) {
            Ok(program) => println!("{text}\n{}", disasm::program(&program)),
            Err(_) => println!("FAIL {text}"),
        }
    }
}
