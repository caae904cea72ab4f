//! analysis/paths/program.rs: the D program that records the paths of calls.

use super::values::{self, Value};
use crate::analysis::paths::followed::Followed;
use crate::analysis::whose::Whose;
use kinst_base::probe::{Site, in_description};
use kinst_base::space::Space;
use kinst_dwarf::variables::scope::{NoScope, Scope};
use kinst_sites::listing::disas::in_source;
use kinst_types::KernelTypes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The calls to follow.
pub(crate) struct Question<'a> {
    pub whose: Whose,
    /// D expressions over the arguments, and over the return value.
    pub when: Option<&'a str>,
    pub differ: Option<&'a str>,
    /// The limits: a time, as in a probe name (`10s`), and a number of calls.
    pub time: Option<&'a str>,
    pub calls: u64,
}

/// The functions and copies of one name in one module.
pub(crate) struct Group {
    /// The provider, the module and the function of the probes at their entries and returns.
    pub at: [String; 3],
    /// Whether they are only followed when called from followed calls.
    pub into: bool,
    pub members: Vec<Followed>,
    /// The functions whose copies are followed as parts of those functions.
    pub except: BTreeSet<String>,
    /// The arguments at the entry.
    pub arguments: Vec<Value>,
    /// The display format of the return value.
    pub returns: Option<values::Form>,
    /// The values that branches depend on, by the site of an edge.
    pub decided: BTreeMap<Site, Vec<Value>>,
}

/// Looks up the variables at sites.
pub(crate) type Scopes<'s> = dyn Fn(&[Site]) -> Vec<Result<Scope, NoScope>> + 's;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Entry,
    Return,
    Witness,
}

/// The aggregations: the calls that began, and the calls that ended. They are exact even if records are lost.
pub(crate) const BEGUN: &str = "begun";
pub(crate) const ENDED: &str = "done";

/// The most records of a call and its callees; longer calls are left out.
pub(crate) const MOST: u64 = 1 << 18;

impl Role {
    /// The tag that a record begins with.
    pub(crate) fn tag(self, group: usize) -> u64 {
        4 * group as u64 + self as u64
    }

    pub(crate) fn of(tag: u64) -> Option<(Role, usize)> {
        let role =
            [Role::Entry, Role::Return, Role::Witness].into_iter().find(|role| *role as u64 == tag % 4)?;
        Some((role, usize::try_from(tag / 4).ok()?))
    }
}

impl Group {
    /// Groups functions or copies by name.
    pub(crate) fn all(followed: Vec<Followed>, into: bool, groups: &mut Vec<Group>) {
        for one in followed {
            let provider = match one.space() {
                Space::Kernel if !one.is_copy() => "fbt".to_owned(),
                space => space.provider(),
            };
            let at = [provider, one.module().to_owned(), one.name().to_owned()];
            match groups.iter_mut().find(|group| group.at == at) {
                Some(group) if group.into == into && one.is_copy() => group.members.push(one),
                // Followed in any case.
                Some(_) => {}
                None => groups.push(Group {
                    at,
                    into,
                    members: vec![one],
                    except: BTreeSet::new(),
                    arguments: Vec::new(),
                    returns: None,
                    decided: BTreeMap::new(),
                }),
            }
        }
    }

    /// Removes copies in code that is followed in any case. Returns them, with the function that contains them.
    pub(crate) fn settle(groups: &mut Vec<Group>) -> Vec<(String, String)> {
        let code = |one: &Followed| -> Vec<(String, String)> {
            one.listings.iter().map(|listing| (listing.module.clone(), listing.function.clone())).collect()
        };
        let mut gone = Vec::new();
        for number in 0..groups.len() {
            let (before, after) = groups.split_at_mut(number);
            let Some((group, after)) = after.split_first_mut() else { break };
            let others = before.iter().chain(after.iter().filter(|other| !other.is_copies()));
            let followed: Vec<(String, String)> =
                others.flat_map(|other| &other.members).flat_map(code).collect();
            if !group.into || !group.is_copies() {
                continue;
            }
            let name = group.name().to_owned();
            group.members.retain(|one| {
                let inside = code(one).into_iter().find(|part| followed.contains(part));
                gone.extend(inside.iter().map(|(_, function)| (name.clone(), function.clone())));
                if inside.is_some() {
                    group.except.extend(code(one).into_iter().map(|(_, function)| function));
                }
                inside.is_none()
            });
        }
        groups.retain(|group| !group.members.is_empty());
        gone
    }

    pub(crate) fn name(&self) -> &str {
        self.members.first().map_or("", Followed::name)
    }

    /// The common prefix of the probe descriptions of their entries and returns.
    fn boundary(&self) -> String {
        let [provider, module, function] = &self.at;
        format!("{provider}:{module}:{}", in_description(function))
    }

