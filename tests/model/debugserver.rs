//! tests/model/debugserver.rs: programs whose debug information comes from a debuginfod server, and packages that have it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::commands::run;
use crate::debugfiles::{SCRIPT, build_id, compile, path};
use crate::live::{can_trace, command, text};
use crate::needs;

/// The server of elfutils, which has the files of a folder.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("waited for");
    }
}

impl Server {
    /// Returns when it has each of the build ids.
    fn start(folder: &Path, ids: &[String]) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let mut server = Command::new("debuginfod");
        server.args(["-p", &port.to_string(), "-d", ":memory:", "-F", path(folder)]);
        server.stdout(Stdio::null()).stderr(Stdio::null());
        let server =
            Server { child: server.spawn().expect("debuginfod"), url: format!("http://127.0.0.1:{port}") };
        let has = |id: &String| {
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
            let request = format!("GET /buildid/{id}/debuginfo HTTP/1.0\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("a request");
            let mut status = [0; 12];
            stream.read_exact(&mut status).is_ok() && status.ends_with(b"200")
        };
        while !ids.iter().all(has) {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        server
    }
}

/// The files that the server has, and the programs that lack them.
struct Files {
    dir: tempfile::TempDir,
    program: PathBuf,
    /// A program whose file shares a part with another one.
    sharing: PathBuf,
    /// Build ids: of the two programs, and of the shared file.
    ids: [String; 3],
}

impl Files {
    fn make() -> Files {
        let dir = tempfile::tempdir().expect("a directory");
        let files = dir.path().join("files");
        std::fs::create_dir(&files).expect("a folder");
        let options = ["-g", "-O2", "-Wl,--build-id"];
        let program = compile(dir.path(), "parts", "gcc", &options);
        let sharing = compile(dir.path(), "sharing", "gcc", &[&options[..], &["-gdwarf-4"]].concat());
        run("objcopy", &["--only-keep-debug", path(&program), path(&files.join("parts.debug"))]);
        let (one, two) = (files.join("one.debug"), dir.path().join("two.debug"));
        run("objcopy", &["--only-keep-debug", path(&sharing), path(&one)]);
        std::fs::copy(&one, &two).expect("a copy");
        let shared = files.join("shared.debug");
        run("dwz", &["-m", path(&shared), "-M", "/nowhere/shared.debug", path(&one), path(&two)]);
        let ids = [build_id(&program), build_id(&sharing), build_id(&shared)];
        for file in [&program, &sharing] {
            run("strip", &[path(file)]);
        }
        Files { dir, program, sharing, ids }
    }
}

#[test]
fn files_from_a_server() {
    if !can_trace() || !needs::program("debuginfod") || !needs::program("dwz") {
        return;
    }
    let Files { dir, program, sharing, ids } = Files::make();
    let server = Server::start(&dir.path().join("files"), &ids);
    let cache = dir.path().join("cache");
    let traced = |program: &Path, url: &str, variables: &[(&str, &str)]| {
        let mut dtrace = command(&["-qn", SCRIPT, "-c", path(program)]);
        dtrace
            .env("DEBUGINFOD_URLS", url)
            .env("DEBUGINFOD_CACHE_PATH", &cache)
            .env("DEBUGINFOD_TIMEOUT", "20");
        let ran = dtrace.envs(variables.iter().copied()).output().expect("dtrace runs");
        (ran.status.success(), text(&ran.stdout), text(&ran.stderr))
    };
    let (traced_without, _, without) = traced(&program, "", &[]);
    assert!(
        !traced_without && !without.contains("querying") && without.contains("set DEBUGINFOD_URLS"),
        "{without}"
    );
    assert!(!cache.exists());
    let (_, _, limited) = traced(&program, &server.url, &[("DEBUGINFOD_MAXSIZE", "100")]);
    assert!(limited.contains("from debuginfod: Server query failed: File too large"), "{limited}");
    for (program, queries) in [(&program, 1), (&sharing, 2)] {
        let (success, stdout, stderr) = traced(program, &server.url, &[]);
        assert!(success, "{stderr}");
        let own = stdout.lines().find(|line| !line.starts_with('=')).expect("a line of the program");
        let calls = own.split(' ').next().expect("a number");
        assert!(stdout.contains(&format!("= {own} {calls}\n")), "{stdout}");
        let asked =
            stderr.lines().filter(|line| line.contains("querying debuginfod for the debug information of"));
        assert_eq!(asked.count(), queries, "{stderr}");
    }
    // Files of the cache that are damaged, or of another build, are not used.
    let cached = cache.join(&ids[0]).join("debuginfo");
    let whole = std::fs::read(&cached).expect("a cached file");
    for (bytes, why) in [
        (whole[..whole.len() / 2].to_vec(), "is not a readable ELF file"),
        (
            std::fs::read(cache.join(&ids[1]).join("debuginfo")).expect("a cached file"),
            "belongs to another build",
        ),
    ] {
        std::fs::remove_file(&cached).expect("removed");
        std::fs::write(&cached, bytes).expect("written");
        let (success, _, stderr) = traced(&program, &server.url, &[]);
        assert!(!success && stderr.contains(&format!("{} {why}", path(&cached))), "{stderr}");
    }
}

/// The message names the package of a program that the distribution has installed.
#[test]
fn packages_are_named() {
    if !can_trace() || !needs::program("dpkg-query") {
        return;
    }
    let program = Path::new("/usr/bin/dpkg-query");
    let version = run("dpkg-query", &["-W", "-f", "${Version}", "dpkg"]);
    let mut dtrace = command(&["-qn", "pid$target:a.out:no_such_function:entry { }", "-c", path(program)]);
    let ran = dtrace.env_remove("DEBUGINFOD_URLS").output().expect("dtrace runs");
    let stderr = text(&ran.stderr);
    // Nothing is missing if the package is installed.
    let is_complete = !stderr.contains("it has no debug information");
    assert!(is_complete || stderr.contains(&format!("dpkg-dbgsym={version}")), "{stderr}");
}
