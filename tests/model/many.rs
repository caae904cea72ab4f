//! tests/model/many.rs: a program with thousands of places: it computes the same, and its text is restored at the end,
//! also if dtrace is killed.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::live::{can_trace, command, text};
use crate::step::number;

/// At least so many instructions are in one function.
const IN_ONE: u64 = 15;

/// A limit on each wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// The source of a program with many functions. It prints the result of calling all, and again for each byte that it
/// reads if it has an argument.
fn source(functions: u64) -> String {
    let mut text = "#include <stdio.h>\n#include <unistd.h>\nvolatile unsigned sink = 3;\n".to_owned();
    let mut names = String::new();
    for n in 0..functions {
        let _ = writeln!(
            text,
            "__attribute__((noinline)) unsigned work{n}(unsigned a) {{\n unsigned r = a;\n for (unsigned i = 0; i < 3; i++) \
             {{ r = r * {} + sink; if (r % 7 == 1) r ^= a << 3; }}\n return r + {n};\n}}",
            n * 2 + 5
        );
        let _ = write!(names, "work{n}, ");
    }
    let _ = write!(
        text,
        "unsigned (*all[])(unsigned) = {{ {names} }};\nint main(int c, char **v)\n{{\n unsigned r;\n char b;\n do {{\n r = 0;\n \
         for (int i = 0; i < {functions}; i++)\n r = all[i](r);\n printf(\"%x\\n\", r);\n fflush(stdout);\n }} while (c > 1 && \
         read(0, &b, 1) == 1);\n return 42;\n}}\n"
    );
    text
}

/// The program, which lives on.
struct Living {
    child: Child,
    lines: BufReader<ChildStdout>,
    program: PathBuf,
}

impl Living {
    fn start(program: &Path) -> Living {
        let mut command = Command::new(program);
        let mut child =
            command.arg("stay").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Living { child, lines, program: program.to_owned() }
    }

