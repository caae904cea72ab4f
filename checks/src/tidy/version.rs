//! The version: DKMS stores the module under the version in Cargo.toml.

use super::{Finding, Source};

const CARGO: &str = "Cargo.toml";
const DKMS: &str = "kmod/dkms.conf";

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let line = |path: &str, key: &str| {
        let source = sources.iter().find(|source| source.path == path)?;
        let (at, value) =
            source.text.lines().enumerate().find_map(|(at, line)| Some((at + 1, line.strip_prefix(key)?)))?;
        Some((source, at, value.trim_matches('"').to_owned()))
    };
    let Some((_, _, wanted)) = line(CARGO, "version = ") else { return Vec::new() };
    match line(DKMS, "PACKAGE_VERSION=") {
        Some((_, _, found)) if found == wanted => Vec::new(),
        Some((dkms, at, found)) => {
            vec![dkms.finding(at, format!("the version is {found}, but {wanted} in {CARGO}"))]
        }
        None => {
            vec![Finding { path: DKMS.into(), line: 1, message: "no PACKAGE_VERSION".into() }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_found() {
        let with = |version: &str| {
            let cargo = Source { path: CARGO.into(), text: "[package]\nversion = \"1.2.3\"\n".into() };
            let dkms =
                Source { path: DKMS.into(), text: format!("A=\"x\"\nPACKAGE_VERSION=\"{version}\"\n") };
            check(&[cargo, dkms]).into_iter().map(|f| f.message).collect::<Vec<_>>()
        };
        assert_eq!(with("1.2.3"), [""; 0]);
        assert_eq!(with("1.2.4"), ["the version is 1.2.4, but 1.2.3 in Cargo.toml"]);
    }
}
