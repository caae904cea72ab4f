//! host/programs.rs: the packages with the debug information of installed programs, from the package manager's files.

use super::archive;
use super::distribution::Family;
use std::path::Path;
use std::process::{Command, Stdio};

/// The package that has a program's debug information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugPackage {
    /// Name, with the version where the package manager takes it.
    pub name: String,
    /// Command that installs it; `None` if no archive on this machine lists it.
    pub command: Option<String>,
}

impl Family {
    /// The package with the debug information of an installed file; `None` if the package manager has no package for it,
    /// or if the distribution has no such packages.
    pub fn debug_package(self, file: &Path) -> Option<DebugPackage> {
        match self {
            Family::Debian | Family::Ubuntu => {
                let found = merged(file).into_iter().find_map(|path| output("dpkg", &["-S", "--", &path]));
                let package = owner(&found?)?;
                let version = output("dpkg-query", &["-W", "-f", "${Version}", &package])?;
                Some(self.of_debian(&package, version.trim(), |name| archive::has(self, name)))
            }
            Family::Fedora => {
                let name = rpm(file, "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}")?;
                let command = Some(format!("dnf debuginfo-install -y {name}"));
                Some(DebugPackage { name: name.clone(), command })
            }
            Family::Suse => {
                let name = format!("{}-debuginfo", rpm(file, "%{NAME}")?);
                let command = Some(format!("zypper install -y {name}"));
                Some(DebugPackage { name, command })
            }
            Family::Arch | Family::Unknown => None,
        }
    }

    /// `lists`: whether an archive on this machine has a package.
    fn of_debian(self, package: &str, version: &str, lists: impl Fn(&str) -> bool) -> DebugPackage {
        let plain = package.split(':').next().unwrap_or(package);
        let old = format!("{plain}-dbg");
        let name = if lists(&old) { old } else { format!("{plain}-dbgsym") };
        let name = format!("{name}={version}");
        let command =
            lists(name.split('=').next().unwrap_or(&name)).then(|| format!("apt install -y {name}"));
        DebugPackage { name, command }
    }
}

/// The paths by which a package may have a file: in /usr, or in the directory that is now a link to it.
fn merged(file: &Path) -> Vec<String> {
    let path = file.to_string_lossy().into_owned();
    let other = match path.strip_prefix("/usr") {
        Some(rest) => rest.to_owned(),
        None => format!("/usr{path}"),
    };
    vec![path, other]
}

/// The package in the output of `dpkg -S`: `libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6`.
fn owner(said: &str) -> Option<String> {
    let line = said.lines().find(|line| !line.starts_with("diversion by "))?;
    let (packages, _) = line.split_once(": ")?;
    packages.split(", ").next().map(str::to_owned)
}

fn rpm(file: &Path, format: &str) -> Option<String> {
    let said = output("rpm", &["-qf", "--qf", &format!("{format}\n"), "--", &file.to_string_lossy()])?;
    said.lines().next().map(str::to_owned)
}

/// The output of a command that succeeds.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dpkg_names_the_package() {
        assert_eq!(owner("libc6:amd64: /lib/libc.so.6\n").as_deref(), Some("libc6:amd64"));
        assert_eq!(owner("a, b: /usr/share/x\n").as_deref(), Some("a"));
        let diverted =
            "diversion by dash from: /bin/sh\ndiversion by dash to: /bin/sh.distrib\ndash: /bin/sh\n";
        assert_eq!(owner(diverted).as_deref(), Some("dash"));
        assert_eq!(owner(""), None);
    }

    #[test]
    fn names_of_debian() {
        let of =
            |lists: &[&str]| Family::Debian.of_debian("libc6:amd64", "2.36-9", |name| lists.contains(&name));
        assert_eq!(of(&[]), DebugPackage { name: "libc6-dbgsym=2.36-9".to_owned(), command: None });
        assert_eq!(of(&["libc6-dbg"]).command.as_deref(), Some("apt install -y libc6-dbg=2.36-9"));
        assert_eq!(of(&["libc6-dbgsym"]).command.as_deref(), Some("apt install -y libc6-dbgsym=2.36-9"));
    }

    #[test]
    fn both_paths_of_a_merged_directory() {
        assert_eq!(merged(Path::new("/usr/bin/sh")), ["/usr/bin/sh", "/bin/sh"]);
        assert_eq!(merged(Path::new("/lib/x")), ["/lib/x", "/usr/lib/x"]);
    }

    #[test]
    fn a_file_of_this_machine() {
        // Asked of the package manager itself, where there is one.
        let Some(said) = output("dpkg", &["-S", "/usr/bin/dpkg"]) else { return };
        assert!(said.starts_with("dpkg: "));
        let found = Family::Debian.debug_package(Path::new("/usr/bin/dpkg")).expect("a package");
        assert!(found.name.starts_with("dpkg-dbgsym=1."), "{found:?}");
        assert_eq!(Family::Debian.debug_package(Path::new("/nowhere/x")), None);
    }
}