    /// The next line of its output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    /// The line that it prints when it has called all functions once more.
    fn again(&mut self) -> String {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"x").expect("written");
        self.line()
    }

    /// The number of bytes in its executable memory that differ from its file.
    fn changed(&self) -> usize {
        let of = |name: &str| format!("/proc/{}/{name}", self.child.id());
        let maps = std::fs::read_to_string(of("maps")).expect("maps");
        let file = std::fs::read(&self.program).expect("the program");
        let mut memory = std::fs::File::open(of("mem")).expect("memory");
        let mut changed = 0;
        let own = maps.lines().filter(|line| line.ends_with(self.program.to_str().expect("text")));
        for line in own.filter(|line| line.contains(" r-xp ")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let hex = |text: &str| u64::from_str_radix(text, 16).expect("a number");
            let (start, end) = words[0].split_once('-').expect("a range");
            let (start, end, offset) = (hex(start), hex(end), hex(words[2]) as usize);
            let mut bytes = vec![0; (end - start) as usize];
            memory.seek(SeekFrom::Start(start)).expect("an address");
            memory.read_exact(&mut bytes).expect("bytes");
            let same = file[offset..].iter().zip(&bytes);
            changed += same.filter(|(a, b)| a != b).count();
        }
        changed
    }

    /// Waits until so many bytes have changed, and returns the time.
    fn until(&self, is_done: impl Fn(usize) -> bool) -> Duration {
        let start = Instant::now();
        while !is_done(self.changed()) {
            assert!(start.elapsed() < PATIENCE, "{} bytes are changed", self.changed());
            std::thread::sleep(Duration::from_millis(2));
        }
        start.elapsed()
    }

    /// Starts dtrace, and waits until all places are armed. Returns the times to the first one and to the last one.
    fn traced(&self, places: usize) -> (Child, Duration, Duration) {
        let target = self.child.id().to_string();
        let mut command = command(&["-q", "-p", &target]);
        command.args(arguments()).stdout(Stdio::null()).stderr(Stdio::piped());
        let dtrace = command.spawn().expect("dtrace runs");
        let first = self.until(|changed| changed > 0);
        let armed = self.until(|changed| changed >= places);
        // The signal to end is not lost.
        std::thread::sleep(Duration::from_millis(500));
        (dtrace, first, armed)
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A probe at each instruction of the functions, and one at the entry and the return of each. If all counted together,
/// dtrace would need a breakpoint only at some.
fn arguments() -> [&'static str; 4] {
    ["-x", "maxprobes=100000", "-n", "pid$target:a.out:work*: { @[probename] = count(); }"]
}

/// The number of places and of hits that dtrace reports for the whole program, whose output and status are the same.
fn traced_from_the_start(program: &Path, places: u64) -> usize {
    let alone = Command::new(program).output().expect("the program");
    assert_eq!(alone.status.code(), Some(42));
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out").display().to_string();
    let program = program.to_str().expect("text");
    let start = Instant::now();
    let mut dtrace = command(&["-v", "-o", &out, "-c", program]);
    let ran = dtrace.args(arguments()).output().expect("dtrace runs");
    let (took, said) = (start.elapsed(), text(&ran.stderr));
    assert!(ran.status.success() && said.contains("exited with status 42"), "{said}");
    assert!(text(&ran.stdout).ends_with(&text(&alone.stdout)), "{}", text(&ran.stdout));
    let matched = said.lines().find_map(|line| line.split_once("matched ")?.1.split_once(' '));
    let matched: usize = matched.expect("a number").0.parse().expect("a number");
    assert!(matched as u64 >= places, "{matched}");
    let out = std::fs::read_to_string(&out).expect("counts");
    let counts = out.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    let hits: u64 = counts.sum();
    println!("{matched} places, {hits} hits, {took:?} from the start to the end of dtrace");
    assert!(hits > places);
    matched
}

/// `KINST_PLACES` places in one program.
#[test]
fn thousands_of_places() {
    if !can_trace() {
        return;
    }
    let places = number("KINST_PLACES", 2_000);
    let dir = tempfile::tempdir().expect("a directory");
    let (file, program) = (dir.path().join("many.c"), dir.path().join("many"));
    std::fs::write(&file, source(places.div_ceil(IN_ONE))).expect("written");
    let built = Command::new("gcc").args(["-O2", "-g", "-o"]).args([&program, &file]).status();
    assert!(built.expect("gcc").success());
    let matched = traced_from_the_start(&program, places);
    // The entry and the return of a function are instructions of it too.
    let instructions = matched - 2 * places.div_ceil(IN_ONE) as usize;

    let mut living = Living::start(&program);
    let other = Living::start(&program);
    let lines: Vec<String> = std::iter::once(living.line()).chain((0..3).map(|_| living.again())).collect();
    assert!(lines.iter().all(|line| *line == lines[0]));
    assert_eq!(living.changed(), 0);
    for killed in [false, true] {
        let (mut dtrace, first, armed) = living.traced(instructions);
        assert_eq!(living.again(), lines[0], "under probes");
        assert_eq!(other.changed(), 0, "another process of the program has probes");
        let start = Instant::now();
        match killed {
            true => dtrace.kill().expect("killed"),
            false => {
                let target = dtrace.id().to_string();
                assert!(Command::new("kill").args(["-INT", &target]).status().expect("kill").success());
            }
        }
        let status = dtrace.wait().expect("an end");
        let ended = start.elapsed();
        let restored = living.until(|changed| changed == 0);
        println!(
            "{instructions} instructions, killed: {killed}: {first:?} to the first, {armed:?} to the last; {ended:?} to the end, and \
             {restored:?} until the text is restored ({status})"
        );
        assert_eq!(status.success(), !killed);
        assert!(restored < Duration::from_secs(2), "{restored:?}");
        assert_eq!(living.again(), lines[0], "without probes");
    }
}
