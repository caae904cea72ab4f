//! tests/outside/completion.rs: shell completions, by the command itself and through the script for bash.

use crate::needs;
use std::path::Path;
use std::process::Command;

const DTRACE: &str = env!("CARGO_BIN_EXE_dtrace");

/// Requests completions like a shell; the last word is being typed.
fn offered(words: &[&str]) -> Vec<String> {
    let out = Command::new(DTRACE)
        .env("DTRACE_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .args(["--", "dtrace"])
        .args(words)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Completes a command line in bash with our script, and returns the candidates.
fn in_bash(line: &str) -> Vec<String> {
    // Like readline before it calls the script: words end at blanks and COMP_WORDBREAKS, but not within quotes.
    let script = r#"
        PATH=$FOLDER:$PATH
        eval "$(DTRACE_COMPLETE=bash dtrace)"
        compopt() { :; }
        COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_WORDS=()
        rest=$LINE
        while [[ -n $rest ]]; do
            if [[ $rest =~ ^[[:space:]]+ ]]; then
                :
            elif [[ $rest =~ ^\'[^\']*\'? || $rest =~ ^\"[^\"]*\"? || $rest =~ ^[:=]+ || $rest =~ ^[^[:space:]:=]+ ]]; then
                COMP_WORDS+=("${BASH_REMATCH[0]}")
            fi
            rest=${rest#"${BASH_REMATCH[0]}"}
        done
        [[ $LINE == *' ' ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _dtrace dtrace "${COMP_WORDS[COMP_CWORD]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let folder = Path::new(DTRACE).parent().unwrap();
    let out = Command::new("bash")
        .args(["--norc", "-c", script])
        .env("FOLDER", folder)
        .env("LINE", line)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().filter(|l| !l.is_empty()).map(str::to_owned).collect()
}

#[test]
fn options_and_their_values() {
    assert!(offered(&["--dis"]).contains(&"--disas".to_owned()));
    assert_eq!(offered(&["-x", "bufpolicy="]), ["bufpolicy=switch", "bufpolicy=ring", "bufpolicy=fill"]);
    assert_eq!(offered(&["-x", "ustackf"]), ["ustackframes="]);
    assert_eq!(offered(&["--message-format", "j"]), ["json"]);
    let own = std::process::id().to_string();
    assert!(offered(&["-p", &own]).contains(&own));
}

#[test]
fn forms_and_their_files() {
    assert_eq!(offered(&["-O", "p"]), ["pprof=", "perfetto=", "prom="]);
    assert_eq!(offered(&["-O", "f"]), ["folded", "folded=", "flame="]);
    assert_eq!(offered(&["-O", "js"]), ["json", "json="]);
    assert_eq!(offered(&["-O", "ot"]), ["otlp=", "otlp=http://localhost:4318"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page.html"), "").unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(offered(&["-O", &format!("flame={path}/pa")]), [format!("flame={path}/page.html")]);
    assert_eq!(offered(&["--html", &format!("{path}/pa")]), [format!("{path}/page.html")]);
    assert_eq!(in_bash("dtrace -O fla"), ["flame="]);
    assert_eq!(in_bash(&format!("dtrace -O flame={path}/pa")), [format!("{path}/page.html")]);
}

#[test]
fn providers_and_probes_without_one() {
    assert_eq!(offered(&["-n", "f"]), ["fbt:"]);
    assert_eq!(offered(&["-P", "sy"]), ["syscall", "sysinfo"]);
    assert_eq!(offered(&["-n", "BE"]), ["BEGIN"]);
    assert_eq!(offered(&["-n", "BEGIN,EN"]), ["BEGIN,END"]);
    // A program is not completed as a description.
    assert_eq!(offered(&["-n", "BEGIN { f"]), [""; 0]);
}

#[test]
fn fields_of_a_probe() {
    let Some(root) = needs::linux_6_1() else { return };
    let root = root.to_str().unwrap();
    let of = |word: &str| offered(&["--sysroot", root, "-n", word]);
    assert!(of("fbt:").iter().any(|word| word == "fbt:vmlinux:"));
    assert_eq!(of("fbt::vfs_read"), ["fbt::vfs_read:", "fbt::vfs_readlink:", "fbt::vfs_readv:"]);
    assert_eq!(of("fbt::vfs_read:"), ["fbt::vfs_read:entry", "fbt::vfs_read:return"]);
    assert_eq!(of("kinst::vfs_read:r"), ["kinst::vfs_read:return"]);
    assert_eq!(of("syscall::openat:e"), ["syscall::openat:entry"]);
    assert_eq!(of("sdt:::sched_swi"), ["sdt:::sched_switch"]);
    assert_eq!(of("sdt:"), ["sdt::"]);
    assert_eq!(of("nothing::here:e"), [""; 0]);
    assert_eq!(of("a:b:c:d:e"), [""; 0]);
    assert_eq!(
        offered(&["--sysroot", root, "-f", "vmlinux:vfs_writ"]),
        ["vmlinux:vfs_write", "vmlinux:vfs_writev"]
    );
}

#[test]
fn the_colon_in_bash() {
    let Some(root) = needs::linux_6_1() else { return };
    let root = root.to_str().unwrap();
    let of = |word: &str| in_bash(&format!("dtrace --sysroot {root} -n {word}"));
    // Bash replaces only the part after the last colon, unless the word is quoted.
    assert_eq!(of("fbt::vfs_read"), ["vfs_read:", "vfs_readlink:", "vfs_readv:"]);
    assert_eq!(of("fbt::vfs_read:e"), ["entry"]);
    assert_eq!(of("'fbt::vfs_read:e"), ["fbt::vfs_read:entry"]);
    assert_eq!(
        of("'fbt::vfs_read:entry, fbt::vfs_writ"),
        ["fbt::vfs_read:entry, fbt::vfs_write:", "fbt::vfs_read:entry, fbt::vfs_writev:"]
    );
    assert_eq!(in_bash("dtrace -x bufpolicy=s"), ["switch"]);
    assert!(in_bash("dtrace -n BEGIN -").contains(&"--disas".to_owned()));
}

/// Compiles a program with a function that has code, and one that is only inlined.
fn program(folder: &Path) -> Option<String> {
    if !needs::program("gcc") {
        return None;
    }
    let source = folder.join("tool.c");
    let text = "#include \"usdt.h\"\nunsigned short shop_order__start_semaphore;\nstatic inline __attribute__((always_inline)) int parse_one(int x) { return x * 3 + 1; }\n\
        __attribute__((noinline)) int parse_all(int x) { return parse_one(x) + parse_one(x + 7); }\n\
        int main(int argc, char **argv) { (void)argv;\n\
        __asm__ volatile(KINST_USDT_NOTE(shop, order__start, \"\"));\n\
        return parse_all(argc); }\n";
    std::fs::write(&source, text).unwrap();
    let program = folder.join("tool");
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/src/usdt");
    let built = Command::new("gcc")
        .args(["-O2", "-g", "-I", header, "-o"])
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(built.success());
    Some(program.to_str().unwrap().to_owned())
}

#[test]
fn probes_of_the_program_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = program(folder.path()) else { return };
    let of = |word: &str| offered(&["-c", &path, "-n", word]);
    assert_eq!(of("pid"), ["pid$target:"]);
    let modules = of("pid$target:");
    assert_eq!(modules[0], "pid$target:a.out:");
    assert!(modules.iter().any(|module| module.starts_with("pid$target:libc")), "{modules:?}");
    assert!(of("pid$target:libc:getpi").contains(&"pid$target:libc:getpid:".to_owned()));
    assert_eq!(of("pid$target:a.out:parse"), ["pid$target:a.out:parse_all:", "pid$target:a.out:parse_one:"]);
    assert_eq!(of("pid$target:tool:parse_o"), ["pid$target:tool:parse_one:"]);
    assert_eq!(
        of("pid$target:a.out:parse_one:"),
        ["pid$target:a.out:parse_one:entry", "pid$target:a.out:parse_one:return"]
    );
    // A command has arguments, and bash passes its quotes.
    let line = format!("dtrace -c '{path} -x' -n 'pid$target:a.out:parse_o");
    assert_eq!(in_bash(&line), ["pid$target:a.out:parse_one:"]);
    // Without a process the provider has no meaning.
    assert_eq!(offered(&["-n", "pid"]), [""; 0]);
    assert_eq!(offered(&["-n", "pid$target:"]), [""; 0]);
}

#[test]
fn probes_of_a_process() {
    let own = std::process::id().to_string();
    let of = |word: &str| offered(&["-p", &own, "-n", word]);
    let modules = of("pid$target:");
    assert!(modules.contains(&"pid$target:a.out:".to_owned()), "{modules:?}");
    assert!(modules.contains(&"pid$target:libc.so.6:".to_owned()), "{modules:?}");
    assert!(of("pid$target:libc:getpi").contains(&"pid$target:libc:getpid:".to_owned()));
    let numbered = format!("pid{own}:libc:getpid:e");
    assert_eq!(offered(&["-n", &numbered]), [format!("{numbered}ntry")]);
}

#[test]
fn probes_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = program(folder.path()) else { return };
    let folder = folder.path().to_str().unwrap();
    let of = |word: &str| offered(&["-n", word]);
    assert_eq!(of("upr"), ["uprobe:"]);
    assert_eq!(of("uprobe:/us"), ["uprobe:/usr/"]);
    assert_eq!(of(&format!("uprobe:{folder}/to")), [format!("uprobe:{path}.c:"), format!("uprobe:{path}:")]);
    assert_eq!(of(&format!("uprobe:{path}:parse_o")), [format!("uprobe:{path}:parse_one:")]);
    assert_eq!(of(&format!("uprobe:{path}:main:r")), [format!("uprobe:{path}:main:return")]);
    let second = format!("uprobe:{path}:main:entry,uprobe:{path}:ma");
    assert_eq!(of(&second), [format!("{second}in:")]);
    assert_eq!(of("usd"), ["usdt:"]);
    assert_eq!(of(&format!("usdt:{folder}/to")), [format!("usdt:{path}.c:"), format!("usdt:{path}:")]);
    assert_eq!(of(&format!("usdt:{path}:sh")), [format!("usdt:{path}:shop:")]);
    assert_eq!(of(&format!("usdt:{path}:shop:")), [format!("usdt:{path}:shop:order-start")]);
    // A predicate is not completed.
    assert_eq!(of("uprobe:/bin/sh:main:entry /pi"), [""; 0]);
    assert_eq!(in_bash(&format!("dtrace -n uprobe:{path}:parse_o")), ["parse_one:"]);
}
