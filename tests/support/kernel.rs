//! tests/support/kernel.rs: a fixture in place of a kernel, with gcc's BTF and debug information of types.c.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use kinst::debuginfo::{Bytes, ElfFile};
use kinst::diag::Diagnostic;
use kinst::dwarf::Variables;
use kinst::dwarf::variables::scope::{NoScope, Scope};
use kinst::glob::Pattern;
use kinst::knowledge::{Files, Knowledge, Located};
use kinst::probe::{Description, Fields, Site};

/// Returns gcc's object file of types.c, with BTF (-gbtf) or with DWARF (-gdwarf-5).
pub(crate) fn object(format: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (source, path) = (dir.path().join("types.c"), dir.path().join("types.o"));
    std::fs::write(&source, include_str!("types.c")).unwrap();
    let output = Command::new("gcc").arg(format).args(["-c", "-o"]).args([&path, &source]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&path).unwrap()
}

/// Parses an image; `None` if the file is entirely invalid.
pub(crate) fn image(object: Vec<u8>) -> Option<ElfFile> {
    ElfFile::parse(Path::new("types.o"), Bytes::Owned(object)).ok()
}

/// Returns the object file of copies.c.
#[allow(dead_code, reason = "not all who share this file trace copies")]
pub(crate) fn copies() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (source, path) = (dir.path().join("copies.s"), dir.path().join("copies.o"));
    std::fs::write(&source, include_str!("copies.s")).unwrap();
    let output = Command::new("gcc").args(["-c", "-o"]).args([&path, &source]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&path).unwrap()
}

static BTF: LazyLock<Vec<u8>> =
    LazyLock::new(|| image(object("-gbtf")).unwrap().debug_section(".BTF").unwrap().into_owned());

/// Returns the BTF of types.c.
pub(crate) fn btf() -> Vec<u8> {
    BTF.clone()
}

/// A kernel with only the parts that are set here.
#[derive(Default)]
pub(crate) struct Fixture {
    pub btf: Option<Vec<u8>>,
    pub modules: Vec<(String, Vec<u8>)>,
    pub debug: Option<ElfFile>,
}

impl Fixture {
    pub(crate) fn with_btf() -> Fixture {
        Fixture { btf: Some(btf()), ..Fixture::default() }
    }

    /// Makes a fixture with the functions of copies.c, and the types in its BTF.
    #[allow(dead_code, reason = "not all who share this file trace copies")]
    pub(crate) fn with_copies() -> Fixture {
        Fixture { debug: image(copies()), ..Fixture::with_btf() }
    }

    /// Makes a fixture with debug information; `format` is gcc's: -gdwarf-5, -gdwarf-4.
    #[allow(dead_code, reason = "the snapshots need no debug information")]
    pub(crate) fn with_debug(format: &str) -> Fixture {
        Fixture { debug: image(object(format)), ..Fixture::default() }
    }

    pub(crate) fn types(self) -> Knowledge<Fixture> {
        Knowledge::new(self)
    }
}

/// The load offset of the fixture.
const SLIDE: u64 = 0xffff_ffff_8000_0000;

/// Name, address, and whether it is a function; the last one is not in types.c.
const SYMBOLS: &[(&str, u64, bool)] = &[
    ("init_task", 0xffff_ffff_8200_0000, false),
    ("jiffies", 0xffff_ffff_8200_1000, false),
    ("linux_banner", 0xffff_ffff_8200_2000, false),
    ("endless", 0xffff_ffff_8200_2800, false),
    ("per_thing", 0xffff_ffff_8200_3000, false),
    ("vfs_read", 0xffff_ffff_8100_0000, true),
    ("untyped", 0xffff_ffff_8200_4000, false),
];

impl Files for Fixture {
    fn btf(&self, module: Option<&str>) -> Option<Bytes> {
        match module {
            None => self.btf.clone().map(Bytes::Owned),
            Some(name) => {
                let module = self.modules.iter().find(|module| module.0 == name)?;
                Some(Bytes::Owned(module.1.clone()))
            }
        }
    }

    fn modules(&self) -> Vec<String> {
        self.modules.iter().map(|module| module.0.clone()).collect()
    }

    fn symbol(&self, module: Option<&str>, name: &str) -> Option<Located> {
        let (name, address, function) = *SYMBOLS.iter().find(|symbol| symbol.0 == name)?;
        module.is_none_or(|module| module == "vmlinux").then(|| Located {
            module: "vmlinux".to_owned(),
            name: name.to_owned(),
            address,
            bytes: if name == "untyped" { 24 } else { 0 },
            function,
        })
    }

    fn symbol_size(&self, _module: &str, name: &str) -> u64 {
        if name == "endless" { 16 } else { 0 }
    }

    /// Returns the probes of fbt, at the functions of types.c and one in assembly, if the kernel has types.
    fn probes(&self, description: &Description) -> Vec<Fields> {
        let Description::Fields(wanted) = description else { return Vec::new() };
        let matches = |pattern: &str, name: &str| Pattern::new(pattern).matches(name);
        let functions = ["after_pair", "make_pair", "narrow", "vfs_read", "vfs_start"];
        let all = functions.iter().flat_map(|function| ["entry", "return"].map(|name| (*function, name)));
        let named = all.filter(|(function, name)| {
            matches(&wanted.provider, "fbt")
                && matches(&wanted.function, function)
                && matches(&wanted.name, name)
        });
        let probe = |(function, name): (&str, &str)| Fields {
            provider: "fbt".to_owned(),
            module: "vmlinux".to_owned(),
            function: function.to_owned(),
            name: name.to_owned(),
        };
        named.map(probe).collect()
    }

    /// Returns the instruction at an offset, if the function is known.
    fn instructions(&self, description: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        let Fields { module, function, name, .. } = description;
        let known = self.debug.as_ref().is_some_and(|image| image.symbol(function).is_some());
        let Some(offset) = name.parse().ok().filter(|_| known) else { return Ok(Vec::new()) };
        let (module, function) = (module.clone(), function.clone());
        Ok(vec![Site { module, function, offset, ..Site::default() }])
    }

    fn scopes(&self, instructions: &[Site]) -> Vec<Result<Scope, NoScope>> {
        let open = |image| Variables::open(image).map_err(|error| NoScope::Damaged(error.to_string()));
        let none = || NoScope::DebugInformation("no debug information of vmlinux".to_owned());
        let opened = self.debug.as_ref().ok_or_else(none).and_then(open);
        let scope = |asked: &Site| {
            let variables = opened.as_ref().map_err(NoScope::clone)?;
            let image = variables.info().image();
            let symbol = image.symbol(&asked.function).ok_or(NoScope::Function(asked.function.clone()))?;
            let instruction = kinst::dwarf::Instruction {
                address: symbol.address.wrapping_add(asked.offset),
                symbol: symbol.address..symbol.address.wrapping_add(symbol.size),
                copy: asked.copy.as_deref(),
            };
            let frames = variables.at(&instruction, &|linked| Some(linked.wrapping_add(SLIDE)))?;
            let (module, function) = ("vmlinux".to_owned(), asked.function.clone());
            Ok(Scope { module, function, offset: asked.offset, user: false, frames })
        };
        instructions.iter().map(scope).collect()
    }

    fn debug(&self, module: &str) -> Option<&ElfFile> {
        self.debug.as_ref().filter(|_| module == "vmlinux")
    }

    fn linked(&self, symbol: &Located) -> Option<u64> {
        Some(self.debug.as_ref()?.symbol(&symbol.name)?.address)
    }

    fn without_types(&self) -> String {
        "this kernel has no types".to_owned()
    }
}
