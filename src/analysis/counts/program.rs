//! analysis/counts/program.rs: the D program that counts.

use crate::analysis::counts::counted::Counted;
use crate::analysis::whose::Whose;
use kinst_base::probe::{Site, Spot, in_description};
use kinst_base::space::Space;
use kinst_sites::uprobe::Way;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The options of a count.
pub(crate) struct Question<'a> {
    pub whose: Whose,
    /// A D expression about the arguments of a call: only calls for which it is true are counted.
    pub when: Option<&'a str>,
    /// The time limit, as in a probe name: `10s`.
    pub time: Option<&'a str>,
    /// Whether to measure the time between the places too.
    pub latency: bool,
}

/// The aggregations; the first key is the function's index. They hold the executions by probe id, the calls
/// that began, and the calls that ended; with --latency also the time from each probe to the next one of
/// the same call, and the number of probes that fired in between.
pub(crate) const EXECUTIONS: &str = "executions";
pub(crate) const BEGUN: &str = "begun";
pub(crate) const ENDED: &str = "ended";
pub(crate) const TIME: &str = "time";
pub(crate) const FIRINGS: &str = "firings";
/// The firings at which the kernel executes the instruction of a program in a single step, which costs more.
pub(crate) const STEPS: &str = "steps";
/// The difference between the wall clock and the monotonic clock at the start and end: minimum and maximum.
pub(crate) const EARLY: &str = "early";
pub(crate) const LATE: &str = "late";

/// Functions during which the set of thread-local variables changes: they begin in an interrupt or softirq
/// and end outside of it, or vice versa.
pub(crate) const CROSSING: &[&str] = &[
    "irq_enter",
    "irq_enter_rcu",
    "irq_exit",
    "irq_exit_rcu",
    "__irq_exit_rcu",
    "__do_softirq",
    "handle_softirqs",
];

/// A bit that keeps the thread-local variable of the calls allocated.
const KEEP: &str = "0x4000000000000000";

/// The functions and copies of one name in one module.
pub(crate) struct Group<'a> {
    /// The provider, the module and the function of the probes at their entries and returns.
    pub at: [String; 3],
    pub space: Space,
    /// Whether they are inlined copies.
    pub copies: bool,
    /// Whether to count only within calls that begin during the trace, with probes at the entries and returns.
    pub by_call: bool,
    /// With --latency of a function in programs, the firings at its ends.
    pub ends: Ends,
    pub members: Vec<&'a Counted>,
}

/// The probes at the entry and the exits of a function that do not share their instruction with a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub entry: Option<Firing>,
    /// Each with the offset, which is `arg0` there.
    pub exits: Vec<(u64, Option<Firing>)>,
}

/// How the kernel executes the instruction below a probe that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Firing {
    Emulated,
    Stepped,
}

impl Group<'_> {
    /// The name of the function in descriptions.
    pub(crate) fn name(&self) -> &str {
        &self.at[2]
    }

    /// The common prefix of the probe descriptions of their entries and returns.
    pub(crate) fn prefix(&self) -> String {
        let [provider, module, function] = &self.at;
        format!("{provider}:{module}:{}", in_description(function))
    }

    /// The probe at one end of the calls. In programs, a name means the copies of a function too.
    fn end(&self, name: &str) -> String {
        let own = self.space != Space::Kernel && !self.copies;
        let only = if own { format!("\n/probename == \"{name}\"/") } else { String::new() };
        format!("{}:{name}{only}", self.prefix())
    }

    /// Finds how the probes at the ends of a function fire, by its instructions: those of the entry, then of the exits.
    pub(crate) fn find_ends(&mut self, [entry, exits]: [&[Spot]; 2]) {
        let sites = self.sites();
        let firing = |spot: &Spot| {
            let listings = self.members.iter().flat_map(|one| &one.listings);
            let (listing, insn) = listings.into_iter().find_map(|listing| {
                let offset = spot.address.checked_sub(listing.address)?;
                let insn = listing.instructions.iter().find(|insn| u64::from(insn.offset) == offset)?;
                Some((listing, insn))
            })?;
            let offset = u64::from(insn.offset);
            let is_here = |site: &&&Site| site.offset == offset && site.function == listing.function;
            let way = if insn.way == Some(Way::Emulated) { Firing::Emulated } else { Firing::Stepped };
            sites.iter().find(is_here).is_none().then_some(way)
        };
        let entry = entry.first().and_then(firing);
        let exits = exits.iter().map(|spot| (spot.exit, firing(spot))).collect();
        self.ends = Ends { entry, exits };
    }

    /// The sites where the kernel steps.
    fn stepped(&self) -> BTreeSet<&Site> {
        let laps = self.members.iter().flat_map(|one| &one.laps);
        let sites = laps.flat_map(|lap| [Some(&lap.begin), lap.second.as_ref()].into_iter().zip(lap.stepped));
        sites.filter(|(_, stepped)| *stepped).filter_map(|(site, _)| site).collect()
    }

    /// The sites that are counted or timed.
    pub(crate) fn sites(&self) -> BTreeSet<&Site> {
        let timed = self.members.iter().flat_map(|one| &one.laps);
        let timed = timed.flat_map(|lap| std::iter::once(&lap.begin).chain(&lap.second));
        let counters = self.members.iter().flat_map(|one| &one.counters);
        counters.flat_map(|counter| &counter.sites).chain(timed).collect()
    }
}

