//! tests/model/real.rs: real programs, traced by dtrace while they run: what it counts at the places of functions and of
//! their copies is compared with the instructions that are executed in an equal run, in QEMU or step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use kinst::sites::copies::calls::{self, Boundary, Call};
use kinst_debuginfo::ElfFile;

use crate::commands::{run, support};
use crate::compared::{Compared, Symbol, line, share_places};
use crate::live::{can_trace, dtrace, text};
use crate::needs;
use crate::projects::{self, Counting, LIBRARIES};
use crate::step::{self, number};

/// The arguments of programs from Debian's sources (tests/support/programs.sh). Their input is in [`INPUTS`].
const RUNS: [(&str, &[&str]); 21] = [
    ("bc", &["-q", "input.bc"]),
    ("bzip2", &["-kf", "input"]),
    ("dc", &["input.dc"]),
    ("diff", &["input", "changed"]),
    ("ed", &["-s", "input"]),
    ("gawk", &["-f", "input.awk", "input"]),
    ("git", &["diff", "--no-index", "--word-diff", "--stat", "-p", "input", "changed"]),
    ("grep", &["-Enc", "(a|th?)e*[a-m]{2,}.*q.?$", "input"]),
    ("gzip", &["-kfn", "input"]),
    ("jq", &["-c", "-f", "input.jq", "input.json"]),
    ("lesskey", &["-o", "keys", "input.keys"]),
    ("lz4", &["-9fq", "input", "input.lz4"]),
    ("lzip", &["-kf", "input"]),
    ("m4", &["input.m4"]),
    ("mawk", &["-f", "input.awk", "input"]),
    ("patch", &["-s", "-o", "patched", "input", "input.diff"]),
    ("sed", &["-n", "-E", "s/([a-m]+) ([n-z]+)/\\2 \\1/gp;/q$/{=;h;G}", "input"]),
    ("sqlite3", &["-batch", ":memory:", ".read input.sql"]),
    ("tcc", &["-c", "-o", "input.o", "input.c"]),
    ("units", &["-f", "input.units", "-q", "17\tfoot", "metre"]),
    ("zstd", &["-9fq", "--single-thread", "input", "-o", "input.zst"]),
];

/// Functions whose counts are known to differ.
const KNOWN: [(&str, &str); 2] = [
    // It ends with a call of exit(), which is a return of it.
    ("bc", "bc_exit"),
    // It reads /proc/self/maps, which has a line more under dtrace: the mapping of [uprobes].
    ("diff", "rof_getchar"),
];

/// The input files of these programs, but for `input`, `changed` and `input.diff`.
const INPUTS: [(&str, &str); 10] = [
    ("input.bc", "scale=30\ne=1\nf=1\nfor (i=1; i<40; i++) { f*=i; e+=1/f }\ne\nsqrt(2)^7\nquit\n"),
    ("input.dc", "20k 2v 3 7^ * p [la 1 + d sa 50 >x] sx 0 sa lx x la p 12345678901234567890 97 % p q\n"),
    (
        "input.awk",
        "{ for (i = 1; i <= NF; i++) { n[$i]++; if ($i ~ /^[a-f].*[n-z]$/) s = substr(s $i, length($i)) } }\n\
         END { for (w in n) t += n[w] * length(w); printf \"%d %d %s\\n\", t, NR, s }\n",
    ),
    (
        "input.jq",
        "[.[] | select(.a > 3) | {b: (.a * 2 | tostring), c: (.t | ascii_upcase | split(\" \"))}]\n",
    ),
    (
        "input.json",
        r#"[{"a":1,"t":"x y"},{"a":4,"t":"the quick"},{"a":7.5e1,"t":"\u00e4 b"},{"a":12,"t":""},{"a":null,"t":"q"}]"#,
    ),
    ("input.keys", "#command\n\\kd forw-line\n^X^F quit\nq toggle-option -i\n#env\nLESS = -R\n"),
    (
        "input.m4",
        "define(`fact', `ifelse($1, 0, 1, `eval($1 * fact(decr($1)))')')fact(9) translit(`abc', `a-c', `x-z')\n\
         define(`loop', `ifelse($1, 0, , `$1 loop(decr($1))')')loop(60)\nlen(`fact') index(`abcd', `c')\n",
    ),
    (
        "input.c",
        "struct s { int a, b[9]; char *c; };\nstatic int f(struct s *s, int n) { int i, t = 0; for (i = 0; i < n; i++)\n\
         t += s->b[i] * (i << 2 | 1); switch (t) { case 1: return 2; default: return t ? t : f(s, n - 1); } }\n\
         double g(double x) { return x * 2.5 + (float)x; }\nint h(void) { struct s s = { 1, { 2, 3 }, \"x\" };\n\
         return f(&s, 9) + (int)g(s.a) + sizeof(s); }\n",
    ),
    (
        "input.sql",
        "create table t(a integer primary key, b text, c real);\ncreate index i on t(b);\n\
         with recursive n(x) as (select 1 union all select x + 1 from n where x < 60)\n\
         insert into t select x, 'row ' || (x * 7 % 13), x / 3.0 from n;\n\
         select b, count(*), round(sum(c), 2) from t group by b order by 2 desc, b limit 5;\n\
         update t set b = upper(b) where a % 5 = 0;\ndelete from t where c > 15 and b like 'row%';\n\
         select u.a, v.b from t u join t v on u.b = v.b and u.a < v.a where u.a < 12;\n",
    ),
    ("input.units", "metre !\nfoot 0.3048 metre\nyard 3 foot\ninch 1|12 foot\nkilo- 1000\n"),
];

