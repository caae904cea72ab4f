//! host/distribution.rs: the distribution, from os-release, and its commands that install missing parts.

/// Distributions with known commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Debian, Raspberry Pi OS, Kali: apt.
    Debian,
    /// Ubuntu, Linux Mint, Pop!_OS: apt, with different package names.
    Ubuntu,
    /// Fedora, RHEL and its rebuilds: dnf.
    Fedora,
    /// Arch, Manjaro: pacman.
    Arch,
    /// openSUSE, SLES: zypper.
    Suse,
    /// Any other distribution, without known commands.
    Unknown,
}

/// A part that can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// This project's command.
    Tool,
    /// The kernel module, as source that DKMS builds.
    Module,
    /// The kernel's headers, with which DKMS builds modules.
    Headers,
    /// The kernel's debug information.
    DebugInformation,
    /// The command modprobe.
    Modprobe,
    /// The command debuginfod-find.
    Debuginfod,
    /// The command mokutil, which enrolls the keys of modules.
    Mokutil,
}

impl Family {
    /// The distribution of the running system.
    pub fn running() -> Family {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        Family::of(&read("/etc/os-release").or_else(|| read("/usr/lib/os-release")).unwrap_or_default())
    }

    /// Parses /etc/os-release: ID, or else the first known word of ID_LIKE.
    pub fn of(os_release: &str) -> Family {
        let value = |key: &str| {
            let value = os_release.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
            value.unwrap_or("").trim_matches(['"', '\''])
        };
        let words = value("ID").split_whitespace().chain(value("ID_LIKE").split_whitespace());
        words.map(named).find(|family| *family != Family::Unknown).unwrap_or(Family::Unknown)
    }

    /// Whether a kernel of this release can be from one of the distribution's packages, judging by its name.
    pub fn has_kernel(self, release: &str) -> bool {
        let ends = |words: &[&str]| words.iter().any(|word| release.ends_with(word));
        match self {
            // 6.1.0-44-amd64, 6.12.118+deb13-cloud-amd64, 6.1.0-0.deb11.28-rt-arm64, 6.18.12+kali-amd64
            Family::Debian => ends(&[
                "-amd64",
                "-arm64",
                "-686",
                "-686-pae",
                "-armmp",
                "-armmp-lpae",
                "-powerpc64le",
                "-riscv64",
                "-s390x",
                "-arm64-16k",
                "-v7",
                "-v8",
                "-2712",
            ]),
            // 6.8.0-31-generic: the version, the build number, the flavour.
            Family::Ubuntu => {
                let mut parts = release.splitn(3, '-');
                let version = parts.next().is_some_and(|version| version.split('.').count() == 3);
                let build = parts.next().unwrap_or_default();
                let flavour = parts.next().unwrap_or_default();
                let is_word = |word: &str| word.starts_with(|c: char| c.is_ascii_lowercase());
                version && !build.is_empty() && build.bytes().all(|c| c.is_ascii_digit()) && is_word(flavour)
            }
            Family::Fedora => [".fc", ".el", ".amzn", ".eln"].iter().any(|dist| release.contains(dist)),
            Family::Arch => {
                release.contains("-arch") || ends(&["-lts", "-zen", "-hardened", "-rt", "-MANJARO"])
            }
            Family::Suse => ends(&[
                "-default",
                "-preempt",
                "-azure",
                "-rt",
                "-kvmsmall",
                "-debug",
                "-vanilla",
                "-64kb",
                "-longterm",
            ]),
            Family::Unknown => false,
        }
    }

    /// The command that installs a part, and the package that contains it, by the distribution's naming
    /// rules.
    pub fn package(self, part: Part, release: &str) -> Option<(String, String)> {
        if matches!(part, Part::Headers | Part::DebugInformation) && !self.has_kernel(release) {
            return None;
        }
        let package = match self {
            Family::Debian | Family::Ubuntu => debian(part, release, self == Family::Ubuntu),
            Family::Fedora if part == Part::DebugInformation => {
                let command = format!("dnf debuginfo-install -y kernel-core-{release}");
                return Some((command, format!("kernel-debuginfo-{release}")));
            }
            Family::Fedora => fedora(part, release),
            // Not in any package: the distribution's servers have it, and this file configures them.
            Family::Arch if part == Part::DebugInformation => {
                let command = "pacman -S --noconfirm debuginfod && . /etc/profile.d/debuginfod.sh";
                return Some((command.to_owned(), "debuginfod".to_owned()));
            }
            Family::Arch => arch(part, release)?,
            Family::Suse => suse(part, release),
            Family::Unknown => return None,
        };
        let command = match self {
            Family::Debian | Family::Ubuntu => "apt install -y",
            Family::Fedora => "dnf install -y",
            Family::Arch => "pacman -S --noconfirm",
            Family::Suse | Family::Unknown => "zypper install -y",
        };
        Some((format!("{command} {package}"), package))
    }

    /// The commands that remove a parameter from the kernel's command line, without the required reboot.
    pub fn remove_parameter(self, name: &str) -> Option<String> {
        let edit = format!("sed -i 's/ *{name}=[^ \"]*//' /etc/default/grub");
        match self {
            Family::Debian | Family::Ubuntu => Some(format!("{edit} && update-grub")),
            Family::Fedora => Some(format!("grubby --update-kernel=ALL --remove-args={name}")),
            Family::Arch => Some(format!("{edit} && grub-mkconfig -o /boot/grub/grub.cfg")),
            Family::Suse => Some(format!("{edit} && update-bootloader")),
            Family::Unknown => None,
        }
    }
}

