//! tests/oracle/linked.rs: copies in programs with functions removed by the linker, and in split debug information.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use kinst::sites::copies::calls::{self, Call};

use crate::commands::{run, support};

/// Compiles calls.c and a file of functions that nothing calls.
fn compile(dir: &Path, name: &str, options: &[&str]) -> PathBuf {
    let unused = dir.join("unused.c");
    // The second copy begins far from the start of its function, where retained code may be.
    let text = "static inline __attribute__((always_inline)) int leaf(int x) { return x & 1 ? x * 3 : x / 7; }\n\
        int gone(int x) { return leaf(x) + 1; }\n\
        extern volatile int sink;\n\
        int large(int x) { __asm__ volatile(\".zero 8192, 0x90\"); sink = x; return leaf(x + sink); }\n";
    std::fs::write(&unused, text).expect("a file");
    let (compiler, options) = options.split_first().expect("a compiler");
    let program = dir.join(name);
    let source = support("calls.c");
    let mut command = Command::new(compiler);
    command.args(options).arg("-o").arg(&program).args([&source, &unused]).current_dir(dir);
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

fn found(program: &Path, function: &str) -> Vec<Call> {
    let found = calls::in_file(program, function).unwrap_or_else(|error| panic!("{}", error.title));
    assert!(found.incomplete.is_none(), "{:?}", found.incomplete);
    found.calls
}

#[test]
fn copies_in_removed_functions_are_left_out() {
    let dir = tempfile::tempdir().expect("a directory");
    for compiler in ["gcc", "clang"] {
        for format in ["-gdwarf-4", "-gdwarf-5"] {
            for level in ["-O1", "-O2"] {
                let whole = [compiler, "-fno-pie", "-no-pie", format, level, "-ffunction-sections"];
                let all = found(&compile(dir.path(), "whole", &whole), "leaf");
                let kept: Vec<&Call> = all.iter().filter(|call| call.file.ends_with("calls.c")).collect();
                assert!(kept.len() + 2 <= all.len(), "{whole:?}: {all:#?}");
                let program = compile(dir.path(), "part", &[&whole[..], &["-Wl,--gc-sections"]].concat());
                let left = found(&program, "leaf");
                let places = |calls: &[&Call]| -> Vec<(Option<(String, u64)>, u64)> {
                    calls.iter().map(|call| (call.entry.caller.clone(), call.line)).collect()
                };
                assert_eq!(places(&left.iter().collect::<Vec<_>>()), places(&kept), "{whole:?}");
            }
        }
    }
}

/// A Rust program is linked from parts that are mostly removed, by lld in recent releases.
#[test]
fn copies_of_a_rust_program_are_in_its_code() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("program.rs");
    let text = "#[inline(always)]\nfn leaf(x: u32) -> u32 { std::hint::black_box(x) * 3 }\n\
        pub fn gone(x: u32) -> u32 { leaf(x) }\n\
        fn main() { println!(\"{}\", leaf(std::env::args().count() as u32)); }\n";
    std::fs::write(&source, text).expect("a file");
    let program = dir.path().join("program");
    run("rustc", &["-g", "-O", "-o", program.to_str().expect("text"), source.to_str().expect("text")]);
    for function in ["leaf", "black_box<u32>", "as_ptr", "drop_in_place", "len"] {
        let Ok(found) = calls::in_file(&program, function) else { continue };
        for call in &found.calls {
            assert!(call.entry.caller.is_some(), "{function}: {call:x?}");
        }
    }
    assert_eq!(found(&program, "leaf").len(), 1);
}

#[test]
fn split_debug_information_is_read() {
    let dir = tempfile::tempdir().expect("a directory");
    for compiler in ["gcc", "clang"] {
        for format in ["-gdwarf-4", "-gdwarf-5"] {
            let way = [compiler, "-fno-pie", "-no-pie", format, "-O2"];
            let expected = found(&compile(dir.path(), "plain", &way), "leaf");
            assert!(expected.len() > 3, "{expected:#?}");
            let split = [&way[..], &["-gsplit-dwarf"]].concat();
            let program = compile(dir.path(), "split", &split);
            assert_eq!(found(&program, "leaf"), expected, "{split:?}");
            let middle = found(&program, "middle");
            let moved = || {
                let files = std::fs::read_dir(dir.path()).expect("a folder").flatten();
                files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "dwo"))
            };
            let package = dir.path().join("split.dwp");
            // With gcc's DWARF 5, dwp of binutils 2.40 crashes, and llvm-dwp 14 and 19 hang.
            let packer = match (compiler, format) {
                ("gcc", "-gdwarf-5") => None,
                ("gcc", _) => Some("dwp"),
                _ => Some("llvm-dwp"),
            };
            if let Some(packer) = packer {
                run(packer, &["-e", program.to_str().expect("text"), "-o", package.to_str().expect("text")]);
            }
            let hidden = tempfile::tempdir().expect("a directory");
            for file in moved() {
                std::fs::rename(&file, hidden.path().join(file.file_name().expect("a name"))).expect("moved");
            }
            if packer.is_some() {
                assert_eq!(found(&program, "leaf"), expected, "{split:?}, packed");
                std::fs::remove_file(&package).expect("removed");
            }
            let error = calls::in_file(&program, "leaf").expect_err("the files are missing");
            let notes = error.notes.join("\n");
            assert!(
                notes.contains(".dwo, which has the debug information of ") && notes.contains(" is missing"),
                "{notes}"
            );
            // Next to a program that was moved.
            let there = hidden.path().join("split");
            std::fs::rename(&program, &there).expect("moved");
            assert_eq!(found(&there, "middle"), middle);
            some_are_missing(&there, &split, expected.len());
        }
    }
}

