//! sugar/inline_probes.rs: `kinst::f:entry`, `:return` and source lines of f, expanded to sites in its code and copies.

use super::aliases::Unaliased;
use super::plain;
use crate::parser::ast::{ProbeDesc, ProbeDescKind};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::glob::is_glob;
use kinst_base::probe::{Description, End, Fields, Site};
use kinst_base::space::Space;
use kinst_sites::{
    Boundary, FoundSite, FunctionSites, InlineProbe, Lenient, NothingWanted, SiteIndex, SourceLine,
};
use std::collections::HashSet;

/// Makes the index of these functions' inlined copies. Called only if a program names one.
pub type MakeIndex<'a> = dyn Fn(Vec<InlineProbe>) -> Result<Box<dyn SiteIndex>, Box<Diagnostic>> + 'a;

/// The errors of a program, and the programs before it.
#[derive(Debug)]
pub struct Stopped {
    /// Programs that passed; empty if the error is from an earlier pass or from the index.
    pub before: Vec<plain::Program>,
    /// At least one.
    pub errors: Vec<Diagnostic>,
}

impl From<Vec<Diagnostic>> for Stopped {
    fn from(errors: Vec<Diagnostic>) -> Stopped {
        Stopped { before: Vec::new(), errors }
    }
}

/// Runs the pass. A description whose function the index does not have is unchanged if the index returns no
/// sites, or with `lenient`, and is an error if the index refuses it.
pub(super) fn expand(
    programs: Vec<plain::Program<Unaliased>>,
    index: &MakeIndex<'_>,
    lenient: bool,
) -> Result<Vec<plain::Program>, Stopped> {
    let wanted: Vec<(Space, InlineProbe)> = programs.iter().flat_map(wanted).collect();
    let index = match wanted.is_empty() {
        true => Box::new(NothingWanted),
        false => {
            let of_kernel = wanted.into_iter().filter(|(space, _)| *space == Space::Kernel);
            let mut of_kernel: Vec<InlineProbe> = of_kernel.map(|(_, probe)| probe).collect();
            of_kernel.sort();
            of_kernel.dedup();
            index(of_kernel).map_err(|diagnostic| vec![*diagnostic])?
        }
    };
    let index: Box<dyn SiteIndex> = if lenient { Box::new(Lenient(index)) } else { index };
    let mut before = Vec::new();
    for program in programs {
        match expand_one(program, &*index) {
            Ok(program) => before.push(program),
            Err(errors) => return Err(Stopped { before, errors }),
        }
    }
    Ok(before)
}

fn expand_one(
    program: plain::Program<Unaliased>,
    index: &dyn SiteIndex,
) -> Result<plain::Program, Vec<Diagnostic>> {
    let mut errors: Vec<Diagnostic> = Vec::new();
    let program = program.with_probes(|probes| {
        expand_list(probes.into_iter().map(Unaliased::into_written), index, &mut errors)
    });
    if errors.is_empty() { Ok(program) } else { Err(errors) }
}

/// Returns the functions whose sites are needed, each with the space of its code.
fn wanted(program: &plain::Program<Unaliased>) -> impl Iterator<Item = (Space, InlineProbe)> {
    let clauses = program.items.iter().filter_map(|item| match item {
        plain::Item::Clause(clause) => Some(clause),
        _ => None,
    });
    let fields = clauses.flat_map(|clause| &clause.probes).filter_map(|probe| {
        let probe = probe.written();
        let inline = inline_probe(probe).map(|(space, fields, _)| (space, fields));
        inline.or(line_probe(probe).map(|(space, fields, _)| (space, fields)))
    });
    fields.map(|(space, fields)| {
        let (module, function) = (fields.module.clone(), fields.function.clone());
        (space, InlineProbe { module, function })
    })
}

