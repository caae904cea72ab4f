//! host/module.rs: the kernel module's file, loading it with modprobe, and why that fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::archive;
use super::distribution::{Family, Part};

/// The name of the module and of its package.
pub const NAME: &str = kinst_debuginfo::OWN_MODULE;

/// The end of a file signed by sign-file.
const SIGNED: &[u8] = b"~Module signature appended~\n";

/// The contents of a module file's own information section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Path of the .ko file, which may be compressed.
    pub path: PathBuf,
    /// The release that the module was built for.
    pub release: Option<String>,
    /// The version of its interface.
    pub abi: Option<u32>,
    /// Whether a signature is appended, by any key.
    pub signed: bool,
}

/// Why modprobe did not load the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// modprobe is not installed.
    NoModprobe,
    /// No file for this kernel.
    Missing,
    /// Its file was built for another kernel.
    OtherKernel,
    /// Its signature is missing, or its key is not in the kernel.
    Key,
    /// A setting or the lack of a capability forbids it.
    NotPermitted,
    /// A command in modprobe's configuration replaces loading.
    Configured(PathBuf),
    /// Another failure: the last line of modprobe's message, which may be empty.
    Other(String),
}

/// A refusal in words, and the command that fixes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Reason in words, without a full stop.
    pub why: String,
    /// The same, short enough for a notice of one line.
    pub short: &'static str,
    /// Command that fixes it; `None` if no command does.
    pub mend: Option<String>,
    /// Whether a reboot has to follow the command.
    pub reboot: bool,
}

/// The file that modprobe would load for the kernel of this release.
pub fn file(release: &str) -> Option<File> {
    let dir = Path::new("/lib/modules").join(release);
    let places = ["updates/dkms", "updates", "extra", "extra/dkms", "kernel/drivers/misc"];
    let paths = places.iter().flat_map(|place| {
        ["", ".xz", ".zst", ".gz"].map(|end| dir.join(place).join(format!("{NAME}.ko{end}")))
    });
    let path = paths.into_iter().find(|path| path.is_file())?;
    let bytes = kinst_debuginfo::read_file(&path).ok()?;
    Some(parse(path, &bytes))
}

fn parse(path: PathBuf, bytes: &[u8]) -> File {
    let info = |key: &str| {
        let key = key.as_bytes();
        let mut words = bytes.split(|byte| *byte == 0);
        words.find_map(|word| Some(String::from_utf8_lossy(word.strip_prefix(key)?).into_owned()))
    };
    let release = info("vermagic=").and_then(|magic| Some(magic.split_whitespace().next()?.to_owned()));
    let abi = info("abi=").and_then(|abi| abi.parse().ok());
    File { path, release, abi, signed: bytes.ends_with(SIGNED) }
}

/// Loads the module as `modprobe kinst` does.
pub fn load() -> Result<(), Refusal> {
    let mut command = Command::new("modprobe");
    command.arg(NAME).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Refusal::NoModprobe),
        Err(error) => return Err(Refusal::Other(kinst_os::io_text(&error))),
        Ok(output) => output,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && is_loaded() {
        return Ok(());
    }
    if let Some(path) = replaced_by() {
        return Err(Refusal::Configured(path));
    }
    Err(classify(&said))
}

/// Unloads the module.
pub fn unload() {
    let _ = Command::new("modprobe").args(["-r", NAME]).stdin(Stdio::null()).output();
}

/// Whether the module is loaded now.
pub fn is_loaded() -> bool {
    Path::new("/sys/module").join(NAME).exists()
}

/// The file of modprobe's configuration that replaces loading with a command.
pub fn replaced_by() -> Option<PathBuf> {
    let folders = ["/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"];
    let files = folders.iter().flat_map(std::fs::read_dir).flatten().flatten().map(|entry| entry.path());
    let replaces = |path: &PathBuf| std::fs::read_to_string(path).is_ok_and(|text| has_install_line(&text));
    files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "conf")).find(replaces)
}

fn has_install_line(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("install") && words.next() == Some(NAME)
    })
}

/// Classifies a message of modprobe (kmod's or busybox's) in the C locale.
pub fn classify(said: &str) -> Refusal {
    let last = said.trim().lines().last().unwrap_or_default();
    let has = |text: &str| said.contains(text);
    if has("not found") || has("No such file or directory") {
        return Refusal::Missing;
    }
    if has("Exec format error") || has("nvalid module format") {
        return Refusal::OtherKernel;
    }
    if has("Required key not available") || has("Key was rejected") || has("Key has") {
        return Refusal::Key;
    }
    if has("Operation not permitted") {
        return Refusal::NotPermitted;
    }
    Refusal::Other(last.strip_prefix("modprobe: ").unwrap_or(last).to_owned())
}

