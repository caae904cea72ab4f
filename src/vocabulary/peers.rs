//! vocabulary/peers.rs: words of other tracers, and their equivalents in D.

/// A word that D does not have, the tracer that has it, and the equivalent in D.
type Word = (&'static str, &'static str, &'static str);

const VARIABLES: &[Word] = &[
    ("comm", "bpftrace", "`execname`"),
    ("common_comm", "perf", "`execname`"),
    ("common_cpu", "perf", "`cpu`"),
    ("common_pid", "perf", "`tid`"),
    ("cpid", "bpftrace", "`$target`"),
    ("curtask", "bpftrace", "`curthread`"),
    ("elapsed", "bpftrace", "`timestamp - start`, with `start = timestamp` in BEGIN"),
    ("kstack", "bpftrace", "`stack()`"),
    ("nsecs", "bpftrace", "`timestamp`"),
    ("probe", "bpftrace", "`probeprov`, `probemod`, `probefunc` and `probename`"),
    ("retval", "bpftrace", "`arg1`, at a `return` of fbt, kinst or syscall"),
    ("tgid", "the kernel", "`pid`, and its pid is `tid`,"),
];

const FUNCTIONS: &[Word] = &[
    ("buf", "bpftrace", "`tracemem(address, bytes)`"),
    ("delete", "bpftrace", "`x[key] = 0`, or `trunc(@x)` for an aggregation"),
    ("hist", "bpftrace", "`quantize(value)`"),
    ("kstack", "bpftrace", "`stack()`"),
    ("kstr", "bpftrace", "`stringof(pointer)`"),
    ("ksym", "bpftrace", "`sym(address)`"),
    ("lhist", "bpftrace", "`lquantize(value, low, high, step)`"),
    ("nsecs", "bpftrace", "`timestamp`"),
    ("ntop", "bpftrace", "`inet_ntop(family, pointer)`"),
    ("reg", "bpftrace", "`regs[R_RAX]`"),
    ("signal", "bpftrace", "`raise(signal)`, with -w"),
    ("stats", "bpftrace", "`count()`, `avg(value)` and `sum(value)`, each in a separate aggregation"),
    (
        "str",
        "bpftrace",
        "`copyinstr(address)` for memory of the process, `stringof(pointer)` for the kernel's",
    ),
    ("strftime", "bpftrace", "`printf(\"%Y\", walltimestamp)`"),
    ("zero", "bpftrace", "`clear(@x)`"),
];

/// Returns the equivalent in D of another tracer's variable.
pub(crate) fn variable(name: &str) -> Option<String> {
    find(VARIABLES, name, "")
}

/// Returns the equivalent in D of another tracer's function.
pub(crate) fn function(name: &str) -> Option<String> {
    find(FUNCTIONS, name, "()")
}

fn find(words: &[Word], name: &str, call: &str) -> Option<String> {
    let (_, tracer, here) = words.iter().find(|(word, ..)| *word == name)?;
    Some(format!("{tracer}'s `{name}{call}` is {here} in D"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::is_known_name;

    #[test]
    fn no_word_of_d_is_called_another_tracers() {
        for (word, ..) in VARIABLES.iter().chain(FUNCTIONS) {
            assert!(!is_known_name(word), "{word}");
        }
    }
}