/// Replaces the description by its first site and appends the other sites to the list, in the order of
/// processing.
fn expand_list(
    probes: impl Iterator<Item = ProbeDesc>,
    index: &dyn SiteIndex,
    errors: &mut Vec<Diagnostic>,
) -> Vec<plain::ProbeDesc> {
    let (mut expanded, mut appended) = (Vec::new(), Vec::new());
    let probes: Vec<ProbeDesc> = probes.collect();
    // The printed form of a description in a program names the function itself beside its copies.
    let written: HashSet<Fields> = probes.iter().filter_map(place_in_program).collect();
    for probe in probes {
        let span = probe.span;
        match sites(&probe, index) {
            None => expanded.push(plain::ProbeDesc::as_written(probe)),
            Some(Ok(made)) => {
                let is_new =
                    |kind: &Description| kind.fields().is_none_or(|fields| !written.contains(&fields));
                let is_none = made.is_empty();
                let made = made.into_iter().filter(is_new);
                let mut made = made.map(|kind| plain::ProbeDesc { kind, span });
                match made.next() {
                    Some(first) => expanded.push(first),
                    None if is_none => expanded.push(plain::ProbeDesc::as_written(probe)),
                    // All of its sites are in the list.
                    None => {}
                }
                appended.extend(made);
            }
            Some(Err(error)) => {
                let mut error = *error;
                if error.labels.is_empty() {
                    error = error.at(span, "requested here");
                }
                // The clauses that an `if` was split into share one list of descriptions.
                if !errors.contains(&error) {
                    errors.push(error);
                }
            }
        }
    }
    expanded.append(&mut appended);
    expanded
}

/// Returns the replacement of a description; `None` if it is unchanged.
fn sites(probe: &ProbeDesc, index: &dyn SiteIndex) -> Option<Result<Vec<Description>, Box<Diagnostic>>> {
    if let Some((space, fields, boundary)) = inline_probe(probe) {
        let of_space = in_space(index, space)?;
        let index = of_space.as_deref().unwrap_or(index);
        let functions = index.inline_sites(&fields.module, &fields.function, boundary);
        let end = match boundary {
            Boundary::Entry => End::Entry,
            Boundary::Return => End::Return,
        };
        return Some(functions.map(|functions| match space {
            Space::Kernel => descriptions(fields, end, &functions),
            space => in_programs(space, end, functions),
        }));
    }
    let (space, fields, line) = line_probe(probe)?;
    let anywhere = space != Space::Kernel && fields.function.is_empty() && line.file.is_some();
    if (fields.function.is_empty() || is_glob(&fields.function)) && !anywhere {
        return Some(Err(Box::new(line_of_many(space, fields))));
    }
    let of_space = in_space(index, space)?;
    let index = of_space.as_deref().unwrap_or(index);
    // A line of another file may be inside a copy of another function.
    let place = |FoundSite { site, .. }: &FoundSite| match line.file {
        Some(_) => Site { copy: None, inlined: false, ..site.clone() },
        None => site.clone(),
    };
    let sites = index.line_sites(&fields.module, &fields.function, &line);
    let made = |found: &FoundSite| match space {
        Space::Kernel => kinst(fields, place(found), found.module_needed),
        _ => Description::Site(Box::new(place(found))),
    };
    Some(sites.map(|sites| sites.iter().map(made).collect()))
}

/// Returns the index of the programs of a space, or nothing for the kernel. `None`: there are no programs, which the
/// lookup of the probes reports.
fn in_space(index: &dyn SiteIndex, space: Space) -> Option<Option<Box<dyn SiteIndex + '_>>> {
    match space {
        Space::Kernel => Some(None),
        space => index.in_space(space).map(Some),
    }
}

/// Returns the code that the instructions of a provider are in.
fn space_of(fields: &Fields) -> Option<Space> {
    let of_kernel = (fields.provider == "kinst").then_some(Space::Kernel);
    of_kernel.or_else(|| Space::of_program(&fields.provider))
}

/// Returns the fields of a description of one place in a program, or of a function's end.
fn place_in_program(probe: &ProbeDesc) -> Option<Fields> {
    let ProbeDescKind::Fields(fields) = &probe.kind else { return None };
    let is_one = Space::of_program(&fields.provider).is_some() && inline_probe(probe).is_none();
    is_one.then(|| Fields::clone(fields))
}

/// Parses `L123`, or `file.c@123`.
fn line_probe(probe: &ProbeDesc) -> Option<(Space, &Fields, SourceLine)> {
    let ProbeDescKind::Fields(fields) = &probe.kind else { return None };
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    let line = match fields.name.split_once('@') {
        Some((file, line)) if !file.is_empty() => {
            SourceLine { file: Some(file.to_owned()), line: number(line)? }
        }
        Some(_) => return None,
        None => SourceLine { file: None, line: number(fields.name.strip_prefix('L')?)? },
    };
    Some((space_of(fields)?, fields, line))
}

