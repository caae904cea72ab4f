//! tests/outside/path.rs: the D programs of --path for Debian's kernel. The recorded paths are tested in a guest
//! (tests/vm/cases/path.case).

use crate::real::dtrace;

#[test]
fn the_program_of_a_function() {
    let dump = [
        "--path",
        "vfs_read",
        "--when",
        "/arg2 > 4096/",
        "--differ",
        "arg1 == -22",
        "--calls",
        "7",
        "-p",
        "1",
        "--dump",
    ];
    let Some((good, program, said)) = dtrace(&dump) else { return };
    assert!(good && said.is_empty(), "{said}");
    assert!(
        program.contains("this->begins = ended < 7 && pid == $target && (arg2 > 4096) ? 1 : 0;"),
        "{program}"
    );
    assert!(program.contains("trace((arg1 == -22) ? 1 : 0);"), "{program}");
    // Each branch has probes on both edges, with the values it depends on; a block in the middle of others has none.
    for (site, there) in [("171-173", true), ("171-241", true), ("117-199", true), ("114", false)] {
        assert_eq!(program.contains(&format!("kinst:vmlinux:vfs_read:{site}")), there, "{site} in {program}");
    }
    let decided = "kinst:vmlinux:vfs_read:171-241\n/self->calls & 1 && self->n < 262144/\n{\n\ttrace(self->key);\n\ttrace(self->n);\n\ttrace(2);\n\ttrace(regs[R_RBX]);\n";
    assert!(program.contains(decided), "{program}");
}

#[test]
fn what_an_int_function_returns_is_an_int() {
    let Some((good, program, _)) = dtrace(&["--path", "filename_lookup", "--differ", "/arg1 < 0/", "--dump"])
    else {
        return;
    };
    assert!(good && program.contains("trace(((int)arg1 < 0) ? 1 : 0);"), "{program}");
}

#[test]
fn programs_of_copies_of_modules_and_with_functions_inside_compile() {
    let all: [&[&str]; 4] = [
        &["fsnotify_access"],
        &["xfs:xfs_file_read_iter"],
        &["do_sys_openat2", "--into", "path_openat,link_path_walk,may_open"],
        &["dput"],
    ];
    for arguments in all {
        let Some((good, _, said)) = dtrace(&[&["-e", "--path"], arguments].concat()) else { return };
        assert!(good, "{arguments:?}: {said}");
    }
}

#[test]
fn what_cannot_be_followed() {
    let cases: [(&[&str], &str); 9] = [
        (&["nowhere"], "no function `nowhere`"),
        (&["vfs_read", "--into", "nowhere"], "no function `nowhere`"),
        (&["nomodule:vfs_read"], "nomodule"),
        (&["do_syscall_64"], "do_syscall_64"),
        (&["__irq_exit_rcu"], "begins in one context and ends in another"),
        (&["vfs_*"], "vfs_*"),
        (&[""], "function"),
        (&["path_put", "--differ", "arg1"], "path_put returns no value"),
        (&["fsnotify_access", "--differ", "arg1"], "a copy returns no value"),
    ];
    for (arguments, expected) in cases {
        let Some((good, program, said)) = dtrace(&[&["--dump", "--path"], arguments].concat()) else {
            return;
        };
        assert!(!good && program.is_empty() && said.contains(expected), "{arguments:?}: {said}");
    }
}

/// A message refers to the user's input, not to the program around it.
#[test]
fn predicates_with_mistakes() {
    for (option, predicate, title, place) in [
        ("--when", "arg1 < ", "unexpected end of the program", "1 │ arg1 <\n"),
        ("--when", "arg1) || (1", "unmatched `)`", "1 │ arg1) || (1\n"),
        ("--when", "foo > 1", "`foo` is not defined", "1 │ foo > 1\n"),
        ("--when", "wrong", "`wrong` is not defined", "1 │ wrong\n"),
        ("--differ", "/wrong/", "`wrong` is not defined", "1 │ wrong\n"),
        ("--differ", "/arg1 <  bar/", "`bar` is not defined", "1 │ arg1 <  bar\n"),
    ] {
        let Some((good, out, said)) = dtrace(&["--path", "vfs_read", option, predicate, "-e"]) else {
            return;
        };
        let first = format!("dtrace: invalid predicate of {option}: {title}\n");
        assert!(!good && out.is_empty() && said.starts_with(&first) && said.contains(place), "{said}");
        assert!(!said.contains("self->"), "{said}");
    }
}
