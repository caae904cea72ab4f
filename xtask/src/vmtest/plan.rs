//! The plan of a run: cases that share a guest, and the order of guests.

use std::time::Duration;

use super::case::Case;

/// The most cases of a guest, so that the last guest does not run many while other processors are idle.
const MOST: usize = 24;

/// Groups of cases that can share a guest, each in the order of the files; the groups with the longest limits come
/// first.
pub(super) fn groups<'a>(cases: &[&'a Case]) -> Vec<Vec<&'a Case>> {
    let mut groups: Vec<Vec<&Case>> = Vec::new();
    for &case in cases {
        let shares = |group: &&mut Vec<&Case>| {
            let [first, ..] = group[..] else { return false };
            !case.own_boot && !first.own_boot && first.guest == case.guest && group.len() < MOST
        };
        match groups.iter_mut().find(shares) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(limits(group)));
    groups
}

fn limits(group: &[&Case]) -> Duration {
    group.iter().map(|case| case.timeout).sum()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vmtest::case::parse;

    #[test]
    fn a_guest_of_its_own_is_not_shared_and_long_ones_come_first() {
        let text = "run: true\ncase: a\ncase: b\nsmp: 4\ncase: c\nboot: own\ntimeout: 600\ncase: d\ncase: e\nboot: own\n";
        let cases = parse(Path::new("x.case"), text).expect("cases");
        let groups = groups(&cases.iter().collect::<Vec<_>>());
        let names: Vec<String> =
            groups.iter().map(|group| group.iter().map(|case| case.name.as_str()).collect()).collect();
        assert_eq!(names, ["c", "ad", "b", "e"]);
    }

    #[test]
    fn a_large_group_is_cut() {
        let text = format!("run: true\n{}", "case: x\n".repeat(MOST + 1));
        let cases = parse(Path::new("x.case"), &text).expect("cases");
        let groups = groups(&cases.iter().collect::<Vec<_>>());
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [MOST, 1]);
    }
}
