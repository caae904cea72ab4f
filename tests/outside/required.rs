//! tests/outside/required.rs: a test that cannot run fails if everything is required, and is counted otherwise.

use std::process::{Command, Output};

use crate::needs;

/// Runs one of the two tests below like `cargo test`, in a separate environment.
fn run(test: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--ignored", "--exact", test]).env_remove("KINST_REQUIRE").env_remove("KINST_KERNELS");
    command.envs(environment.iter().copied()).output().expect("a test")
}

#[test]
#[ignore = "what the tests below run"]
fn wants_a_program() {
    assert!(!needs::program("no-such-program"));
}

#[test]
#[ignore = "what the tests below run"]
fn wants_a_kernel() {
    assert!(needs::linux_6_1().is_none() && needs::kernels().is_empty() && needs::decoder().is_none());
}

#[test]
fn what_is_required_and_missing_is_a_failure() {
    let empty = tempfile::tempdir().expect("a directory");
    let cache = ("KINST_CACHE", empty.path().to_str().expect("UTF-8"));
    for (test, says) in [
        (
            "required::wants_a_program",
            "no-such-program is missing, and KINST_REQUIRE is set: cargo xtask setup",
        ),
        (
            "required::wants_a_kernel",
            "kernel 6.1 is missing, and KINST_REQUIRE is set: cargo xtask setup --kernel 6.1",
        ),
    ] {
        let output = run(test, &[cache, ("KINST_REQUIRE", "1")]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && said.contains(says), "{said}");
    }
}

#[test]
fn what_is_missing_is_written_down() {
    let empty = tempfile::tempdir().expect("a directory");
    let cache = ("KINST_CACHE", empty.path().to_str().expect("UTF-8"));
    let list = empty.path().join("skipped");
    let skipped = ("KINST_SKIPPED", list.to_str().expect("UTF-8"));
    assert!(run("required::wants_a_program", &[cache, skipped, ("KINST_REQUIRE", "0")]).status.success());
    assert!(run("required::wants_a_kernel", &[cache, skipped]).status.success());
    let kernel = "kernel 6.1\tcargo xtask setup --kernel 6.1\toutside::required::wants_a_kernel\n";
    let program = "no-such-program\tcargo xtask setup\toutside::required::wants_a_program\n";
    let decoder = "decoder of the kernel's sources\tcargo xtask setup\toutside::required::wants_a_kernel\n";
    assert_eq!(
        std::fs::read_to_string(&list).expect("the list"),
        [program, kernel, kernel, decoder].concat()
    );
}
