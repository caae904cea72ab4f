//! The places of a program's probes, and kinst's remarks on them: places of copies that may not be exact, and places
//! that were refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::calls::Pair;
use super::instrumented::Instrumented;
use crate::kernels::Kernel;
use crate::vm::programs;
use crate::{exec, steps};

/// The reason why a pair is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    /// A copy of the function, in this caller or another one, shares an exit with another copy (from -v): one return
    /// for both. Determined only for functions that differ.
    Shared,
    /// A copy of it may not be counted exactly (from -v and inlinecall).
    Inexact,
    /// A place of it was refused (from dtrace's messages).
    Refused,
}

/// The answers of dtrace about a program that is not run.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The places (`kinst::f:7`) with the functions that are counted there.
    counted: Vec<(String, String)>,
    /// The functions with copies that share an exit.
    shared: BTreeSet<String>,
}

impl Places {
    /// The places of a program. -v is slow for each place, so its remarks come from a second program with only the
    /// functions that differ, if any do.
    pub(super) fn of(
        dtrace: &Path,
        kernel: &Kernel,
        program: &Path,
        differing: Option<&Path>,
    ) -> Result<Places> {
        let (out, _) = Places::said(dtrace, kernel, &["-d"], program)?;
        let remarks = match differing {
            Some(differing) => Places::said(dtrace, kernel, &["-v"], differing)?.1,
            None => String::new(),
        };
        Ok(Places { counted: Places::expanded(&out), shared: shared(&remarks) })
    }

    /// The standard output and the remarks of dtrace for a program.
    fn said(dtrace: &Path, kernel: &Kernel, options: &[&str], program: &Path) -> Result<(String, String)> {
        let mut command = kernel.dtrace(dtrace, &programs::indices(kernel)?)?;
        let said = exec::captured(command.args(["-Z", "-e"]).args(options).arg("-s").arg(program))?;
        let remarks = String::from_utf8_lossy(&said.stderr);
        if !said.status.success() {
            bail!("{remarks}");
        }
        Ok((String::from_utf8_lossy(&said.stdout).into_owned(), remarks.into_owned()))
    }

    /// The places of a program, from the output of -d.
    fn expanded(text: &str) -> Vec<(String, String)> {
        let mut places = Vec::new();
        let mut waiting = Vec::new();
        for line in text.lines() {
            if line.starts_with("kinst:") || line.starts_with("fbt:") {
                waiting.push(line.trim_end_matches(',').to_owned());
            } else if let Some((_, function)) = line.split_once("[\"")
                && let Some((function, _)) = function.split_once('"')
            {
                places.extend(waiting.drain(..).map(|place| (place, function.to_owned())));
            }
        }
        places
    }

    /// The pairs with a place of copies that are not exact, or that was refused.
    pub(super) fn left(
        &self,
        code: &Instrumented,
        inexact: &BTreeSet<String>,
        refused: &BTreeSet<String>,
    ) -> BTreeMap<Pair, Left> {
        let mut left = BTreeMap::new();
        for (place, function) in &self.counted {
            let mut words = place.splitn(4, ':');
            let (Some(caller), Some(name)) = (words.nth(2), words.next()) else { continue };
            // inlinecall does not number functions of one name.
            let plain = caller.split('#').next().unwrap_or(caller);
            if refused.contains(place) {
                left.insert(code.pair(function, caller), Left::Refused);
            } else if inexact.contains(&format!("kinst::{plain}:{name}")) {
                let why = left.entry(code.pair(function, caller)).or_insert(Left::Inexact);
                *why = Left::Inexact.max(*why);
            } else if self.shared.contains(function) {
                left.entry(code.pair(function, caller)).or_insert(Left::Shared);
            }
        }
        left
    }
}

/// Functions with shared exits, from remarks like this:
/// `dtrace: vmlinux: f: 1 exits of inlined copies are shared with another one: …`.
fn shared(remarks: &str) -> BTreeSet<String> {
    let of = |line: &str| Some(line.split_once(" exits of ")?.0.rsplit(": ").nth(1)?.to_owned());
    let lines = remarks.lines().filter(|line| line.contains(" are shared with another one"));
    lines.filter_map(of).collect()
}

/// The entries and returns of the copies that inlinecall reports as not exact.
pub(super) fn inexact(inlinecall: &Path, vmlinux: &Path) -> Result<BTreeSet<String>> {
    let mut command = Command::new(inlinecall);
    let text = steps::step("the inlined copies that are not exact", |_| {
        exec::output(command.arg("--json").arg("*").arg(vmlinux))
    })?;
    let mut places = BTreeSet::new();
    for line in text.lines() {
        let copy: Value = serde_json::from_str(line).with_context(|| format!("not a JSON object: {line}"))?;
        if copy["exact"] == true {
            continue;
        }
        let lists = [&copy["entries"], &copy["returns"]];
        places.extend(lists.iter().filter_map(|list| list.as_array()).flatten().filter_map(probe));
    }
    Ok(places)
}

/// A boundary of a copy as a probe: an instruction or an edge.
fn probe(boundary: &Value) -> Option<String> {
    let caller = boundary["caller"].as_str()?;
    let offset = boundary["offset"].as_u64()?;
    let to = boundary["to"]["offset"].as_u64().map_or(String::new(), |to| format!("-{to}"));
    Some(format!("kinst::{caller}:{offset}{to}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_place_is_of_the_function_that_is_counted_there() {
        let text = "kinst::g#3:12,\nkinst::h.cold:3-9\n{\n\t@e[\"f\", probefunc] = count();\n}\nfbt::e:entry\n{\n\t@e[\"e\"] = count();\n}\n";
        let places = Places { counted: Places::expanded(text), ..Places::default() };
        let code = Instrumented::default();
        let set = |place: &str| BTreeSet::from([place.to_owned()]);
        let left = places.left(&code, &set("kinst::g:12"), &set("kinst::h.cold:3-9"));
        let pair = |caller| code.pair("f", caller);
        assert_eq!(left, BTreeMap::from([(pair("g"), Left::Inexact), (pair("h"), Left::Refused)]));
    }

    #[test]
    fn a_remark_is_of_a_function() {
        let remark = "dtrace: vmlinux: f: 2 exits of inlined copies are shared with another one: return\n";
        assert_eq!(shared(remark), BTreeSet::from(["f".to_owned()]));
    }

    #[test]
    fn a_boundary_may_be_an_edge() {
        let boundary = json!({ "caller": "f", "offset": 5, "to": { "caller": "f", "offset": 9 } });
        assert_eq!(probe(&boundary).as_deref(), Some("kinst::f:5-9"));
    }
}
