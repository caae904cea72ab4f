//! tests/oracle/ustack.rs: user stacks, unwound from copies, compared with gdb's.

use crate::needs;
use kinst::consumer::symbols::{Symbols as _, System, Wanted};
use kinst::sites::Kernel;
use kinst::sites::user_stack::Copied;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Programs that run forever, without frame pointers.
const PROGRAMS: [(&str, &str); 5] = [
    ("bash", "while :; do s=${s:0:20}x; [[ $s == *y* ]]; done"),
    (
        "perl",
        "exec perl -e 'for (;;) { $h{$i++ % 1000} .= 1 if \"abc$i\" =~ /c(\\d+)5/; %h = () if $i % 10000 == 0; }'",
    ),
    (
        "python3",
        "exec /usr/bin/python3 -c 'while True: sorted((i * 7 % 101 for i in range(1000)), key=lambda i: -i)'",
    ),
    ("gzip", "exec gzip -9 -c /dev/zero"),
    // With plain instructions: libcrypto lacks unwind information for functions that use some of the others.
    ("openssl", "OPENSSL_ia32cap=0:0 exec openssl speed -seconds 60 sha256"),
];

const COPY: usize = 1 << 16;
const MOST: usize = 100;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// The registers of a process that has stopped, and the addresses of its stack.
fn by_gdb(pid: u32) -> ([u64; 17], Vec<u64>) {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-p", &pid.to_string()]).env_remove("DEBUGINFOD_URLS");
    for command in ["set backtrace past-main on", "set backtrace past-entry on", "info registers", "bt 100"] {
        gdb.args(["-ex", command]);
    }
    let output = gdb.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let names = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15", "rip",
    ];
    let register = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
        line.and_then(|line| hex(line.split_whitespace().nth(1)?)).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    let registers = names.map(register);
    // The first one is the current address, which gdb omits at the start of a function.
    let frame = |line: &str| hex(line.strip_prefix('#')?.split_whitespace().nth(1)?);
    let callers = text.lines().filter(|line| !line.starts_with("#0 ")).filter_map(frame);
    (registers, std::iter::once(registers[16]).chain(callers).collect())
}

#[test]
fn stacks_as_gdb_has_them() {
    if !needs::program("gdb") {
        return;
    }
    // Kernel addresses are not looked up.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("lib/modules/0")).unwrap();
    let kernel = Kernel::sysroot(folder.path(), None).unwrap();
    let system = System::new(&kernel, Wanted { kernel: false, programs: true, processes: None });
    for (name, script) in PROGRAMS {
        if !needs::program(name) {
            continue;
        }
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running(bash.spawn().unwrap());
        let pid = running.0.id();
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(300));
            signal(pid, "-STOP");
            let (registers, expected) = by_gdb(pid);
            let mut bytes = vec![0; COPY];
            let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
            let read = memory.read_at(&mut bytes, registers[7]).unwrap();
            let copied = Copied { registers: &registers, bytes: &bytes[..read] };
            let walk = system.unwind(pid.into(), &copied, MOST);
            assert_eq!(walk.addresses, expected, "{name}");
            assert!(walk.complete && expected.len() > 2, "{name}: {walk:x?}");
            signal(pid, "-CONT");
        }
    }
}
