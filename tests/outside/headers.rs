//! tests/outside/headers.rs: the system's C headers with -C, and their structs' layout compared with the C compiler.

use std::path::Path;
use std::process::Command;

use crate::{commands, needs};

/// The headers that D scripts include, directly or indirectly.
const HEADERS: &[&str] = &[
    "arpa/inet.h",
    "asm/unistd.h",
    "errno.h",
    "fcntl.h",
    "limits.h",
    "linux/errno.h",
    "linux/fs.h",
    "linux/futex.h",
    "linux/if_ether.h",
    "linux/perf_event.h",
    "linux/tcp.h",
    "linux/types.h",
    "netinet/in.h",
    "poll.h",
    "pthread.h",
    "signal.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "sys/epoll.h",
    "sys/ioctl.h",
    "sys/mman.h",
    "sys/param.h",
    "sys/resource.h",
    "sys/socket.h",
    "sys/stat.h",
    "sys/types.h",
    "sys/un.h",
    "sys/wait.h",
    "unistd.h",
];

/// Constants that both languages evaluate at compile time.
const NUMBERS: &[&str] = &[
    "sizeof (struct stat)",
    "offsetof(struct stat, st_ctim)",
    "sizeof (struct ethhdr)",
    "sizeof (struct epoll_event)",
    "sizeof (siginfo_t)",
    "sizeof (struct sigaction)",
    "sizeof (struct sockaddr_storage)",
    "sizeof (struct sockaddr_in6)",
    "offsetof(struct in_pktinfo, ipi_addr)",
    "sizeof (struct perf_event_attr)",
    "offsetof(struct perf_event_attr, aux_sample_size)",
    "sizeof (struct rusage)",
    "sizeof (pthread_mutex_t)",
    "sizeof (id_t)",
    "O_CREAT | O_CLOEXEC",
    "PROT_EXEC",
    "SOCK_SEQPACKET",
    "FUTEX_WAKE_OP",
    "EPOLLET",
    "PERF_TXN_ABORT_MASK",
    "__NR_close",
];

fn compiles(folder: &Path, text: &str) -> Result<(), String> {
    let script = folder.join("headers.d");
    std::fs::write(&script, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtrace"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let ran = command.env("NO_COLOR", "1").env("XDG_CACHE_HOME", cache).args(["-e", "-C", "-s"]).arg(&script);
    let output = ran.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && said.is_empty() { Ok(()) } else { Err(said) }
}

fn includes<'h>(headers: impl IntoIterator<Item = &'h &'h str>) -> String {
    headers.into_iter().map(|header| format!("#include <{header}>\n")).collect()
}

#[test]
fn each_header_compiles_alone_and_with_all_others() {
    if !needs::program("cpp") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let clause = "BEGIN { x = (pid_t)1; exit(0); }\n";
    for header in HEADERS {
        let text = includes([header]) + clause;
        compiles(dir.path(), &text).unwrap_or_else(|said| panic!("{header}:\n{said}"));
    }
    compiles(dir.path(), &(includes(HEADERS) + clause)).unwrap();
    compiles(dir.path(), &(includes(HEADERS.iter().rev()) + clause)).unwrap();
}

/// An array whose length is not positive is an error.
#[test]
fn structs_and_constants_are_those_of_the_c_compiler() {
    if !needs::program("gcc") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("numbers.c"), dir.path().join("numbers"));
    let prints: String =
        NUMBERS.iter().map(|number| format!("printf(\"%lu\\n\", (unsigned long)({number}));\n")).collect();
    std::fs::write(&source, format!("{}int main(void) {{\n{prints}}}\n", includes(HEADERS))).unwrap();
    commands::run("gcc", &["-o", program.to_str().unwrap(), source.to_str().unwrap()]);
    let numbers = commands::run(program.to_str().unwrap(), &[]);
    let array = |(at, (number, value)): (usize, (&&str, &str))| {
        format!("int a{at}[({number}) == {value}u ? 1 : 0];\n")
    };
    let arrays: String = NUMBERS.iter().zip(numbers.lines()).enumerate().map(array).collect();
    let text = includes(HEADERS) + &arrays + "BEGIN { exit(0); }\n";
    compiles(dir.path(), &text).unwrap_or_else(|said| panic!("{arrays}{said}"));
    let wrong = includes(HEADERS) + "int a[sizeof (struct stat) == 143 ? 1 : 0];\nBEGIN { exit(0); }\n";
    compiles(dir.path(), &wrong).unwrap_err();
}
