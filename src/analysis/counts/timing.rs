//! analysis/counts/timing.rs: the clauses that take the time from place to place.

use super::aggregations::{BEGUN, EARLY, ENDED, EXECUTIONS, FIRINGS, KEEP, LATE, STEPS, TIME};
use super::group::{Firing, Group};
use kinst_base::space::Space;

/// The variables for the time.
pub(super) fn variables(functions: usize, in_programs: bool) -> String {
    let mut d = "/*\n * The thread's clock, this->now, stops while a probe's program runs; stopped has the sum of these times.\n \
                 * fired: the number of probes that fired for the thread.\n */\n\
                 self uint64_t stopped, fired;\nthis uint64_t now, counts, over;\n"
        .to_owned();
    if in_programs {
        d += "/* The probes that fired where the kernel steps. */\nself uint64_t stepped;\n";
    }
    for n in 0..functions {
        d += &format!(
            "/* The call's last place, its time, the probes fired by then, and the entry; then the same for the enclosing calls. */\n\
             self uint64_t place{n}, last{n}, since{n}, begin{n}, depth{n};\n\
             self uint64_t places{n}[uint64_t], lasts{n}[uint64_t], sinces{n}[uint64_t];\n"
        );
        if in_programs {
            d += &format!("self uint64_t steps{n}, allsteps{n}[uint64_t];\n");
        }
    }
    d += &format!(
        "\nBEGIN, END\n{{\n\t@{EARLY} = min(walltimestamp - timestamp);\n\t@{LATE} = max(walltimestamp - timestamp);\n}}\n"
    );
    d + "\n"
}

/// The statements that count a firing.
fn fires(firing: Firing) -> &'static str {
    match firing {
        Firing::Emulated => "\tself->fired++;\n",
        Firing::Stepped => "\tself->fired++;\n\tself->stepped++;\n",
    }
}

/// The statements that count a firing at an exit.
fn exit_fires(exits: &[(u64, Option<Firing>)]) -> String {
    if let [(_, first), rest @ ..] = exits
        && rest.iter().all(|(_, other)| other == first)
    {
        return first.map(fires).unwrap_or_default().to_owned();
    }
    let counts = |variable: &str, is_one: fn(Firing) -> bool| {
        let these = exits.iter().filter(|(_, firing)| firing.is_some_and(is_one));
        let these: Vec<String> = these.map(|(offset, _)| format!("arg0 == {offset:#x}")).collect();
        match these.is_empty() {
            true => String::new(),
            false => format!("\tself->{variable} += ({}) ? 1 : 0;\n", these.join(" || ")),
        }
    };
    counts("fired", |_| true) + &counts("stepped", |firing| firing == Firing::Stepped)
}

/// The clauses of a timed function, from place to place. Places that the kernel executes alike cost the same between
/// two programs.
pub(super) fn clauses(number: usize, group: &Group<'_>, probes: &str, begins: &str) -> String {
    let timed = Timed::new(number, group);
    let function = group.prefix();
    let clear = if group.copies { "\tthis->over = 0;\n" } else { "" };
    let reads = format!(
        "{function}:entry,\n{probes},\n{function}:return\n{{\n\tthis->now = walltimestamp - self->stopped;\n{clear}}}\n\n"
    );
    reads + &timed.entry(begins) + &timed.places(probes) + &timed.exit()
}

/// The last statement at each probe.
const STOPS: &str = "\tself->stopped = walltimestamp - this->now;\n";

/// The variables of a function, as D names them.
struct Timed<'g> {
    n: usize,
    group: &'g Group<'g>,
    in_programs: bool,
    calls: String,
    place: String,
    last: String,
    since: String,
    steps: String,
    begin: String,
    depth: String,
    /// The values of the enclosing call.
    places: String,
    lasts: String,
    sinces: String,
    all_steps: String,
}

