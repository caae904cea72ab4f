//! The machine's own apt sources, in both notations, as mirrors for other suites.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The mirror from which this machine fetches one suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirror {
    uri: String,
    suite: String,
    /// The value of Signed-By, which may be a key of many lines.
    signed_by: Option<String>,
}

/// The code name of the Debian release that this machine runs.
pub(super) fn codename() -> Result<String> {
    host().context(
        "setup fetches kernels and QEMU with apt, and this is not a Debian release: bring your own kernel in \
         KINST_VMLINUZ, KINST_VMLINUX, KINST_MODULES and KINST_HEADERS, and QEMU 10 or newer and a static busybox \
         in PATH",
    )
}

/// The code name of the machine's release, if it is Debian.
pub(super) fn host() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let field = |name: &str| {
        let value = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix('='));
        value.map(|v| v.trim_matches('"').to_owned())
    };
    field("VERSION_CODENAME").filter(|_| field("ID").as_deref() == Some("debian"))
}

/// Every mirror that the machine's configuration names.
pub(super) fn machine() -> Result<Vec<Mirror>> {
    let mut mirrors = Vec::new();
    let mut files = vec![Path::new("/etc/apt/sources.list").to_path_buf()];
    if let Ok(parts) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(parts.flatten().map(|entry| entry.path()));
    }
    files.sort();
    for file in files.iter().filter(|f| f.is_file()) {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        match file.extension().and_then(|e| e.to_str()) {
            Some("list") => mirrors.extend(text.lines().filter_map(one_line).flatten()),
            Some("sources") => mirrors.extend(text.split("\n\n").flat_map(stanza)),
            _ => {}
        }
    }
    Ok(mirrors)
}

/// `deb [signed-by=FILE arch=…] URI SUITE COMPONENT…`
fn one_line(line: &str) -> Option<Vec<Mirror>> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_whitespace().find_map(|o| o.strip_prefix("signed-by="));
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    words
        .any(|component| component == "main")
        .then(|| vec![Mirror { uri: uri.into(), suite: suite.into(), signed_by: signed_by.map(Into::into) }])
}

/// One stanza of a `.sources` file: every suite on every URI.
fn stanza(text: &str) -> Vec<Mirror> {
    let fields = fields(text);
    let get =
        |name: &str| fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
    let words = |name: &str| get(name).unwrap_or("").split_whitespace();
    let off = get("Enabled").is_some_and(|v| v.trim() == "no");
    if off || !words("Types").any(|t| t == "deb") || !words("Components").any(|c| c == "main") {
        return Vec::new();
    }
    let signed_by = get("Signed-By").map(|v| v.trim().to_owned());
    let of_suite = |suite: &str| -> Vec<Mirror> {
        let of_uri =
            |uri: &str| Mirror { uri: uri.into(), suite: suite.into(), signed_by: signed_by.clone() };
        words("URIs").map(of_uri).collect()
    };
    words("Suites").flat_map(of_suite).collect()
}

/// The fields of a stanza; a line that starts with a blank continues the previous field.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().into(), value.trim().into()));
        }
    }
    fields
}

/// A private `.sources` file for `suites`: security suites from the machine's security mirror, all others from the
/// mirror of the machine's release, which serves every suite of the archive.
pub(super) fn stanzas(mirrors: &[Mirror], suites: &[String]) -> Result<String> {
    let mut text = String::new();
    for suite in suites {
        let same = |mirror: &&Mirror| mirror.suite == *suite;
        let alike = |mirror: &&Mirror| {
            is_of_debian(&mirror.suite) && is_security(&mirror.suite) == is_security(suite)
        };
        match mirrors.iter().find(same).or_else(|| mirrors.iter().find(alike)) {
            Some(m) => {
                text += &format!("Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\n", m.uri);
                if let Some(key) = &m.signed_by {
                    text += &format!("Signed-By: {key}\n");
                }
                text.push('\n');
            }
            // Without a security mirror, security suites are omitted.
            None if is_security(suite) => {}
            None => {
                bail!("/etc/apt names no mirror of Debian's archive, from which {suite} could be fetched")
            }
        }
    }
    Ok(text)
}

fn is_security(suite: &str) -> bool {
    suite.ends_with("-security")
}

/// Whether a suite is one of Debian's archive: its name begins with a release's name.
fn is_of_debian(suite: &str) -> bool {
    const NAMES: [&str; 7] = ["bookworm", "trixie", "forky", "oldstable", "stable", "testing", "sid"];
    NAMES.contains(&suite.split('-').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "Types: deb deb-src\n# a remark\nURIs: http://a.example/debian\nSuites: trixie trixie-updates\n\
                          Components: main contrib\nSigned-By:\n -----BEGIN\n .\n -----END\n";

    #[test]
    fn both_notations_name_the_mirror() {
        let list = "deb [arch=amd64 signed-by=/k.gpg] http://b.example/debian trixie main contrib";
        let mirror = one_line(list).unwrap().remove(0);
        assert_eq!((mirror.uri.as_str(), mirror.suite.as_str()), ("http://b.example/debian", "trixie"));
        assert_eq!(mirror.signed_by.as_deref(), Some("/k.gpg"));
        assert!(one_line("deb-src http://b.example/debian trixie main").is_none());

        let mirrors = stanza(DEB822);
        let suites: Vec<_> = mirrors.iter().map(|m| m.suite.as_str()).collect();
        assert_eq!(suites, ["trixie", "trixie-updates"]);
        assert_eq!(mirrors[0].signed_by.as_deref(), Some("-----BEGIN\n .\n -----END"));
    }

    #[test]
    fn other_suites_come_from_the_mirror_of_the_release() {
        let suites = ["bookworm".to_owned(), "bookworm-security".to_owned()];
        let text = stanzas(&stanza(DEB822), &suites).unwrap();
        assert!(text.contains("URIs: http://a.example/debian\nSuites: bookworm\n"), "{text}");
        assert!(!text.contains("security"), "{text}");
        assert!(stanzas(&[], &suites).is_err());
        let foreign = one_line("deb http://b.example/tool tool-bookworm main").unwrap();
        assert!(stanzas(&foreign, &suites).is_err());
    }

    #[test]
    fn security_suites_come_from_the_security_mirror() {
        let mut mirrors = stanza(DEB822);
        mirrors.extend(one_line("deb http://s.example/security bookworm-security main").unwrap());
        let text = stanzas(&mirrors, &["trixie-security".into(), "bookworm".into()]).unwrap();
        assert!(text.contains("URIs: http://s.example/security\nSuites: trixie-security\n"), "{text}");
        assert!(text.contains("URIs: http://a.example/debian\nSuites: bookworm\n"), "{text}");
    }
}