/// Groups the counted code by function. In programs, `by_call` says whether single calls matter; otherwise the counts do
/// not need the ends of calls.
pub(crate) fn groups(all: &[Counted], by_call: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for counted in all {
        let Some(listing) = counted.listings.first() else { continue };
        let name = listing.copy.as_ref().map_or(&listing.function, |copy| &copy.function);
        let copies = listing.copy.is_some();
        let provider = match listing.space {
            Space::Kernel if !copies => "fbt".to_owned(),
            space => space.provider(),
        };
        let at = [provider, listing.module.clone(), name.clone()];
        match groups.iter_mut().find(|group| group.at == at && group.copies == copies) {
            Some(group) => group.members.push(counted),
            None => {
                let by_call = match listing.space {
                    Space::Kernel => !CROSSING.contains(&name.as_str()),
                    _ => by_call,
                };
                let (space, ends, members) = (listing.space, Ends::default(), vec![counted]);
                groups.push(Group { at, space, copies, by_call, ends, members });
            }
        }
    }
    groups
}

/// Writes the program. A site is counted once for each function, even if several of its copies use it.
pub(crate) fn write(groups: &[Group<'_>], question: &Question<'_>) -> String {
    let whose = question.whose.condition();
    let mut d = String::new();
    if groups.iter().any(|group| group.by_call) {
        d += "/*\n * calls has a bit for each call of the thread: nested calls, and calls from interrupts on top.\n \
              * The highest bit keeps the variable allocated.\n */\n";
        let by_call = groups.iter().enumerate().filter(|(_, group)| group.by_call);
        by_call.for_each(|(number, _)| d += &format!("self uint64_t calls{number};\n"));
        d += "\n";
    }
    if question.latency {
        let in_programs = groups.iter().any(|group| group.space != Space::Kernel);
        d += &variables(groups.len(), in_programs);
    }
    for (number, group) in groups.iter().enumerate() {
        let probes: Vec<String> = group.sites().iter().map(|site| site.fields().to_string()).collect();
        let probes = probes.join(",\n");
        let conditions: Vec<String> = whose
            .map(str::to_owned)
            .into_iter()
            .chain(question.when.map(|when| format!("({when})")))
            .collect();
        let conditions = conditions.join(" && ");
        let calls = format!("self->calls{number}");
        let [entry, exit] = ["entry", "return"].map(|name| group.end(name));
        // Writing to a String cannot fail.
        let _ = if question.latency && group.by_call {
            let begins =
                if conditions.is_empty() { "1".to_owned() } else { format!("({conditions} ? 1 : 0)") };
            write!(d, "{}", with_time(number, group, &probes, &begins))
        } else if group.by_call {
            let begins =
                if conditions.is_empty() { "1".to_owned() } else { format!("({conditions} ? 1 : 0)") };
            writeln!(
                d,
                "{entry}\n{{\n\t{calls} = {calls} << 1 | {begins} | {KEEP};\n\t@{BEGUN}[{number}] = sum({calls} & 1);\n}}\n\n\
                 {probes}\n/{calls} & 1/\n{{\n\t@{EXECUTIONS}[{number}, id] = count();\n}}\n\n\
                 {exit}\n{{\n\t@{ENDED}[{number}] = sum({calls} & 1);\n\t{calls} = {calls} >> 1 | {KEEP};\n}}\n"
            )
        } else {
            let predicate = whose.map(|text| format!("/{text}/\n")).unwrap_or_default();
            writeln!(d, "{probes}\n{predicate}{{\n\t@{EXECUTIONS}[{number}, id] = count();\n}}\n")
        };
    }
    if let Some(time) = question.time {
        d += &format!("profile:::tick-{time}\n{{\n\texit(0);\n}}\n");
    }
    d
}

/// The variables for the time.
fn variables(functions: usize, in_programs: bool) -> String {
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
fn with_time(n: usize, group: &Group<'_>, probes: &str, begins: &str) -> String {
    let (is_copy, function, in_programs) = (group.copies, group.prefix(), group.space != Space::Kernel);
    let [entry, exit] = ["entry", "return"].map(|name| group.end(name));
    let this = |name: &str| format!("self->{name}{n}");
    let [calls, place, last, since, depth] = ["calls", "place", "last", "since", "depth"].map(this);
    let around = |name: &str| format!("self->{name}{n}[{depth}]");
    let [places, lasts, sinces] = ["places", "lasts", "sinces"].map(around);
    let (begin, steps, all_steps) = (this("begin"), this("steps"), around("allsteps"));
    let if_stepped = |text: String| if in_programs { text } else { String::new() };
    // At a copy, the entry and the return may coincide with other places.
    let [entry_fires, exit_fires] = match in_programs {
        _ if is_copy => [String::new(), String::new()],
        true => [group.ends.entry.map(fires).unwrap_or_default().to_owned(), exit_fires(&group.ends.exits)],
        false => [Firing::Emulated; 2].map(|firing| fires(firing).to_owned()),
    };
    let forgets = format!("\t{places} = 0;\n\t{lasts} = 0;\n\t{sinces} = 0;\n")
        + &if_stepped(format!("\t{all_steps} = 0;\n"));
    let spent = format!(
        "\t@{TIME}[{n}, {place}] = stddev(this->now - {last});\n\
         \t@{FIRINGS}[{n}, {place}] = sum(self->fired - {since});\n"
    ) + &if_stepped(format!("\t@{STEPS}[{n}, {place}] = sum(self->stepped - {steps});\n"));
    let clear = if is_copy { "\tthis->over = 0;\n" } else { "" };
    let stops = "\tself->stopped = walltimestamp - this->now;\n";
    // Only the description of a function that is not inlined needs a predicate.
    let of_end = |end: &str, condition: &str| match (end.split_once("\n/"), condition) {
        (None, "") => end.to_owned(),
        (None, condition) => format!("{end}\n/{condition}/"),
        (Some(_), "") => end.to_owned(),
        (Some((probe, only)), condition) => {
            format!("{probe}\n/{} && {condition}/", only.trim_end_matches('/'))
        }
    };
    let (at_entry, at_exit) =
        (|condition: &str| of_end(&entry, condition), |condition: &str| of_end(&exit, condition));
    let mut d = format!(
        "{function}:entry,\n{probes},\n{function}:return\n{{\n\tthis->now = walltimestamp - self->stopped;\n{clear}}}\n\n"
    );
    d += &format!(
        "{}\n{{\n\t{calls} = {calls} << 1 | {begins} | {KEEP};\n\t@{BEGUN}[{n}] = sum({calls} & 1);\n}}\n\n\
         {}\n{{\n\t{places} = {place};\n\t{lasts} = {last};\n\t{sinces} = {since};\n{}}}\n\n\
         {}\n{{\n\t{depth}++;\n{entry_fires}\t{place} = 0;\n\t{begin} = id;\n{stops}}}\n\n\
         {probes}\n/{calls} & 1 && {place} && this->now > {last}/\n{{\n{spent}}}\n\n",
        at_entry(""),
        at_entry(&format!("{calls} & 1 && {place}")),
        if_stepped(format!("\t{all_steps} = {steps};\n")),
        at_entry(&format!("{calls} & 1")),
    );
    let stepped = group.stepped();
    for is_stepped in [false, true] {
        let sites = group.sites().into_iter().filter(|site| stepped.contains(site) == is_stepped);
        let sites: Vec<String> = sites.map(|site| site.fields().to_string()).collect();
        if sites.is_empty() {
            continue;
        }
        let steps = if_stepped(format!("\t{steps} = self->stepped{};\n", if is_stepped { "++" } else { "" }));
        d += &format!(
            "{}\n/{calls} & 1/\n{{\n\
             \t@{EXECUTIONS}[{n}, id] = count();\n\
             \t{place} = id;\n\t{since} = self->fired++;\n{steps}\t{last} = this->now;\n{stops}}}\n\n",
            sites.join(",\n")
        );
    }
    d += &format!("{}\n{{\n\tthis->counts = {calls} & 1;\n}}\n\n", at_exit(""));
    if is_copy {
        // If a copy ends where the next one begins, the preceding copy ends first.
        let steps = if_stepped(format!(
            "\t@{STEPS}[{n}, {places}] = sum(({place} ? {steps} : self->stepped) - {all_steps});\n"
        ));
        d += &format!(
            "{function}:return\n/this->counts && {begin} == id && self->places{n}[{depth} - 1]/\n{{\n\
             \t{depth}--;\n\
             \t@{TIME}[{n}, {places}] = stddev(this->now - {lasts});\n\
             \t@{FIRINGS}[{n}, {places}] = sum(({place} ? {since} : self->fired) - {sinces});\n{steps}\
             {forgets}\t{begin} = 0;\n\t@{ENDED}[{n}] = sum(1);\n\t{calls} = {calls} >> 1 | {KEEP};\n\
             \tthis->counts = 0;\n\tthis->over = 1;\n{stops}}}\n\n"
        );
    }
    let resumes = format!("\t{place} = {places};\n\t{last} = {lasts};\n\t{since} = {sinces};\n")
        + &if_stepped(format!("\t{steps} = {all_steps};\n"));
    d + &format!(
        "{}\n{{\n{spent}}}\n\n\
         {}\n{{\n{exit_fires}\t{depth}--;\n{resumes}{forgets}}}\n\n\
         {}\n{{\n\t@{ENDED}[{n}] = sum(this->counts);\n\t{calls} = {calls} >> 1 | {KEEP};\n}}\n\n\
         {}\n{{\n{stops}}}\n\n",
        at_exit(&format!("this->counts && {place} && this->now > {last}")),
        at_exit("this->counts"),
        at_exit(if is_copy { "!this->over" } else { "" }),
        at_exit("this->counts"),
    )
}