fn line_of_many(space: Space, fields: &Fields) -> Diagnostic {
    let example = match space {
        Space::Kernel => "kinst::vfs_read".to_owned(),
        space => format!("{}:{}:main", space.provider(), fields.module),
    };
    Diagnostic::error(tags::PDESC_ZERO, format!("`{}` needs the name of one function", fields.name))
        .note("a line is searched for in the code and inlined copies of one function, whose name must be complete")
        .help(format!("name the function: {example}:{}", fields.name))
}

fn inline_probe(probe: &ProbeDesc) -> Option<(Space, &Fields, Boundary)> {
    let ProbeDescKind::Fields(fields) = &probe.kind else { return None };
    let boundary = match fields.name.as_str() {
        "entry" => Boundary::Entry,
        "return" => Boundary::Return,
        _ => return None,
    };
    let space = space_of(fields)?;
    let named = match space {
        Space::Kernel => !fields.function.is_empty(),
        // A dash is the whole file, whose names are addresses.
        _ => fields.function != "-",
    };
    named.then_some((space, fields, boundary))
}

/// Returns the copies of functions in programs, and the functions themselves.
fn in_programs(space: Space, end: End, functions: Vec<FunctionSites>) -> Vec<Description> {
    let mut made: Vec<Description> = Vec::new();
    let name = match end {
        End::Entry => "entry",
        End::Return => "return",
    };
    for function in functions {
        let copy = |found: FoundSite| {
            let copy = Some(function.function.clone());
            Description::Site(Box::new(Site { copy, inlined: true, end: Some(end), ..found.site }))
        };
        made.extend(function.sites.into_iter().map(copy));
        let own = function.out_of_line.iter();
        made.extend(own.map(|own| {
            let fields = Fields::new(&space.provider(), &function.module, own, name);
            Description::Fields(Box::new(fields))
        }));
    }
    made
}

/// Returns, for each module, the copies and then the instances that fbt can probe.
fn descriptions(asked: &Fields, end: End, functions: &[FunctionSites]) -> Vec<Description> {
    let mut made: Vec<Description> = Vec::new();
    // One description covers the instances of a name in all the requested modules.
    let mut instances: HashSet<&str> = HashSet::new();
    for function in functions {
        let copy = |found: &FoundSite| Site {
            copy: Some(function.function.clone()),
            inlined: true,
            end: Some(end),
            ..found.site.clone()
        };
        made.extend(function.sites.iter().map(|found| kinst(asked, copy(found), found.module_needed)));
        let new = function.out_of_line.iter().filter(|name| instances.insert(name));
        made.extend(new.map(|name| {
            Description::Fields(Box::new(Fields {
                provider: "fbt".to_owned(),
                module: asked.module.clone(),
                function: name.clone(),
                name: asked.name.clone(),
            }))
        }));
    }
    made
}