/// Explains the refusal, with the one command that fixes it on this machine.
pub fn explain(refusal: &Refusal, release: &str, family: Family) -> Explained {
    let install = |part| archive::install(family, part, release);
    let explained = |short, why: String, mend: Option<String>| Explained { why, short, mend, reboot: false };
    match refusal {
        Refusal::NoModprobe => explained(
            "modprobe is not installed",
            "modprobe, which loads it, is not installed".to_owned(),
            install(Part::Modprobe),
        ),
        Refusal::Missing => missing(release, family),
        Refusal::OtherKernel => {
            let file = file(release);
            let built = file.as_ref().and_then(|file| file.release.clone()).filter(|built| built != release);
            let path = file.map_or_else(|| format!("{NAME}.ko"), |file| file.path.display().to_string());
            let of = built.unwrap_or_else(|| "another build of this kernel".to_owned());
            let why = format!("{path} is built for {of}, not for {release}");
            explained("it is built for another kernel", why, Some(rebuild(release)))
        }
        Refusal::Key => unsigned(file(release).is_some_and(|file| file.signed), release),
        Refusal::NotPermitted => {
            let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
            let disabled = read("/proc/sys/kernel/modules_disabled").trim() == "1";
            let listed = read("/proc/cmdline").contains(&format!("module_blacklist={NAME}"));
            not_permitted(disabled, listed, family)
        }
        Refusal::Configured(path) => explained(
            "modprobe.d forbids loading it",
            format!("{} runs a command instead of loading it", path.display()),
            Some(format!("sed -i '/^ *install *{NAME} /d' {}", path.display())),
        ),
        Refusal::Other(said) if said.is_empty() => explained(
            "modprobe failed",
            "modprobe failed without a message".to_owned(),
            Some(format!("modprobe -v {NAME}")),
        ),
        Refusal::Other(said) => {
            explained("modprobe failed", format!("modprobe: {said}"), Some("dmesg | tail".to_owned()))
        }
    }
}

/// The first kernel that can have the module on arm64. Debian's 6.1 does not list the addresses of its data
/// (CONFIG_KALLSYMS_ALL), and other kernels before this one handle breakpoints in another way.
const FIRST_OF_ARM64: (u32, u32) = (6, 12);

/// Why a kernel of this machine cannot have the module, whatever is installed.
pub fn unsuitable(release: &str) -> Option<&'static str> {
    unsuitable_on(std::env::consts::ARCH, release)
}

fn unsuitable_on(machine: &str, release: &str) -> Option<&'static str> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|word| word.parse().ok());
    let version: (u32, u32) = (numbers.next()?, numbers.next()?);
    (machine == "aarch64" && version < FIRST_OF_ARM64).then_some("on arm64 it needs Linux 6.12 or later")
}

fn missing(release: &str, family: Family) -> Explained {
    if let Some(why) = unsuitable(release) {
        return Explained { why: why.to_owned(), short: why, mend: None, reboot: false };
    }
    let short = "it is not built for this kernel";
    let mut why = format!("{short}: no {NAME}.ko in /lib/modules/{release}");
    let has_source = Path::new("/var/lib/dkms").join(NAME).exists();
    let mend = match (has_source, has_headers(release)) {
        (true, true) => Some(format!("dkms autoinstall -k {release}")),
        (true, false) => {
            why += ", because DKMS had no headers to build it with";
            archive::install(family, Part::Headers, release)
        }
        // DKMS builds it with headers that are installed, or that a package provides.
        (false, true) => {
            let package = archive::install(family, Part::Module, release);
            package.or_else(|| Some("make -C kmod modules modules_install && depmod".to_owned()))
        }
        (false, false) if family.has_kernel(release) => archive::install(family, Part::Module, release),
        (false, false) => None,
    };
    Explained { why, short, mend, reboot: false }
}

/// Whether the headers of a kernel are installed: the link in its module directory leads to their Makefile.
pub fn has_headers(release: &str) -> bool {
    Path::new("/lib/modules").join(release).join("build/Makefile").exists()
}

/// The command that rebuilds the module, whatever is installed.
fn rebuild(release: &str) -> String {
    format!("dkms install --force {NAME}/{} -k {release}", env!("CARGO_PKG_VERSION"))
}

fn unsigned(signed: bool, release: &str) -> Explained {
    let (has, short) = match signed {
        true => ("is signed with a key that is not enrolled", "its key is not enrolled"),
        false => ("has no signature", "it is not signed"),
    };
    let why = format!("the kernel loads only modules with a valid signature, and {NAME}.ko {has}");
    let mend = match signed {
        true => "mokutil --import /var/lib/dkms/mok.pub".to_owned(),
        false => rebuild(release),
    };
    Explained { why, short, mend: Some(mend), reboot: signed }
}

