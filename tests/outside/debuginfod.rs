//! tests/outside/debuginfod.rs: debug information from a server, which is queried only if the user configures one.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kinst::debuginfo::{BuildId, ElfFile};

use crate::needs;

const SOURCE: &str = "
static inline __attribute__((always_inline)) int inner(int x) { __asm__ volatile (\"nop\"); return x + 1; }
int main(int argc, char **argv) { (void)argv; return inner(argc); }
";

/// Serves one file by its build id; other requests get 404.
fn serve(id: String, file: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = answer(stream.expect("a request"), &id, &file);
        }
    });
    format!("http://{address}")
}

fn answer(stream: TcpStream, id: &str, file: &Path) -> std::io::Result<()> {
    let mut reader = BufReader::new(&stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let asked = format!("/buildid/{id}/debuginfo");
    let body = if request.contains(&asked) { std::fs::read(file)? } else { Vec::new() };
    let status = if body.is_empty() { "404 Not Found" } else { "200 OK" };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    (&stream).write_all(&[head.into_bytes(), body].concat())
}

fn run(program: &str, arguments: &[&str], urls: &str, home: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("NO_COLOR", "1").env("DEBUGINFOD_CACHE_PATH", home).env("HOME", home);
    command.env("XDG_CACHE_HOME", home).env("DEBUGINFOD_TIMEOUT", "20").env("DEBUGINFOD_URLS", urls);
    command.output().expect("the program")
}

/// Builds a program with this build id.
fn build(dir: &Path, id: &str) -> PathBuf {
    let (source, path) = (dir.join("small.c"), dir.join("small"));
    std::fs::write(&source, SOURCE).expect("a file");
    let id = format!("-Wl,--build-id={id}");
    let built = Command::new("gcc").args(["-g", "-O2", &id, "-o"]).args([&path, &source]).output();
    assert!(built.expect("gcc").status.success());
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_program_without_debug_information() {
    if !needs::program("debuginfod-find") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let whole = build(dir.path(), "sha1");
    let id = ElfFile::open(&whole).expect("a program").build_id().expect("an id").to_string();
    let stripped = dir.path().join("stripped");
    let copied = Command::new("strip").arg("-o").args([&stripped, &whole]).status().expect("strip");
    assert!(copied.success());
    let urls = serve(id.clone(), whole);
    let stripped = stripped.to_str().expect("UTF-8");
    let inlinecall =
        |urls: &str| run(env!("CARGO_BIN_EXE_inlinecall"), &["inner", stripped], urls, dir.path());
    let without = inlinecall("");
    assert_eq!(without.status.code(), Some(2));
    assert!(!text(&without.stderr).contains("debuginfod"), "a server is queried only if configured");
    let with = inlinecall(&urls);
    let said = text(&with.stderr);
    assert!(
        said.contains(&format!(
            "querying debuginfod for the debug information of {stripped} (build id {id})"
        ))
    );
    assert_eq!(with.status.code(), Some(0), "{said}");
    assert!(text(&with.stdout).contains("  main:"), "{}", text(&with.stdout));
}

#[test]
fn a_server_that_does_not_have_it_or_is_not_there() {
    if !needs::program("debuginfod-find") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let whole = build(dir.path(), "sha1");
    let stripped = dir.path().join("stripped");
    Command::new("strip").arg("-o").args([&stripped, &whole]).status().expect("strip");
    let stripped = stripped.to_str().expect("UTF-8");
    // The client caches negative answers for a while, so each run gets a separate cache.
    let said = |urls: &str| {
        let home = tempfile::tempdir().expect("a directory");
        let output = run(env!("CARGO_BIN_EXE_inlinecall"), &["inner", stripped], urls, home.path());
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    let unknown = said(&serve("00".to_owned(), whole));
    assert!(unknown.contains("has no debug information") && unknown.contains("debuginfod ("), "{unknown}");
    let nobody = said("http://127.0.0.1:9");
    assert!(nobody.contains("from debuginfod: "), "{nobody}");
}

/// Makes a bootable kernel image with a packed program inside.
fn bootable(program: &Path, to: &Path) {
    let packed = Command::new("gzip").arg("-c").arg(program).output().expect("gzip").stdout;
    let mut file = vec![0; 5 * 512];
    file[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
    file[0x24c..0x250].copy_from_slice(&u32::try_from(packed.len()).expect("small").to_le_bytes());
    std::fs::write(to, [file, packed].concat()).expect("a file");
}

/// A tree with only a bootable kernel, which contains the build id.
#[test]
fn a_kernel_under_a_sysroot() {
    if !needs::program("debuginfod-find") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().join("root");
    for needed in ["boot", "lib/modules/6.6.6"] {
        std::fs::create_dir_all(root.join(needed)).expect("a directory");
    }
    let whole = build(dir.path(), "sha1");
    let id = ElfFile::open(&whole).expect("a program").build_id().expect("an id").to_string();
    bootable(&whole, &root.join("boot/vmlinuz-6.6.6"));
    let root = root.to_str().expect("UTF-8");
    let arguments = ["-x", "nolibs", "--sysroot", root, "-den", "kinst:vmlinux:inner:entry"];
    let dtrace = |urls: &str| run(env!("CARGO_BIN_EXE_dtrace"), &arguments, urls, dir.path());
    let without = dtrace("");
    assert_eq!(without.status.code(), Some(1));
    assert!(!text(&without.stderr).contains("debuginfod"), "a server is queried only if configured");
    let nobody = dtrace("http://127.0.0.1:9");
    assert!(text(&nobody.stderr).contains("from debuginfod: "), "{}", text(&nobody.stderr));
    // A file that was missing before is requested again.
    let urls = serve(id.clone(), whole);
    let with = dtrace(&urls);
    let said = text(&with.stderr);
    let asked = format!("querying debuginfod for the debug information of the kernel 6.6.6 (build id {id})");
    assert!(said.contains(&asked), "{said}");
    assert!(text(&with.stdout).starts_with("kinst:vmlinux:main:"), "{said}");
    assert!(text(&dtrace(&urls).stdout).starts_with("kinst:vmlinux:main:"), "cached");
}

/// A server has a file with the build id of the kernel that runs these tests.
#[test]
fn the_running_kernel() {
    if !needs::program("debuginfod-find") {
        return;
    }
    let Some(id) = BuildId::of_running_kernel() else {
        return needs::missing("build id in /sys/kernel/notes", "mount -t sysfs sysfs /sys");
    };
    let dir = tempfile::tempdir().expect("a directory");
    let whole = build(dir.path(), &format!("0x{id}"));
    let urls = serve(id.to_string(), whole.clone());
    let arguments = ["-x", "nolibs", "--no-cache", "-den", "kinst:vmlinux:inner:entry"];
    let dtrace = |urls: &str, more: &[&str]| {
        run(env!("CARGO_BIN_EXE_dtrace"), &[&arguments[..], more].concat(), urls, dir.path())
    };
    let asked = dtrace(&urls, &[]);
    let said = text(&asked.stderr);
    assert!(said.contains("querying debuginfod for the debug information of the running kernel"), "{said}");
    assert!(text(&asked.stdout).starts_with("kinst:vmlinux:main:"), "{said}");
    let given = dtrace("", &["--vmlinux", whole.to_str().expect("UTF-8")]);
    assert_eq!((text(&given.stderr), given.stdout), (String::new(), asked.stdout));
    let other = build(dir.path(), "sha1");
    let refused = dtrace("", &["--vmlinux", other.to_str().expect("UTF-8")]);
    let said = text(&refused.stderr);
    assert!(said.contains("belongs to another build") && said.contains(&id.to_string()), "{said}");
    assert_eq!(refused.status.code(), Some(1));
}