fn named(id: &str) -> Family {
    match id {
        "debian" | "raspbian" | "kali" => Family::Debian,
        "ubuntu" | "linuxmint" | "pop" => Family::Ubuntu,
        "fedora" | "rhel" | "centos" | "rocky" | "almalinux" => Family::Fedora,
        "arch" | "archlinux" | "manjaro" => Family::Arch,
        "suse" | "opensuse" | "opensuse-leap" | "opensuse-tumbleweed" | "sles" => Family::Suse,
        _ => Family::Unknown,
    }
}

fn debian(part: Part, release: &str, ubuntu: bool) -> String {
    match part {
        Part::Tool => "kinst".to_owned(),
        Part::Module => "kinst-dkms".to_owned(),
        Part::Headers => format!("linux-headers-{release}"),
        Part::DebugInformation => format!("linux-image-{release}-dbg{}", if ubuntu { "sym" } else { "" }),
        Part::Modprobe => "kmod".to_owned(),
        Part::Debuginfod => "debuginfod".to_owned(),
        Part::Mokutil => "mokutil".to_owned(),
    }
}

fn fedora(part: Part, release: &str) -> String {
    match part {
        Part::Headers => format!("kernel-devel-{release}"),
        Part::Debuginfod => "elfutils-debuginfod-client".to_owned(),
        part => debian(part, release, false),
    }
}

/// Each of Arch's kernels is a package whose name ends the kernel's release; the usual one is `linux`.
fn arch(part: Part, release: &str) -> Option<String> {
    let flavour = ["lts", "zen", "hardened"].into_iter().find(|flavour| release.ends_with(flavour));
    let kernel = flavour.map_or_else(|| "linux".to_owned(), |flavour| format!("linux-{flavour}"));
    match part {
        Part::Tool | Part::Module => None,
        Part::Headers => Some(format!("{kernel}-headers")),
        part => Some(debian(part, release, false)),
    }
}

/// A release of openSUSE ends with the flavour: `6.4.0-150600.21-default`.
fn suse(part: Part, release: &str) -> String {
    let (version, flavour) = release.rsplit_once('-').unwrap_or((release, "default"));
    match part {
        Part::Headers => format!("kernel-{flavour}-devel={version}"),
        Part::DebugInformation => format!("kernel-{flavour}-debuginfo={version}"),
        Part::Debuginfod => "debuginfod-client".to_owned(),
        part => debian(part, release, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_by_id_then_by_likeness() {
        let of = Family::of;
        assert_eq!(of("NAME=\"Debian GNU/Linux\"\nID=debian\n"), Family::Debian);
        assert_eq!(of("ID=ubuntu\nID_LIKE=debian\n"), Family::Ubuntu);
        assert_eq!(of("ID=neon\nID_LIKE=\"ubuntu debian\"\n"), Family::Ubuntu);
        assert_eq!(of("ID='rocky'\nID_LIKE=\"rhel centos fedora\"\n"), Family::Fedora);
        assert_eq!(of("ID=endeavouros\nID_LIKE=arch\n"), Family::Arch);
        assert_eq!(of("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n"), Family::Suse);
        assert_eq!(of("ID=nixos\n"), Family::Unknown);
        assert_eq!(of(""), Family::Unknown);
        assert_eq!(of("VERSION_ID=12\nID"), Family::Unknown);
    }

    #[test]
    fn packages_have_the_names_of_the_distribution() {
        let install = |family: Family, part, release| family.package(part, release).unwrap_or_default().0;
        let debian = "6.1.0-44-amd64";
        assert_eq!(
            install(Family::Debian, Part::DebugInformation, debian),
            "apt install -y linux-image-6.1.0-44-amd64-dbg"
        );
        assert_eq!(
            install(Family::Ubuntu, Part::DebugInformation, "6.8.0-31-generic"),
            "apt install -y linux-image-6.8.0-31-generic-dbgsym"
        );
        let fedora = "6.9.7-200.fc40.x86_64";
        assert_eq!(
            install(Family::Fedora, Part::Headers, fedora),
            "dnf install -y kernel-devel-6.9.7-200.fc40.x86_64"
        );
        assert_eq!(
            install(Family::Fedora, Part::DebugInformation, fedora),
            "dnf debuginfo-install -y kernel-core-6.9.7-200.fc40.x86_64"
        );
        assert_eq!(
            install(Family::Arch, Part::Headers, "6.6.36-1-lts"),
            "pacman -S --noconfirm linux-lts-headers"
        );
        assert_eq!(
            install(Family::Suse, Part::Headers, "6.4.0-150600.21-default"),
            "zypper install -y kernel-default-devel=6.4.0-150600.21"
        );
        assert_eq!(Family::Arch.package(Part::Module, "6.9"), None);
        // A kernel that the user built, or the kernel of a container's host, is in no package.
        for family in [Family::Debian, Family::Ubuntu, Family::Fedora, Family::Arch, Family::Suse] {
            for release in ["6.18.44-fc-v669", "6.9.0", "6.9.0-rc3+", "5.15.167.4-microsoft-standard-WSL2"] {
                assert_eq!(family.package(Part::Headers, release), None, "{family:?} {release}");
                assert_eq!(family.package(Part::DebugInformation, release), None, "{family:?} {release}");
            }
        }
        assert!(Family::Debian.has_kernel("6.12.118+deb13-cloud-amd64"));
        assert!(Family::Fedora.has_kernel("6.1.102-108.177.amzn2023.x86_64"));
        assert!(Family::Arch.has_kernel("6.12.8-arch1-1") && !Family::Arch.has_kernel("6.12.8"));
        assert_eq!(Family::Unknown.package(Part::Headers, "6.9"), None);
    }
}