/// A program with its arguments.
struct Real {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
}

/// The executor with which the traced run is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Qemu,
    /// The processor, step by step, which takes a hundred times as long. It counts the calls that have ended, too.
    Steps,
}

/// A folder with the input files: `input` has so many lines.
fn inputs(lines: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("written");
    INPUTS.iter().for_each(|(name, text)| write(name, text));
    let words =
        ["the", "quick", "brown fox", "jumps q", "over", "the lazy", "dog", "alpha nest", "tea", "made q"];
    let mut random = crate::numbers::Random(7);
    let lines: Vec<String> = (0..lines)
        .map(|_| (0..8).map(|_| words[random.below(words.len())]).collect::<Vec<_>>().join(" ") + "\n")
        .collect();
    write("input", &lines.concat());
    let changed = lines.iter().enumerate().filter(|(number, _)| number % 37 != 5);
    write("changed", &changed.map(|(_, line)| line.as_str()).collect::<String>());
    let mut diff = Command::new("diff");
    let diff = diff.args(["-u", "input", "changed"]).current_dir(dir.path()).output().expect("diff");
    std::fs::write(dir.path().join("input.diff"), diff.stdout).expect("written");
    dir
}

/// The programs that are built, of those named in KINST_REAL, or of all.
fn programs(by: By) -> Vec<Real> {
    let chosen = std::env::var("KINST_REAL").unwrap_or_default();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.split(',').any(|one| one == name);
    let mut programs = Vec::new();
    if by == By::Qemu
        && let Some(sources) = needs::libraries()
    {
        for library in LIBRARIES.iter().filter(|library| is_chosen(library.name)) {
            let way = format!("gcc{}", library.level);
            let built = library.build(&sources, &way, "gcc", &["-static", library.level], Counting::No);
            let name = format!("{} (library)", library.name);
            programs.push(Real { name, program: built.program, arguments: Vec::new() });
        }
    }
    let Some(folder) = needs::programs() else { return programs };
    for (name, arguments) in RUNS.iter().filter(|(name, _)| is_chosen(name)) {
        let program = folder.join("bin").join(name);
        if !program.exists() {
            needs::missing(&format!("{name} with debug information"), needs::PROGRAMS);
            continue;
        }
        let arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
        programs.push(Real { name: (*name).to_owned(), program, arguments });
    }
    programs
}

/// Whether dtrace can be asked for the function by this name alone.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name != "main"
        && name.split("::").all(|part| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

/// `count` of the functions that have copies, and `count` of those that contain some, with their copies.
fn functions(program: &Path, count: usize) -> BTreeMap<String, Vec<Call>> {
    let chosen = |all: Vec<String>| {
        let step = all.len().div_ceil(count).max(1);
        all.into_iter().filter(|name| is_plain(name)).step_by(step).collect::<Vec<_>>()
    };
    let calls = |name: &String| calls::in_file(program, name).unwrap_or_default().calls;
    let image = ElfFile::open(program).expect("a program");
    let all = kinst_dwarf::find_all(&image, &|_| true).expect("debug information").functions;
    let names = all.iter().flat_map(|(name, function)| {
        function.copies.iter().map(|copy| copy.function.as_deref().unwrap_or(name.as_str()).to_owned())
    });
    let names: BTreeSet<String> = names.collect();
    // In C++, a name means all functions whose paths end with it.
    let is_alone = |name: &&String| !names.iter().any(|other| other.ends_with(&format!("::{name}")));
    let alone: Vec<String> = names.iter().filter(is_alone).cloned().collect();
    let inlined = chosen(alone).into_iter().map(|name| (calls(&name), name));
    let mut of: BTreeMap<String, Vec<Call>> = inlined.map(|(calls, name)| (name, calls)).collect();
    let callers = of.values().flatten().filter_map(|call| Some(call.entry.caller.as_ref()?.0.clone()));
    let callers: BTreeSet<String> = callers.filter(|name| !of.contains_key(name)).collect();
    for caller in chosen(callers.into_iter().collect()) {
        of.insert(caller.clone(), calls(&caller));
    }
    of
}

/// The counts of dtrace for one function: its entries and returns, and those of its copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Live {
    own: [u64; 2],
    copies: [u64; 2],
}

