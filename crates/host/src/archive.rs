//! host/archive.rs: the packages in the distribution's archive, from the lists on this machine, without network.

use super::distribution::{Family, Part};
use std::process::{Command, Stdio};

/// The command that installs a part for the kernel of this release; `None` if no package of the archive
/// contains it.
pub fn install(family: Family, part: Part, release: &str) -> Option<String> {
    let (command, package) = family.package(part, release)?;
    has(family, &package).then_some(command)
}

/// Whether the package manager lists the package; `false` if the package manager or its lists are missing.
pub(super) fn has(family: Family, package: &str) -> bool {
    let Some((program, arguments)) = query(family, package) else { return false };
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null());
    command.output().is_ok_and(|output| lists(family, package, &String::from_utf8_lossy(&output.stdout)))
}

/// A command that reads the package lists as last fetched, and fetches none.
fn query(family: Family, package: &str) -> Option<(&'static str, Vec<&str>)> {
    Some(match family {
        Family::Debian | Family::Ubuntu => ("apt-cache", vec!["policy", package]),
        Family::Fedora => {
            ("dnf", vec!["-q", "-C", "--enablerepo=*debuginfo*", "repoquery", "--available", package])
        }
        Family::Arch => ("pacman", vec!["-Si", package]),
        Family::Suse => {
            let name = package.split('=').next().unwrap_or(package);
            let search = ["--non-interactive", "--no-refresh", "search", "--details", "--match-exact"];
            ("zypper", [&search[..], &[name]].concat())
        }
        Family::Unknown => return None,
    })
}

/// Whether the output of that command contains the package.
fn lists(family: Family, package: &str, said: &str) -> bool {
    let mut lines = said.lines();
    match family {
        // A package that only other packages refer to has the candidate (none); an unknown one has no lines.
        Family::Debian | Family::Ubuntu => {
            let candidate = lines.find_map(|line| line.trim_start().strip_prefix("Candidate: "));
            candidate.is_some_and(|version| version.trim() != "(none)")
        }
        // name-epoch:version-release.arch
        Family::Fedora => lines.any(|line| match line.split_once(':') {
            Some((before, after)) => {
                let name = before.trim_end_matches(|c: char| c.is_ascii_digit());
                format!("{name}{after}").starts_with(package)
            }
            None => line.starts_with(package),
        }),
        Family::Arch => {
            lines.any(|line| line.split_once(':').is_some_and(|(key, _)| key.trim_end() == "Name"))
        }
        Family::Suse => {
            let (name, wanted) = package.split_once('=').unwrap_or((package, ""));
            lines.any(|line| {
                let mut columns = line.split('|').map(str::trim).skip(1);
                columns.next() == Some(name)
                    && columns.nth(1).is_some_and(|version| version.starts_with(wanted))
            })
        }
        Family::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apt_has_a_candidate() {
        let there = "linux-headers-amd64:\n  Installed: (none)\n  Candidate: 6.1.172-1\n  Version table:\n     6.1.172-1 500\n";
        let named = "mail-transport-agent:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n";
        for (said, expected) in [(there, true), (named, false), ("", false)] {
            assert_eq!(lists(Family::Debian, "linux-headers-amd64", said), expected, "{said}");
            assert_eq!(lists(Family::Ubuntu, "linux-headers-amd64", said), expected, "{said}");
        }
    }

    #[test]
    fn dnf_prints_the_package() {
        let devel = "kernel-devel-6.9.7-200.fc40.x86_64";
        assert!(lists(Family::Fedora, devel, "kernel-devel-0:6.9.7-200.fc40.x86_64\n"));
        assert!(!lists(Family::Fedora, devel, "kernel-devel-0:6.10.3-200.fc40.x86_64\n"));
        assert!(lists(Family::Fedora, "mokutil", "mokutil-2:0.7.1-1.fc40.x86_64\n"));
        assert!(!lists(Family::Fedora, "mokutil", ""));
    }

    #[test]
    fn pacman_describes_it() {
        let said =
            "Repository      : core\nName            : linux-headers\nVersion         : 6.12.8.arch1-1\n";
        assert!(lists(Family::Arch, "linux-headers", said));
        assert!(!lists(Family::Arch, "linux-headers", ""));
    }

    #[test]
    fn zypper_has_a_row_for_each_version() {
        let said = "Loading repository data...\nReading installed packages...\n\n\
            S | Name                 | Type    | Version             | Arch   | Repository\n\
            --+----------------------+---------+---------------------+--------+-----------\n\
            v | kernel-default-devel | package | 6.4.0-150600.21.3   | x86_64 | Main\n";
        assert!(lists(Family::Suse, "kernel-default-devel=6.4.0-150600.21", said));
        assert!(lists(Family::Suse, "kernel-default-devel", said));
        assert!(!lists(Family::Suse, "kernel-default-devel=6.4.0-150600.23", said));
        assert!(!lists(Family::Suse, "mokutil", "No matching items found.\n"));
    }

    #[test]
    fn without_the_command_no_package_is_there() {
        assert!(!has(Family::Unknown, "kinst"));
        assert!(!has(Family::Debian, "no-package-has-this-name"));
    }
}