    pub(crate) fn is_in_program(&self) -> bool {
        self.space() != Space::Kernel
    }

    fn space(&self) -> Space {
        self.members.first().map_or(Space::Kernel, Followed::space)
    }

    pub(crate) fn is_copies(&self) -> bool {
        self.members.first().is_some_and(Followed::is_copy)
    }

    /// Determines the values to record.
    pub(crate) fn look(&mut self, kernel: &dyn KernelTypes, scopes: &Scopes<'_>) {
        let Some(first) = self.members.first() else { return };
        let module = first.types().to_owned();
        let space = first.space();
        if !first.is_copy() && space != Space::Kernel {
            let scope = scopes(&[first.begin()]).pop().and_then(Result::ok);
            (self.arguments, self.returns) = values::of_program(&module, scope.as_ref(), kernel);
        } else if !first.is_copy() {
            self.arguments = values::of_entry(&module, first.name(), kernel);
            self.returns = values::of_return(&module, first.name(), kernel);
        }
        let witnesses = self.members.iter().flat_map(|one| &one.witnesses);
        let branches: Vec<_> = witnesses.filter(|witness| !witness.operands.is_empty()).collect();
        let at = |site: &Site| Site { to: None, over: Vec::new(), ..site.clone() };
        let mut sites: Vec<Site> = branches.iter().map(|witness| at(&witness.site)).collect();
        sites.sort_unstable();
        sites.dedup();
        let scopes: BTreeMap<&Site, _> = sites.iter().zip(scopes(&sites)).collect();
        let decided = branches.iter().map(|witness| {
            let scope = scopes.get(&at(&witness.site)).and_then(|scope| scope.as_ref().ok());
            let values = values::of_branch(&witness.operands, scope, (space, &module), kernel);
            (witness.site.clone(), values)
        });
        self.decided = decided.collect();
    }
}

/// Writes the program.
pub(crate) fn write(groups: &[Group], question: &Question<'_>) -> String {
    let mut d = String::from(
        "/*\n * calls has a bit for each call of the thread, the innermost lowest: whether it is followed. All of them share one key,\n \
         * and n numbers their records.\n */\n\
         self uint64_t calls;\nself uint64_t key;\nself uint64_t n;\nuint64_t ended;\n\n",
    );
    if groups.iter().any(Group::is_in_program) {
        d += "/* The stack pointer at the outermost call: at a later call it is lower, unless that call has ended. */\n\
              self uint64_t above;\n\n";
    }
    for (number, group) in groups.iter().enumerate() {
        entries(&mut d, number, group, question);
        witnesses(&mut d, number, group);
        returns(&mut d, number, group, question);
    }
    if let Some(time) = question.time {
        d += &format!("profile:::tick-{time}\n{{\n\texit(0);\n}}\n");
    }
    d
}

/// The actions at the start of all records.
fn record(role: Role, group: usize) -> String {
    format!("\ttrace(self->key);\n\ttrace(self->n);\n\ttrace({});\n", role.tag(group))
}

/// A condition that excludes the copies that are followed as parts of other functions. In programs, a name means the
/// copies of a function too; their probes are named by their places.
fn here(group: &Group, end: &str) -> String {
    let except = group.except.iter().map(|function| format!(" && probefunc != \"{}\"", in_source(function)));
    let own = group.space() != Space::Kernel && !group.is_copies();
    except.chain(own.then(|| format!(" && probename == \"{end}\""))).collect()
}

/// The index of the next record. A clause without a record counts it, as such a clause runs even if the
/// buffer is full.
const COUNT: &str = "\tself->n = self->n + 1;\n";

fn entries(d: &mut String, number: usize, group: &Group, question: &Question<'_>) {
    let entry = format!("{}:entry", group.boundary());
    let here = here(group, "entry");
    // Writing to a String cannot fail.
    let _ = if group.into {
        writeln!(
            d,
            "{entry}\n/self->calls{here}/\n{{\n\tself->calls = self->calls << 1 | self->calls & 1;\n}}\n"
        )
    } else {
        let whose = question.whose.condition().map(str::to_owned);
        let when = question.when.map(|when| format!("({when})"));
        let bounded = Some(format!("ended < {}", question.calls));
        let conditions: Vec<String> = [bounded, whose, when].into_iter().flatten().collect();
        let (mut above, mut forgets) = (String::new(), String::new());
        if group.is_in_program() {
            // An exception or longjmp() leaves a call without its return.
            let ended = if group.is_copies() { ">" } else { ">=" };
            forgets = format!(
                "{entry}\n/self->calls && uregs[R_RSP] {ended} self->above{here}/\n{{\n\tself->calls = 0;\n\tself->n = 0;\n}}\n\n"
            );
            above = "\tself->above = uregs[R_RSP];\n".to_owned();
        }
        writeln!(
            d,
            "{forgets}{entry}\n{{\n\tthis->begins = {} ? 1 : 0;\n}}\n\n\
             {entry}\n/self->calls == 0 && this->begins{here}/\n{{\n\tself->key = timestamp << 12 | cpu;\n{above}}}\n\n\
             {entry}\n/(self->calls || this->begins){here}/\n{{\n\tself->calls = self->calls << 1 | this->begins;\n}}\n",
            conditions.join(" && ")
        )
    };
    let begun = if group.into { String::new() } else { format!("\t@{BEGUN} = count();\n") };
    let arguments: String = group.arguments.iter().map(|value| format!("\ttrace({});\n", value.d)).collect();
    let _ = writeln!(
        d,
        "{entry}\n/self->calls & 1{here}/\n{{\n{}{arguments}}}\n\n\
         {entry}\n/self->calls & 1{here}/\n{{\n{COUNT}{begun}}}\n",
        record(Role::Entry, number)
    );
}

