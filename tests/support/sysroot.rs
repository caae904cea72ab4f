//! tests/support/sysroot.rs: a small kernel with a module, made by gcc and as.

use crate::commands::{run, support};

/// Makes a sysroot with a small program as its kernel, and a module `extra-mod`.
pub(crate) fn sysroot() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let place = |path: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        path.to_str().expect("text").to_owned()
    };
    let shapes = support("shapes.s");
    let shapes = shapes.to_str().expect("text");
    let vmlinux = place("usr/lib/debug/boot/vmlinux-6.6.6");
    run("gcc", &["-nostdlib", "-static", "-no-pie", "-Wl,--build-id", "-o", &vmlinux, shapes]);
    let module = place("lib/modules/6.6.6/kernel/extra-mod.ko");
    let source = support("module.c");
    let source = source.to_str().expect("text");
    let objects = [place("module.o"), place("again.o")];
    run("gcc", &["-O2", "-g", "-ffunction-sections", "-c", "-o", &objects[0], source]);
    run("gcc", &["-O2", "-g", "-c", "-DAGAIN", "-o", &objects[1], source]);
    run("ld", &["-r", "--build-id", "-o", &module, &objects[0], &objects[1]]);
    dir
}