/// A clause for each function, which separates the function from its copies by the name of the probe.
fn script<'f>(functions: impl Iterator<Item = &'f String>) -> String {
    let mut text = String::new();
    for function in functions {
        for end in ["entry", "return"] {
            text += &format!(
                "pid$target:a.out:\"{function}\":{end} {{ @[\"{function}\", \"{end}\", probename == \"{end}\"] = count(); }}\n"
            );
        }
    }
    text + "END { printa(\"%s %s %d %@u\\n\", @); }\n"
}

/// The counts in the output of this script.
fn counts(output: &str) -> BTreeMap<String, Live> {
    let mut counts: BTreeMap<String, Live> = BTreeMap::new();
    for line in output.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let [function, end, own, count] = words[..] else { panic!("{line}") };
        let live = counts.entry(function.to_owned()).or_default();
        let of = if own == "1" { &mut live.own } else { &mut live.copies };
        of[usize::from(end == "return")] = count.parse().expect("a count");
    }
    counts
}

/// The executions of one function: its calls, those of them that have ended, entries and returns of its copies.
#[derive(Debug)]
struct Executed {
    own: u64,
    left: Option<u64>,
    copies: [u64; 2],
}

/// The figures of a program.
#[derive(Debug, Default)]
#[allow(dead_code, reason = "they are printed")]
struct Figures {
    functions: usize,
    copies: usize,
    hits: u64,
    /// Functions with other counts than are executed, and those of them in [`KNOWN`].
    wrong: usize,
    known: usize,
    /// Functions that are entered more often than left: still active at the end.
    active: usize,
    /// Functions whose copies are not entered as often as left: they share places, are inexact or active.
    unbalanced: usize,
    /// Functions with copies that share places, and fewer hits than executions: dtrace has one probe at a place.
    shared: usize,
    /// Functions whose returns dtrace refuses.
    refused: usize,
}

/// Runs the program alone, under dtrace and for comparison, and compares.
fn compare(real: &Real, by: By) -> Figures {
    let inputs = || inputs(if by == By::Qemu { 600 } else { 20 });
    let of = functions(&real.program, number("KINST_FUNCTIONS", 12) as usize);
    let copies = of.values().map(Vec::len).sum();
    let compared = Compared::of(&real.program, of);
    let program = real.program.display().to_string();
    let alone = {
        let dir = inputs();
        let mut command = Command::new(&real.program);
        command.args(&real.arguments).current_dir(dir.path()).output().expect("the program")
    };
    let dir = inputs();
    let script_file = dir.path().join("script.d");
    std::fs::write(&script_file, script(compared.calls.keys())).expect("written");
    let out = dir.path().join("counts").display().to_string();
    let command = quoted(std::iter::once(&program).chain(&real.arguments));
    let arguments = ["-Zq", "-o", &out, "-s", &script_file.display().to_string(), "-c", &command];
    let ran = dtrace(&arguments, Some(dir.path()));
    assert!(ran.status.success(), "{}: {}", real.name, text(&ran.stderr));
    assert!(ran.stdout == alone.stdout, "{}: another output under dtrace: {}", real.name, text(&ran.stdout));
    let live = counts(&std::fs::read_to_string(&out).expect("counts"));
    let dir = inputs();
    let lines = lines(&compared, by);
    let places = lines.as_flattened().concat();
    let executed = match by {
        By::Qemu => Some(projects::follow(&real.program, &real.arguments, dir.path(), &places)),
        By::Steps => step::follow(
            number("KINST_STEPS", 10_000_000),
            &real.program,
            &real.arguments,
            dir.path(),
            &places,
        ),
    };
    let Some((hits, status)) = executed else {
        println!("{}: more instructions than KINST_STEPS", real.name);
        return Figures::default();
    };
    assert_eq!(status.code(), alone.status.code(), "{}", real.name);
    let mut hits = hits.into_iter();
    let mut figures = Figures { functions: compared.calls.len(), copies, ..Figures::default() };
    for ((function, calls), lines) in compared.calls.iter().zip(&lines) {
        let sum = |lines: &Vec<String>| -> u64 { hits.by_ref().take(lines.len()).sum() };
        let [own, entries, returns, left] = lines.each_ref().map(sum);
        let seen = Executed { own, left: (by == By::Steps).then_some(left), copies: [entries, returns] };
        let live = live.get(function).copied().unwrap_or_default();
        let lacks = live.own[0] > 0 && live.own[1] == 0 || live.copies[1] < seen.copies[1];
        let is_refused = lacks && is_refused(function, &command);
        if !figures.judge(&real.name, function, seen, live, is_refused, share_places(calls)) {
            println!("    {lines:?}\n{calls:x?}");
        }
    }
    if figures.wrong > 0 {
        println!("{}", text(&ran.stderr));
    }
    figures
}