/// One of two files is missing; then the other one is from another build.
fn some_are_missing(program: &Path, split: &[&str], all: usize) {
    let dir = program.parent().expect("a folder");
    let files = || -> Vec<PathBuf> {
        std::fs::read_dir(dir).expect("a folder").flatten().map(|file| file.path()).collect()
    };
    let unused = files().into_iter().find(|path| path.to_string_lossy().contains("unused"));
    std::fs::remove_file(unused.expect("the file")).expect("removed");
    let found = calls::in_file(program, "leaf").expect("the other file's copies");
    assert!(!found.calls.is_empty() && found.calls.len() < all);
    let incomplete = found.incomplete.expect("a reason");
    let missing = &incomplete.notes[0];
    assert!(missing.contains("unused.dwo") && missing.ends_with("unused.c, is missing"), "{missing}");
    let other = compile(dir, "other", &[split, &["-Dsink=other"]].concat());
    std::fs::remove_file(other).expect("removed");
    for file in files() {
        let name = file.file_name().expect("a name").to_string_lossy().replace("other", "split");
        std::fs::rename(&file, dir.join(name)).expect("moved");
    }
    let error = calls::in_file(program, "leaf").expect_err("the files are of another build");
    assert!(error.notes[0].ends_with("belongs to another build of the program"), "{:?}", error.notes);
}

/// The functions that match a name, without `std` and functions inlined from it.
fn named(program: &Path, name: &str) -> BTreeSet<String> {
    let calls = calls::in_file(program, name).unwrap_or_default().calls;
    calls.into_iter().filter(|call| !call.file.contains('/')).map(|call| call.function).collect()
}

#[test]
fn names_are_those_of_their_languages() {
    let dir = tempfile::tempdir().expect("a directory");
    for compiler in ["g++", "clang++"] {
        for options in [&["-O2"][..], &["-O2", "-gsplit-dwarf"]] {
            let source = std::fs::copy(support("names.cpp"), dir.path().join("names.cpp"));
            source.expect("a file");
            let mut command = Command::new(compiler);
            command.args(["-g", "-o", "names", "names.cpp"]).args(options).current_dir(dir.path());
            assert!(command.status().expect("a compiler").success());
            let program = dir.path().join("names");
            for (name, expected) in [
                ("sq", &["ns::sq<int>", "ns::sq<double>", "other::sq"][..]),
                ("ns::sq", &["ns::sq<int>", "ns::sq<double>"]),
                ("sq<double>", &["ns::sq<double>"]),
                ("ns::sq<int>", &["ns::sq<int>"]),
                ("*::s?", &["ns::sq<int>", "ns::sq<double>", "other::sq"]),
                ("T::method", &["ns::T::method"]),
                ("method", &["ns::T::method"]),
                ("operator<", &["ns::T::operator<"]),
                ("std::ns::sq", &[]),
                ("sq<float>", &[]),
            ] {
                let expected = expected.iter().map(|name| (*name).to_owned()).collect();
                assert_eq!(named(&program, name), expected, "{compiler} {options:?} {name}");
            }
            let hidden = named(&program, "hidden");
            assert!(
                hidden.iter().all(|name| name.starts_with("ns::") && name.ends_with("::hidden")),
                "{hidden:?}"
            );
            let pushed = named(&program, "vector<int>::push_back");
            assert!(pushed.iter().all(|name| name.starts_with("std::vector<int")), "{pushed:?}");
            assert_eq!((hidden.len(), pushed.len()), (1, 1));
            let found = calls::in_file(&program, "sq").expect("calls");
            let candidates: Vec<(&str, usize)> =
                found.candidates.iter().map(|(name, calls)| (name.as_str(), *calls)).collect();
            assert_eq!(candidates, [("ns::sq", 2), ("other::sq", 1)]);
            let callers: BTreeSet<String> =
                found.calls.into_iter().filter_map(|call| Some(call.entry.caller?.0)).collect();
            let of = |caller: &str| caller.to_owned();
            assert_eq!(callers, [of("ns::caller(int, ns::T*, ns::T*)"), of("other::caller(int)")].into());
        }
    }
}

#[test]
fn names_are_those_of_rust() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::copy(support("names.rs"), dir.path().join("names.rs")).expect("a file");
    let mut command = Command::new("rustc");
    command.args(["-g", "-O", "-o", "program", "names.rs"]).current_dir(dir.path());
    assert!(command.status().expect("rustc").success());
    let program = dir.path().join("program");
    for (name, expected) in [
        ("put", "names::List::put"),
        ("List::put", "names::List::put"),
        ("Vec<i32>::push", "alloc::vec::Vec<i32, alloc::alloc::Global>::push<i32, alloc::alloc::Global>"),
        (
            "Vec<i32, Global>::push",
            "alloc::vec::Vec<i32, alloc::alloc::Global>::push<i32, alloc::alloc::Global>",
        ),
        ("List::area", "names::List::area"),
        ("Option::unwrap", "core::option::Option<alloc::string::String>::unwrap<alloc::string::String>"),
    ] {
        assert_eq!(named(&program, name), [expected.to_owned()].into(), "{name}");
    }
    assert_eq!(named(&program, "Vec<u32>::push"), BTreeSet::new());
    // Line tables without other debug information still name the inlined functions.
    command.args(["-C", "debuginfo=line-tables-only"]);
    assert!(command.status().expect("rustc").success());
    assert!(!calls::in_file(&program, "unwrap").expect("calls").calls.is_empty());
}
