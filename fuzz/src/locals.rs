//! fuzz/src/locals.rs: variables from damaged debug information, compiled; the verifier must accept the result.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use kinst::diag::{Diagnostic, tags};
use kinst::dif::{self, disasm};
use kinst::knowledge::Knowledge;
use kinst::options::{From as Setter, Options};
use kinst::parser::Macros;
use kinst::pipeline::{self, Compiled, Given};
use kinst::probe::Site;
use kinst::sites::Places as _;
use kinst::source::{Origin, Source, Sources};
use kinst::types::KernelTypes;

use super::debug::changed_of;
use super::kernel::{self, Fixture};

static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| vec![kernel::copies()]);

const SECTIONS: [&str; 5] =
    [".debug_loclists", ".debug_frame", ".debug_info", ".debug_abbrev", ".debug_rnglists"];

/// Functions of copies.c, with offsets where a scope or location begins or ends.
const PLACES: [(&str, &[u64]); 3] = [
    ("submit", &[0, 29, 90, 116, 127, 152, 186]),
    ("resubmit", &[0, 12, 16, 20, 25, 50, 80, 96]),
    ("accessed", &[0, 7, 32, 45, 49, 60]),
];

/// Compiles every variable at each place, in one program.
pub fn locals(data: &[u8]) {
    let Some(image) = changed_of(&FILES, &SECTIONS, data) else { return };
    let kernel = Knowledge::new(Fixture { debug: Some(image), ..Fixture::default() });
    let mut text = String::new();
    for (function, offsets) in PLACES {
        for offset in offsets {
            let instruction = Site {
                module: "vmlinux".to_owned(),
                function: function.to_owned(),
                offset: *offset,
                ..Site::default()
            };
            let scopes = kernel.scopes(&[instruction]);
            let Some(Ok(scope)) = scopes.first().map(|scope| &**scope) else { continue };
            for variable in scope.frames.iter().flat_map(|frame| frame.variables()) {
                let _ = (variable.place(), variable.ty.map(|place| kernel.type_at("vmlinux", place)));
            }
            for name in scope.names().filter(|name| is_word(name)).take(16).collect::<BTreeSet<&str>>() {
                one(&kernel, &format!("kinst::{function}:{offset} {{ trace(locals->{name}); }}\n"));
            }
            text += &format!("kinst::{function}:{offset} {{ trace(args[0]); }}\n");
        }
    }
    one(&kernel, &text);
}

/// Whether a name is valid in D; a damaged name may be anything.
fn is_word(name: &str) -> bool {
    name.len() < 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn one(kernel: &Knowledge<Fixture>, text: &str) {
    let Some(compiled) = compiled(kernel, text) else { return };
    if let Err(error) = kinst_oracle::verify::verify_program(&compiled.program, &dif::Options::default()) {
        let own = matches!(error, kinst_oracle::verify::ProgramError::Refused(_));
        assert!(!own, "{error}\n{text}\n{}", disasm::program(&compiled.program));
    }
}

fn compiled(kernel: &Knowledge<Fixture>, text: &str) -> Option<Compiled> {
    let mut sources = Sources::default();
    let source = Source { name: "fuzz.d".to_owned(), origin: Origin::Script, text: text.to_owned() };
    let file = sources.add(source);
    let mut options = Options::default();
    options.set("missinglocals", Some("zero"), Setter::CommandLine).expect("it is a choice");
    let index = |_| Err(Box::new(Diagnostic::error(tags::UNKNOWN, "there is no index")));
    let macros = Macros::default();
    let given =
        Given { macros: &macros, kernel, places: kernel, index: &index, libraries: &[], stability: false };
    pipeline::compile(&sources, &[file], given, &mut options).result.ok()
}