/// Whether dtrace refuses to trace some returns of the function.
fn is_refused(function: &str, command: &str) -> bool {
    let ran = dtrace(&["-lvn", &format!("pid$target:a.out:\"{function}\":return"), "-c", command], None);
    text(&ran.stderr).contains("cannot be traced") || text(&ran.stdout).contains("cannot have a probe")
}

/// For each function: its symbols, the entries and the returns of its copies, each once, and its symbols for the calls
/// that have ended. Copies that share a place have one probe there.
fn lines(compared: &Compared, by: By) -> Vec<[Vec<String>; 4]> {
    let lines = compared.calls.iter().map(|(function, calls)| {
        let range = |one: &Symbol| format!("{:x} {:x}", one.address, one.address + one.size);
        let own: Vec<String> = compared.instances(function).map(|one| format!("( {}", range(one))).collect();
        let ended = |one: &Symbol| {
            let name = format!("{}.cold", one.name);
            let cold = compared.symbols.iter().find(|other| other.name == name);
            format!(") {} {}", range(one), cold.map(range).unwrap_or_default())
        };
        let places = |places: fn(&Call) -> &Vec<Boundary>| {
            let places: BTreeSet<String> = calls.iter().flat_map(places).map(line).collect();
            places.into_iter().collect()
        };
        let left = match by {
            By::Qemu => Vec::new(),
            By::Steps => compared.instances(function).map(ended).collect(),
        };
        [own, places(|call| &call.entries), places(|call| &call.returns), left]
    });
    lines.collect()
}

/// The words of a command, as -c reads them.
fn quoted<'w>(words: impl Iterator<Item = &'w String>) -> String {
    let words: Vec<String> = words.map(|word| format!("'{word}'")).collect();
    words.join(" ")
}

impl Figures {
    /// Compares the counts of one function.
    fn judge(
        &mut self,
        program: &str,
        function: &str,
        executed: Executed,
        live: Live,
        is_refused: bool,
        is_shared: bool,
    ) -> bool {
        self.hits += live.own[0] + live.own[1] + live.copies[0] + live.copies[1];
        let [entries, returns] = executed.copies;
        let has_left = executed.left.map_or(live.own[1] <= executed.own, |left| live.own[1] == left);
        let is_balanced = live.own[0] == executed.own && (has_left || is_refused);
        let is_equal = live.copies[0] == entries && (live.copies[1] == returns || is_refused);
        if is_balanced && !is_equal && is_shared && live.copies[0] <= entries && live.copies[1] <= returns {
            self.shared += 1;
            println!("SHARED {program} {function}: {live:?}, {executed:?}");
            return true;
        }
        if !is_balanced || !is_equal {
            let is_known = KNOWN.contains(&(program, function));
            *(if is_known { &mut self.known } else { &mut self.wrong }) += 1;
            println!("WRONG {program} {function}: {live:?}, {executed:?}");
            return false;
        }
        if live.own[0] != live.own[1] || is_refused {
            *(if is_refused { &mut self.refused } else { &mut self.active }) += 1;
            println!("{} {program} {function}: {live:?}", if is_refused { "REFUSED" } else { "ACTIVE" });
        }
        self.unbalanced += usize::from(live.copies[0] != live.copies[1]);
        true
    }
}

/// Compares all programs.
fn compare_all(by: By) {
    if !can_trace() {
        return;
    }
    let mut wrong = 0;
    for real in programs(by) {
        let figures = compare(&real, by);
        println!("{}: {figures:?}", real.name);
        wrong += figures.wrong;
    }
    assert_eq!(wrong, 0, "functions with other counts than are executed");
}

/// Programs of Debian's sources and third-party libraries, `KINST_FUNCTIONS` functions of each kind in each.
#[test]
#[ignore = "needs sources of programs, and QEMU for single programs"]
fn real_programs() {
    if needs::program("qemu-x86_64") {
        compare_all(By::Qemu);
    }
}

/// The programs of Debian's sources with less input, single-stepped.
#[test]
#[ignore = "needs sources of programs, and takes an hour"]
fn stepped_programs() {
    compare_all(By::Steps);
}

/// The script that builds the programs is complete: each of them has a run.
#[test]
fn runs_of_built_programs() {
    let script = std::fs::read_to_string(support("programs.sh")).expect("the script");
    for (name, _) in RUNS {
        assert!(script.contains(name), "{name}");
    }
    run("sh", &["-n", &support("programs.sh").display().to_string()]);
}
