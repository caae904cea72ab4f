//! cli/doctor/verdict.rs: the last lines: whether this machine can be traced, with which backend, and what cannot.

use super::finding::Finding;
use crate::backend::bpf::{EnableError, Means};
use crate::backend::module::Error;

/// The facts that the verdict depends on.
pub(super) struct Facts<'a> {
    pub root: bool,
    pub module: Result<(), &'a Error>,
    pub bpf: Result<&'a Means, &'a EnableError>,
    /// The reason why function addresses are hidden.
    pub hidden: Option<String>,
    /// The places that cannot be traced because debug information is missing.
    pub undescribed: Option<&'static str>,
}

const PLACES: &str = "the kernel's functions (fbt, kinst, io:::done)";
const INSTRUCTIONS: &str = "instructions and inlined functions (kinst)";

/// Returns the verdict: a fault if nothing can be traced. Its second line is what the module would add.
pub(super) fn of(facts: &Facts) -> Finding {
    let (by, means) = match (facts.module, facts.bpf) {
        (Ok(()), _) => ("by the module".to_owned(), None),
        (Err(error), Ok(means)) if error.absence().is_some() => {
            ("by the kernel's BPF".to_owned(), Some(means))
        }
        // The module is present, so dtrace does without it only on request.
        (Err(error), Ok(means)) => (format!("but only with -x backend=bpf ({error})"), Some(means)),
        (Err(_), Err(_)) if !facts.root => return Finding::fault("tracing does not work: it needs root"),
        (Err(module), Err(bpf)) => {
            let text = module.to_string();
            let why = text.strip_prefix(Error::TITLE).unwrap_or(&text);
            let without = format!("without the module: {bpf}");
            return Finding::fault(format!("tracing does not work: {why}; {without}"));
        }
    };
    let missing = missing(facts, means);
    let found = match &missing {
        Some((what, why)) => format!("tracing works, {by}, except {what}: {why}"),
        None => format!("tracing works, {by}"),
    };
    let finding = if missing.is_some() { Finding::warning(found) } else { Finding::good(found) };
    let Some(absence) = facts.module.err().and_then(Error::absence) else { return finding };
    let by_means = means.and_then(lacking).is_some() && facts.hidden.is_none();
    let more = if by_means { "would trace them too" } else { "would count every hit" };
    finding.then(format!("the module {more}: {absence}"))
}

/// Returns the first group of places that cannot be traced, and the reason.
fn missing(facts: &Facts, means: Option<&Means>) -> Option<(&'static str, String)> {
    let hidden = facts.hidden.clone().map(|why| (PLACES, why));
    let undescribed =
        || Some((facts.undescribed?, "the kernel's debug information is not installed".to_owned()));
    hidden.or_else(|| means.and_then(lacking)).or_else(undescribed)
}

/// Returns the places that BPF cannot trace on this machine, and the reason.
fn lacking(means: &Means) -> Option<(&'static str, String)> {
    let why = means.kprobes.as_ref().err()?.to_string();
    let functions = means.fentry().is_ok() || means.multi.is_ok();
    Some((if functions { INSTRUCTIONS } else { PLACES }, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::bpf::MeansError;
    use crate::cli::doctor::finding::State;
    use kinst_host::module::Explained;

    fn means(kprobes: bool, fentry: bool) -> Means {
        let is = |there: bool, why| if there { Ok(()) } else { Err(why) };
        Means::new(
            is(kprobes, MeansError::NoTracefs),
            is(false, MeansError::NoMulti),
            is(fentry, MeansError::Namespace),
        )
    }

    fn unloadable() -> Error {
        let why = "it is not built for this kernel: no kinst.ko".to_owned();
        Error::Unloadable(Explained { why, short: "it is not built", mend: None, reboot: false })
    }

    fn text(finding: &Finding) -> String {
        [Some(&finding.found), finding.then.as_ref()]
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>()
            .join("; ")
    }

    #[test]
    fn one_verdict_for_each_way() {
        let (absent, other) = (unloadable(), Error::Abi { ours: 1, theirs: 2 });
        let (all, entries, none) = (means(true, true), means(false, true), means(false, false));
        let facts = |module, bpf| Facts { root: true, module, bpf, hidden: None, undescribed: None };
        let no_bpf = EnableError::NoBpf;
        let cases = [
            (facts(Ok(()), Ok(&all)), State::Good, "tracing works, by the module"),
            (facts(Ok(()), Err(&no_bpf)), State::Good, "tracing works, by the module"),
            (
                facts(Err(&absent), Ok(&all)),
                State::Good,
                "tracing works, by the kernel's BPF; the module would count every hit: it is not built",
            ),
            (
                facts(Err(&absent), Ok(&entries)),
                State::Warning,
                "tracing works, by the kernel's BPF, except instructions and inlined functions (kinst): tracefs is \
                 not mounted; the module would trace them too: it is not built",
            ),
            (
                facts(Err(&absent), Ok(&none)),
                State::Warning,
                "tracing works, by the kernel's BPF, except the kernel's functions (fbt, kinst, io:::done): \
                 tracefs is not mounted; the module would trace them too: it is not built",
            ),
            (
                Facts { undescribed: Some("variables"), ..facts(Ok(()), Ok(&all)) },
                State::Warning,
                "tracing works, by the module, except variables: the kernel's debug information is not installed",
            ),
            (
                Facts { hidden: Some("zeros".to_owned()), ..facts(Err(&absent), Ok(&none)) },
                State::Warning,
                "tracing works, by the kernel's BPF, except the kernel's functions (fbt, kinst, io:::done): zeros; \
                 the module would count every hit: it is not built",
            ),
            (
                facts(Err(&absent), Err(&no_bpf)),
                State::Fault,
                "tracing does not work: the kernel module kinst cannot be loaded: it is not built for this kernel: \
                  no kinst.ko; without the module: the kernel cannot run BPF programs: it has no \
                  bpf() system call",
            ),
            (
                Facts { root: false, ..facts(Err(&Error::NotRoot), Err(&no_bpf)) },
                State::Fault,
                "tracing does not work: it needs root",
            ),
        ];
        for (facts, state, expected) in cases {
            let finding = of(&facts);
            assert_eq!((finding.state, text(&finding).as_str()), (state, expected));
        }
        let by_option = of(&facts(Err(&other), Ok(&all)));
        assert!(
            by_option.found.starts_with("tracing works, but only with -x backend=bpf (this dtrace is older")
        );
        assert_eq!(by_option.then, None);
    }
}
