//! os/tests/moments.rs: programs that are stopped between their exec and their main().

#[path = "../../../tests/support/needs.rs"]
mod needs;

use kinst_os::process::{Ended, Error, Moment, Process, Start, StopError};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const MOMENTS: [Moment; 4] = [Moment::Exec, Moment::Preinit, Moment::Postinit, Moment::Main];

/// A built program, and the file that its code writes marks to.
struct Built {
    folder: tempfile::TempDir,
}

impl Built {
    /// Compiles the library and the program; `None` without a compiler.
    fn new(linking: &[&str]) -> Option<Built> {
        if !needs::program("gcc") || !needs::program("nm") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let gcc = |arguments: &[&str], source: &str| {
            let mut command = Command::new("gcc");
            command.current_dir(folder.path()).arg("-w").arg(sources.join(source)).args(arguments);
            assert!(command.status().unwrap().success(), "{arguments:?}");
        };
        gcc(&["-shared", "-fPIC", "-pthread", "-o", "libmarks.so"], "library.c");
        gcc(&["-c", "-o", "library.o"], "library.c");
        let is_static = linking.iter().any(|option| option.starts_with("-static"));
        let with = if is_static { &["library.o"][..] } else { &["libmarks.so", "-Wl,-rpath,$ORIGIN"] };
        gcc(&[with, &["-o", "program"], linking].concat(), "program.c");
        Some(Built { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, act: &str) -> Process {
        self.start_with("ACT", act)
    }

    fn start_with(&self, name: &str, value: &str) -> Process {
        let set = vec![
            ("MARKS".to_owned(), self.path("marks").display().to_string()),
            (name.to_owned(), value.to_owned()),
        ];
        let _ = std::fs::remove_file(self.path("marks"));
        Process::start(&self.path("program").display().to_string(), &Start { set, unset: Vec::new() })
            .unwrap()
    }

    /// The marks, by blanks.
    fn marks(&self) -> String {
        let marks = std::fs::read_to_string(self.path("marks")).unwrap_or_default();
        marks.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Looks up a symbol with binutils.
fn lookup(file: &Path, name: &str) -> Result<Option<u64>, String> {
    for table in [&["--defined-only"][..], &["--defined-only", "-D"]] {
        let output = Command::new("nm").args(table).arg(file).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found = text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (address, _, symbol) = (words.next()?, words.next()?, words.next()?);
            let is = symbol.split('@').next() == Some(name);
            is.then(|| u64::from_str_radix(address, 16).ok())?
        });
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn wait(process: &mut Process) -> Ended {
    loop {
        if let Some(ended) = process.ended() {
            return ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn maps(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap()
}

/// The letter of a process's state: `t` is a stop of ptrace; `None` if it has ended.
fn state(pid: u32) -> Option<char> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    status.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Releases a stopped process, which ends with status 0.
#[track_caller]
fn finish(mut process: Process) {
    assert_eq!((state(process.pid), process.ended()), (Some('t'), None), "it is stopped");
    process.release().unwrap();
    assert_eq!(wait(&mut process).how, None);
}

#[test]
fn each_moment_has_its_marks_and_mappings() {
    for linking in [&["-pie"][..], &["-no-pie"]] {
        let Some(built) = Built::new(linking) else { return };
        for (moment, marks) in MOMENTS.into_iter().zip(["", "", "library", "library program"]) {
            let mut process = built.start("");
            process.advance(moment, &lookup).unwrap();
            assert_eq!(built.marks(), marks, "{moment}");
            let maps = maps(process.pid);
            for library in ["libmarks.so", "libc.so"] {
                assert_eq!(maps.contains(library), moment != Moment::Exec, "{moment}: {maps}");
            }
            assert!(maps.contains("/program"));
            finish(process);
            assert_eq!(built.marks(), "library program main", "{moment}");
        }
    }
}

#[test]
fn a_static_program_has_only_its_entry_point() {
    for linking in ["-static", "-static-pie"] {
        let Some(built) = Built::new(&[linking]) else { return };
        for (moment, marks) in MOMENTS.into_iter().zip([0, 0, 0, 2]) {
            let mut process = built.start("");
            process.advance(moment, &lookup).unwrap();
            assert_eq!(built.marks().split_whitespace().count(), marks, "{moment}");
            finish(process);
            assert_eq!(built.marks().split_whitespace().count(), 3, "{moment}");
        }
    }
}

/// The linker reports the libraries of an auditor separately, and before those of the program.
#[test]
fn an_auditor_does_not_end_the_way_to_preinit() {
    let Some(built) = Built::new(&["-pie"]) else { return };
    let (source, library) = (built.path("audit.c"), built.path("audit.so"));
    std::fs::write(&source, "unsigned la_version(unsigned version) { return version; }\n").unwrap();
    let mut gcc = Command::new("gcc");
    assert!(gcc.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap().success());
    for variable in ["LD_AUDIT", "LD_PRELOAD"] {
        let mut process = built.start_with(variable, &library.display().to_string());
        process.advance(Moment::Preinit, &lookup).unwrap();
        let maps = maps(process.pid);
        assert!(maps.contains("audit.so") && maps.contains("libmarks.so"), "{variable}: {maps}");
        assert_eq!(built.marks(), "");
        finish(process);
        assert_eq!(built.marks(), "library program main");
    }
}

#[test]
fn constructors_may_do_anything() {
    let Some(built) = Built::new(&["-pie"]) else { return };
    let forked = "library program main program main";
    for (act, before, after) in [
        ("thread", "library thread program", "library thread program main"),
        ("spawn", "library program", "library program main"),
        ("again", "library library program", "library library program main"),
        ("fork", "library program main program", forked),
    ] {
        let mut process = built.start(act);
        process.advance(Moment::Main, &lookup).unwrap();
        assert_eq!(built.marks(), before, "{act}");
        finish(process);
        assert_eq!(built.marks(), after, "{act}");
    }
}

#[test]
fn signals_arrive() {
    let Some(built) = Built::new(&["-pie"]) else { return };
    for (act, ready, signal) in [("signal", 'S', "USR1"), ("stop", 't', "CONT")] {
        let mut process = built.start(act);
        let (pid, marks) = (process.pid, built.path("marks"));
        let sender = std::thread::spawn(move || {
            while !marks.exists() || state(pid) != Some(ready) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(20));
            assert!(Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap().success());
        });
        process.advance(Moment::Main, &lookup).unwrap();
        sender.join().unwrap();
        assert!(built.marks().ends_with("program"), "{}", built.marks());
        finish(process);
    }
    assert_eq!(built.marks(), "library program main");
}

#[test]
fn a_signal_to_a_stopped_process_arrives_after_its_release() {
    let mut process = Process::start("sleep 1000", &Start::default()).unwrap();
    process.advance(Moment::Postinit, &lookup).unwrap();
    assert!(Command::new("kill").arg(process.pid.to_string()).status().unwrap().success());
    assert_eq!((state(process.pid), process.ended()), (Some('t'), None));
    process.release().unwrap();
    assert_eq!(wait(&mut process).how.as_deref(), Some("terminated by SIGTERM"));
}

#[test]
fn ends_before_the_moment_are_errors() {
    let Some(built) = Built::new(&["-pie"]) else { return };
    let program = built.path("program").display().to_string();
    for (act, end) in [("exit", "exited with status 3"), ("crash", "terminated by SIGSEGV")] {
        let mut process = built.start(act);
        let error = process.advance(Moment::Main, &lookup).unwrap_err();
        assert_eq!(error.to_string(), format!("{program} {end} before its main()"));
        assert_eq!(process.ended().unwrap().how.as_deref(), Some(end));
    }
    let mut process = Process::start("/nowhere/at/all", &Start::default()).unwrap();
    assert!(matches!(process.advance(Moment::Main, &lookup), Err(Error::Start { .. })));
}

#[test]
fn a_program_without_symbols_cannot_stop_at_main() {
    let Some(built) = Built::new(&["-pie", "-s"]) else { return };
    let mut process = built.start("");
    let error = process.advance(Moment::Main, &lookup).unwrap_err();
    assert!(matches!(&error, Error::Stop { source: StopError::NoMain { program }, .. }
        if *program == built.path("program").canonicalize().unwrap()));
    assert!(error.to_string().ends_with("/program has no symbol main: use -x evaltime=postinit"), "{error}");
    assert_eq!(process.ended().unwrap().how.as_deref(), Some("terminated by SIGKILL"));
    assert_eq!((state(process.pid), built.marks().as_str()), (None, ""));
    let mut process = built.start("");
    process.advance(Moment::Postinit, &lookup).unwrap();
    finish(process);
    let unreadable = |_: &Path, _: &str| Err("no symbols today".to_owned());
    let error = built.start("").advance(Moment::Preinit, &unreadable).unwrap_err();
    assert!(error.to_string().ends_with("at its initializers: no symbols today"), "{error}");
}

/// The kernel may lack the system calls of 32 bits; then the program does not run at all.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_of_32_bits_stops_only_at_its_exec() {
    const SOURCE: &str = ".globl _start\n_start: mov $1, %eax\n xor %ebx, %ebx\n int $0x80\n";
    if !needs::program("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("small.s"), folder.path().join("small"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-m32", "-nostdlib", "-static", "-o"]).args([&program, &source]);
    assert!(gcc.status().unwrap().success());
    if Command::new(&program).status().is_err() {
        return needs::missing("kernel that runs programs of 32 bits", "boot one with CONFIG_IA32_EMULATION");
    }
    let start = || Process::start(&program.display().to_string(), &Start::default()).unwrap();
    let mut process = start();
    process.advance(Moment::Exec, &lookup).unwrap();
    finish(process);
    let error = start().advance(Moment::Postinit, &lookup).unwrap_err();
    assert!(matches!(error, Error::Stop { source: StopError::Machine { .. }, .. }), "{error}");
}

#[test]
fn a_script_is_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\nexit 4\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut process = Process::start(&script.display().to_string(), &Start::default()).unwrap();
    process.advance(Moment::Postinit, &lookup).unwrap();
    assert!(maps(process.pid).contains("libc.so"));
    process.release().unwrap();
    assert_eq!(wait(&mut process).how.as_deref(), Some("exited with status 4"));
}

#[test]
fn a_stopped_process_ends_with_its_value() {
    let mut process = Process::start("sleep 1000", &Start::default()).unwrap();
    process.advance(Moment::Postinit, &lookup).unwrap();
    let pid = process.pid;
    assert_eq!(state(pid), Some('t'));
    drop(process);
    assert_eq!(state(pid), None);
}

/// Stops a program. Run by the test below, it then waits to be killed.
#[test]
fn a_tracer_stops_a_program() {
    let mut process = Process::start("sleep 1000", &Start::default()).unwrap();
    process.advance(Moment::Exec, &lookup).unwrap();
    process.advance(Moment::Main, &lookup).unwrap();
    assert_eq!(state(process.pid), Some('t'), "a second moment changes nothing");
    if std::env::var_os("KINST_TEST_WAITS").is_some() {
        println!("\nstopped {}", process.pid);
        std::thread::sleep(Duration::from_secs(600));
    }
}

#[test]
fn a_stopped_process_ends_with_its_tracer() {
    let mut tracer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_tracer_stops_a_program", "--nocapture"])
        .env("KINST_TEST_WAITS", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tracer.stdout.take().unwrap()).lines().map_while(Result::ok);
    let pid = lines.find_map(|line| line.strip_prefix("stopped ")?.parse().ok()).expect("a stopped process");
    assert_eq!(state(pid), Some('t'));
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        matches!(state(pid), None | Some('Z'))
    });
    assert!(gone, "{:?}", state(pid));
}