/// Makes a site, with the module as the user wrote it unless the caller's name is ambiguous without a module.
fn kinst(asked: &Fields, mut site: Site, module_needed: bool) -> Description {
    if !module_needed || !(asked.module.is_empty() || is_glob(&asked.module)) {
        site.module.clone_from(&asked.module);
    }
    Description::Site(Box::new(site))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_base::source::{FileId, Span};

    /// A table: (function, its sites).
    struct Table(Vec<(&'static str, Vec<FunctionSites>)>);

    impl SiteIndex for Table {
        fn inline_sites(
            &self,
            _: &str,
            function: &str,
            boundary: Boundary,
        ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
            let found = self.0.iter().find(|(name, _)| *name == function);
            let (_, functions) =
                found.ok_or_else(|| Box::new(Diagnostic::error(tags::PDESC_ZERO, "not found")))?;
            let mut functions = functions.clone();
            if boundary == Boundary::Return {
                functions
                    .iter_mut()
                    .flat_map(|function| &mut function.sites)
                    .for_each(|found| found.site.offset += 100);
            }
            Ok(functions)
        }

        /// Uses the line number as the offset.
        fn line_sites(
            &self,
            _: &str,
            function: &str,
            line: &SourceLine,
        ) -> Result<Vec<FoundSite>, Box<Diagnostic>> {
            let caller = format!("{function}{}", line.file.as_deref().unwrap_or_default());
            Ok(vec![site("vmlinux", &caller, line.line, false), site("ext4", "show", 7, true)])
        }
    }

    fn site(module: &str, caller: &str, offset: u64, module_needed: bool) -> FoundSite {
        let site = Site { module: module.to_owned(), function: caller.to_owned(), offset, ..Site::default() };
        FoundSite { site, module_needed }
    }

    fn function(module: &str, sites: Vec<FoundSite>, out_of_line: &[&str]) -> FunctionSites {
        let out_of_line = out_of_line.iter().map(|name| (*name).to_owned()).collect();
        FunctionSites { module: module.to_owned(), function: "f".to_owned(), sites, out_of_line }
    }

    fn table() -> Table {
        let inlined = vec![
            site("vmlinux", "one", 13, false),
            site("vmlinux", "show#2", 40, false),
            site("ext4", "show", 7, true),
        ];
        let both = vec![site("vmlinux", "two", 25, false)];
        Table(vec![
            ("inlined", vec![function("vmlinux", inlined, &[])]),
            ("both", vec![function("vmlinux", both, &["both", "both.isra.0"])]),
            (
                "regular",
                vec![function("vmlinux", vec![], &["regular"]), function("ext4", vec![], &["regular"])],
            ),
            ("lenient", vec![]),
            ("some*", vec![function("vmlinux", vec![site("vmlinux", "one", 1, false)], &["something"])]),
        ])
    }

    /// Expands a list of descriptions in a separate clause; the text has one description per line.
    fn expanded(list: &str) -> Result<Vec<String>, Vec<Diagnostic>> {
        let span = Span::new(FileId(0), 0, 0);
        let probes = list.split(", ").map(|text| {
            let [provider, module, function, name] = text.split(':').collect::<Vec<_>>()[..] else {
                panic!("four fields")
            };
            let (provider, module) = (provider.to_owned(), module.to_owned());
            let fields = Fields { provider, module, function: function.to_owned(), name: name.to_owned() };
            ProbeDesc { kind: ProbeDescKind::Fields(Box::new(fields)), span }
        });
        let mut errors = Vec::new();
        let expanded = expand_list(probes, &table(), &mut errors);
        let text = expanded.iter().map(|probe| probe.kind.to_string());
        if errors.is_empty() { Ok(text.collect()) } else { Err(errors) }
    }

    #[test]
    fn copies_take_the_place_and_follow() {
        assert_eq!(
            expanded("kinst::inlined:entry, fbt::x:entry").expect("sites"),
            ["kinst::one:13", "fbt::x:entry", "kinst::show#2:40", "kinst:ext4:show:7"]
        );
        assert_eq!(
            expanded("kinst:vmlinux:inlined:return").expect("sites"),
            ["kinst:vmlinux:one:113", "kinst:vmlinux:show#2:140", "kinst:vmlinux:show:107"]
        );
    }

    #[test]
    fn out_of_line_instances_go_to_fbt() {
        assert_eq!(
            expanded("kinst::both:entry, kinst::regular:return").expect("sites"),
            ["kinst::two:25", "fbt::regular:return", "fbt::both:entry", "fbt::both.isra.0:entry"]
        );
    }

    #[test]
    fn lines_become_instructions() {
        assert_eq!(expanded("kinst::f:L12").expect("sites"), ["kinst::f:12", "kinst:ext4:show:7"]);
        assert_eq!(expanded("kinst::f:a/b.c@3").expect("sites"), ["kinst::fa/b.c:3", "kinst:ext4:show:7"]);
        for text in ["kinst::f:L", "kinst::f:Lx", "kinst::f:@3", "kinst::f:b.c@", "fbt::f:L12"] {
            assert_eq!(expanded(text).expect("as it was"), [text]);
        }
        for text in ["kinst::f*:L12", "kinst:::b.c@3"] {
            assert_eq!(expanded(text).expect_err("of one function").len(), 1);
        }
    }

    #[test]
    fn other_descriptions_are_left_alone() {
        for text in
            ["kinst::f:", "kinst::f:4", "kinst::f:*", "fbt::f:entry", "kin*::f:entry", "kinst:::entry"]
        {
            assert_eq!(expanded(text).expect("as it was"), [text]);
        }
        assert_eq!(expanded("kinst::lenient:entry").expect("as it was"), ["kinst::lenient:entry"]);
        assert_eq!(
            expanded("kinst::some*:entry").expect("the index is queried"),
            ["kinst::one:1", "fbt::something:entry"]
        );
    }

    #[test]
    fn each_unknown_function_is_one_error() {
        let errors = expanded("kinst::nothing:entry, kinst::inlined:entry, kinst::nothing:entry")
            .expect_err("not found");
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].labels.len(), 1);
    }
}