fn witnesses(d: &mut String, number: usize, group: &Group) {
    // One clause for all places with the same values.
    let mut clauses: BTreeMap<Vec<&str>, Vec<&Site>> = BTreeMap::new();
    for witness in group.members.iter().flat_map(|one| &one.witnesses) {
        let values = group.decided.get(&witness.site).map(Vec::as_slice).unwrap_or_default();
        let sites = clauses.entry(values.iter().map(|value| &*value.d).collect()).or_default();
        if !sites.contains(&&witness.site) {
            sites.push(&witness.site);
        }
    }
    for (values, mut sites) in clauses {
        sites.sort_unstable();
        let probes: Vec<String> = sites.iter().map(|site| site.fields().to_string()).collect();
        let probes = probes.join(",\n");
        let values: String = values.iter().map(|value| format!("\ttrace({value});\n")).collect();
        let _ = writeln!(
            d,
            "{probes}\n/self->calls & 1 && self->n < {MOST}/\n{{\n{}{values}}}\n\n\
             {probes}\n/self->calls & 1 && self->n < {MOST}/\n{{\n{COUNT}}}\n",
            record(Role::Witness, number)
        );
    }
}

fn returns(d: &mut String, number: usize, group: &Group, question: &Question<'_>) {
    let exit = format!("{}:return", group.boundary());
    let here = here(group, "return");
    let returned =
        if group.is_copies() { "\ttrace(0);\n\ttrace(0);\n" } else { "\ttrace(arg0);\n\ttrace(arg1);\n" };
    let differ = question.differ.filter(|_| !group.into).map(|differ| {
        // Truncated as the function's type requires.
        let narrow = group.returns.is_some_and(|form| form.bytes == 4 && form.kind == values::Kind::Signed);
        let differ = if narrow { typed(differ) } else { differ.to_owned() };
        format!("\ttrace(({differ}) ? 1 : 0);\n")
    });
    let ended =
        if group.into { String::new() } else { format!("\tended = ended + 1;\n\t@{ENDED} = count();\n") };
    let _ = writeln!(
        d,
        "{exit}\n/self->calls & 1{here}/\n{{\n{}\ttrace(self->calls == 1 ? 1 : 0);\n{returned}{}}}\n\n\
         {exit}\n/self->calls & 1{here}/\n{{\n{COUNT}{ended}}}\n\n\
         {exit}\n/self->calls{here}/\n{{\n\tself->calls = self->calls >> 1;\n\tself->key = self->calls ? self->key : 0;\n\
         \tself->n = self->calls ? self->n : 0;\n}}\n",
        record(Role::Return, number),
        differ.unwrap_or_default()
    );
    if !group.into {
        let _ = writeln!(d, "{exit}\n/ended >= {}/\n{{\n\texit(0);\n}}\n", question.calls);
    }
}

/// A predicate on the return value of an int function: arg1 has the whole register, whose upper half is
/// undefined.
fn typed(predicate: &str) -> String {
    let mut out = String::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = predicate;
    while let Some(at) = rest.find("arg1") {
        let (before, after) = (&rest[..at], &rest[at + 4..]);
        let whole = !out.chars().chain(before.chars()).next_back().is_some_and(is_word)
            && !after.starts_with(is_word);
        out += before;
        out += if whole { "(int)arg1" } else { "arg1" };
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arg1_is_what_the_function_returns() {
        assert_eq!(typed("arg1 == -22 && !arg10 && xarg1"), "(int)arg1 == -22 && !arg10 && xarg1");
        assert_eq!(typed("arg1arg1"), "arg1arg1");
        assert_eq!(typed(""), "");
    }

    #[test]
    fn a_record_says_what_it_is_of() {
        for (role, group) in [(Role::Entry, 0), (Role::Return, 3), (Role::Witness, 70)] {
            assert_eq!(Role::of(role.tag(group)), Some((role, group)));
        }
        assert_eq!(Role::of(3), None);
    }
}