impl<'g> Timed<'g> {
    fn new(n: usize, group: &'g Group<'g>) -> Timed<'g> {
        let this = |name: &str| format!("self->{name}{n}");
        let around = |name: &str| format!("self->{name}{n}[self->depth{n}]");
        Timed {
            n,
            group,
            in_programs: group.space != Space::Kernel,
            calls: this("calls"),
            place: this("place"),
            last: this("last"),
            since: this("since"),
            steps: this("steps"),
            begin: this("begin"),
            depth: this("depth"),
            places: around("places"),
            lasts: around("lasts"),
            sinces: around("sinces"),
            all_steps: around("allsteps"),
        }
    }

    fn in_programs(&self, text: String) -> String {
        if self.in_programs { text } else { String::new() }
    }

    /// The probe at one end of the calls, with a predicate.
    fn at(&self, end: &str, condition: &str) -> String {
        let end = self.group.end(end);
        match end.split_once("\n/") {
            _ if condition.is_empty() => end,
            None => format!("{end}\n/{condition}/"),
            Some((probe, only)) => format!("{probe}\n/{} && {condition}/", only.trim_end_matches('/')),
        }
    }

    /// The statements that add a lap which ends now.
    fn spent(&self) -> String {
        let Timed { n, place, last, since, steps, .. } = self;
        let steps = self.in_programs(format!("\t@{STEPS}[{n}, {place}] = sum(self->stepped - {steps});\n"));
        format!(
            "\t@{TIME}[{n}, {place}] = stddev(this->now - {last});\n\
             \t@{FIRINGS}[{n}, {place}] = sum(self->fired - {since});\n{steps}"
        )
    }

    fn forgets(&self) -> String {
        let Timed { places, lasts, sinces, all_steps, .. } = self;
        let steps = self.in_programs(format!("\t{all_steps} = 0;\n"));
        format!("\t{places} = 0;\n\t{lasts} = 0;\n\t{sinces} = 0;\n{steps}")
    }

    /// The statements that count the firings at the ends of a function. At a copy, the ends may coincide with other
    /// places.
    fn fires(&self) -> [String; 2] {
        let ends = &self.group.ends;
        match self.in_programs {
            _ if self.group.copies => [String::new(), String::new()],
            true => [ends.entry.map(fires).unwrap_or_default().to_owned(), exit_fires(&ends.exits)],
            false => [Firing::Emulated; 2].map(|firing| fires(firing).to_owned()),
        }
    }

    fn entry(&self, begins: &str) -> String {
        let Timed { n, calls, place, last, since, steps, begin, depth, .. } = self;
        let Timed { places, lasts, sinces, all_steps, .. } = self;
        let [fires, _] = self.fires();
        let steps = self.in_programs(format!("\t{all_steps} = {steps};\n"));
        format!(
            "{}\n{{\n\t{calls} = {calls} << 1 | {begins} | {KEEP};\n\t@{BEGUN}[{n}] = sum({calls} & 1);\n}}\n\n\
             {}\n{{\n\t{places} = {place};\n\t{lasts} = {last};\n\t{sinces} = {since};\n{steps}}}\n\n\
             {}\n{{\n\t{depth}++;\n{fires}\t{place} = 0;\n\t{begin} = id;\n{STOPS}}}\n\n",
            self.at("entry", ""),
            self.at("entry", &format!("{calls} & 1 && {place}")),
            self.at("entry", &format!("{calls} & 1")),
        )
    }

    fn places(&self, probes: &str) -> String {
        let Timed { n, calls, place, last, since, steps, .. } = self;
        let mut d =
            format!("{probes}\n/{calls} & 1 && {place} && this->now > {last}/\n{{\n{}}}\n\n", self.spent());
        let stepped = self.group.stepped();
        for is_stepped in [false, true] {
            let sites = self.group.sites().into_iter().filter(|site| stepped.contains(site) == is_stepped);
            let sites: Vec<String> = sites.map(|site| site.fields().to_string()).collect();
            if sites.is_empty() {
                continue;
            }
            let counts = if is_stepped { "++" } else { "" };
            let steps = self.in_programs(format!("\t{steps} = self->stepped{counts};\n"));
            d += &format!(
                "{}\n/{calls} & 1/\n{{\n\
                 \t@{EXECUTIONS}[{n}, id] = count();\n\
                 \t{place} = id;\n\t{since} = self->fired++;\n{steps}\t{last} = this->now;\n{STOPS}}}\n\n",
                sites.join(",\n")
            );
        }
        d
    }

    fn exit(&self) -> String {
        let Timed { n, calls, place, last, since, steps, depth, .. } = self;
        let Timed { places, lasts, sinces, all_steps, .. } = self;
        let [_, fires] = self.fires();
        let mut d = format!("{}\n{{\n\tthis->counts = {calls} & 1;\n}}\n\n", self.at("return", ""));
        if self.group.copies {
            d += &self.exit_before_entry();
        }
        let all_steps = self.in_programs(format!("\t{steps} = {all_steps};\n"));
        let resumes =
            format!("\t{place} = {places};\n\t{last} = {lasts};\n\t{since} = {sinces};\n{all_steps}");
        d + &format!(
            "{}\n{{\n{}}}\n\n\
             {}\n{{\n{fires}\t{depth}--;\n{resumes}{}}}\n\n\
             {}\n{{\n\t@{ENDED}[{n}] = sum(this->counts);\n\t{calls} = {calls} >> 1 | {KEEP};\n}}\n\n\
             {}\n{{\n{STOPS}}}\n\n",
            self.at("return", &format!("this->counts && {place} && this->now > {last}")),
            self.spent(),
            self.at("return", "this->counts"),
            self.forgets(),
            self.at("return", if self.group.copies { "!this->over" } else { "" }),
            self.at("return", "this->counts"),
        )
    }

    /// If a copy ends where the next one begins, the preceding copy ends first.
    fn exit_before_entry(&self) -> String {
        let Timed { n, calls, place, since, steps, begin, depth, .. } = self;
        let Timed { places, lasts, sinces, all_steps, .. } = self;
        let steps = self.in_programs(format!(
            "\t@{STEPS}[{n}, {places}] = sum(({place} ? {steps} : self->stepped) - {all_steps});\n"
        ));
        format!(
            "{}\n{{\n\
             \t{depth}--;\n\
             \t@{TIME}[{n}, {places}] = stddev(this->now - {lasts});\n\
             \t@{FIRINGS}[{n}, {places}] = sum(({place} ? {since} : self->fired) - {sinces});\n{steps}\
             {}\t{begin} = 0;\n\t@{ENDED}[{n}] = sum(1);\n\t{calls} = {calls} >> 1 | {KEEP};\n\
             \tthis->counts = 0;\n\tthis->over = 1;\n{STOPS}}}\n\n",
            self.at("return", &format!("this->counts && {begin} == id && self->places{n}[{depth} - 1]")),
            self.forgets(),
        )
    }
}