fn not_permitted(disabled: bool, listed: bool, family: Family) -> Explained {
    let explained = |short, why: &str, mend, reboot| Explained { why: why.to_owned(), short, mend, reboot };
    if disabled {
        let why = "kernel.modules_disabled is 1, which only a reboot can undo";
        explained("kernel.modules_disabled is 1", why, None, true)
    } else if listed {
        let why = "module_blacklist= on the kernel's command line names it";
        explained("module_blacklist= names it", why, family.remove_parameter("module_blacklist"), true)
    } else {
        let why = "loading it needs CAP_SYS_MODULE";
        explained(why, why, Some("sudo dtrace doctor".to_owned()), false)
    }
}

/// All explanations of a module that is not loaded, for tests of messages.
pub fn explanations() -> Vec<Explained> {
    let (release, family) = ("6.12.118+deb13-cloud-amd64", Family::Unknown);
    let refusals = [
        Refusal::NoModprobe,
        Refusal::Missing,
        Refusal::OtherKernel,
        Refusal::Configured(PathBuf::from("/etc/modprobe.d/a-file-with-a-name-that-is-rather-long.conf")),
        Refusal::Other(String::new()),
        Refusal::Other("ERROR: could not insert 'kinst': Cannot allocate memory".repeat(10)),
    ];
    let explained = refusals.iter().map(|refusal| explain(refusal, release, family));
    let signatures = [true, false].map(|signed| unsigned(signed, release));
    let bans = [(true, false), (false, true), (false, false)];
    let bans = bans.map(|(disabled, listed)| not_permitted(disabled, listed, family));
    explained.chain(signatures).chain(bans).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_kmod_and_busybox() {
        let cases = [
            (
                "modprobe: FATAL: Module kinst not found in directory /lib/modules/6.1.0-44-amd64\n",
                Refusal::Missing,
            ),
            ("modprobe: module kinst not found in modules.dep\n", Refusal::Missing),
            (
                "modprobe: can't change directory to '6.1.0-44-amd64': No such file or directory\n",
                Refusal::Missing,
            ),
            ("modprobe: ERROR: could not insert 'kinst': Exec format error\n", Refusal::OtherKernel),
            (
                "modprobe: can't load module kinst (updates/kinst.ko): invalid module format\n",
                Refusal::OtherKernel,
            ),
            ("modprobe: ERROR: could not insert 'kinst': Required key not available\n", Refusal::Key),
            ("modprobe: ERROR: could not insert 'kinst': Key was rejected by service\n", Refusal::Key),
            ("modprobe: ERROR: could not insert 'kinst': Operation not permitted\n", Refusal::NotPermitted),
            (
                "modprobe: ERROR: could not insert 'kinst': Cannot allocate memory\n",
                Refusal::Other("ERROR: could not insert 'kinst': Cannot allocate memory".to_owned()),
            ),
            ("", Refusal::Other(String::new())),
        ];
        for (said, expected) in cases {
            assert_eq!(classify(said), expected, "{said}");
        }
    }

    #[test]
    fn a_file_says_what_it_was_built_for() {
        let bytes = b"\x7fELF\0abi=3\0name=kinst\0vermagic=6.1.0-44-amd64 SMP mod_unload \0rest";
        let file = parse(PathBuf::from("kinst.ko"), bytes);
        assert_eq!(
            (file.release.as_deref(), file.abi, file.signed),
            (Some("6.1.0-44-amd64"), Some(3), false)
        );
        let signed = [&bytes[..], SIGNED].concat();
        assert!(parse(PathBuf::from("kinst.ko"), &signed).signed);
        assert_eq!(parse(PathBuf::new(), b"abi=x\0vermagic="), File::default());
    }

    #[test]
    fn kernels_of_arm64_from_a_version_on() {
        for old in ["6.1.0-57-cloud-arm64", "5.10.0-39-arm64", "6.11", "6.9.7+"] {
            assert!(unsuitable_on("aarch64", old).is_some(), "{old}");
            assert_eq!(unsuitable_on("x86_64", old), None);
        }
        for new in ["6.12.118+deb13-cloud-arm64", "6.18.0", "7.3.4+deb13-cloud-arm64", "10.0", "custom"] {
            assert_eq!(unsuitable_on("aarch64", new), None, "{new}");
        }
    }

    #[test]
    fn a_command_in_the_place_of_loading() {
        assert!(has_install_line("# x\n install  kinst /bin/false\n"));
        assert!(!has_install_line("install kinst_next /bin/false\nblacklist kinst\n# install kinst x"));
    }
}
