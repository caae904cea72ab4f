//! host/module.rs: the file of the kernel module, loading it with modprobe, and why that fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::distribution::{Family, Part};
use crate::debuginfo;
use crate::os;

/// The module's name, and that of its package.
pub const NAME: &str = debuginfo::OWN_MODULE;

/// The end of a file that sign-file has signed.
const SIGNED: &[u8] = b"~Module signature appended~\n";

/// What a module's file says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    pub path: PathBuf,
    /// The release that it was built for.
    pub release: Option<String>,
    /// The version of its interface.
    pub abi: Option<u32>,
    pub signed: bool,
}

/// Why modprobe did not load the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NoModprobe,
    /// There is no file for this kernel.
    Missing,
    /// Its file was built for another kernel.
    OtherKernel,
    /// Its signature is missing, or of a key that the kernel does not have.
    Key,
    /// A setting or the lack of a capability forbids it.
    NotPermitted,
    /// A command of modprobe's configuration takes the place of loading.
    Configured(PathBuf),
    Other(String),
}

/// A refusal in words, and the command that mends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub why: String,
    pub mend: Option<String>,
    /// Whether a reboot has to follow the command.
    pub reboot: bool,
}

/// The file that modprobe would take for the kernel of this release.
pub fn file(release: &str) -> Option<File> {
    let dir = Path::new("/lib/modules").join(release);
    let places = ["updates/dkms", "updates", "extra", "extra/dkms", "kernel/drivers/misc"];
    let paths = places.iter().flat_map(|place| {
        ["", ".xz", ".zst", ".gz"].map(|end| dir.join(place).join(format!("{NAME}.ko{end}")))
    });
    let path = paths.into_iter().find(|path| path.is_file())?;
    let bytes = debuginfo::read_file(&path).ok()?;
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
        Err(error) => return Err(Refusal::Other(os::io_text(&error))),
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

/// Takes the module away again.
pub fn unload() {
    let _ = Command::new("modprobe").args(["-r", NAME]).stdin(Stdio::null()).output();
}

pub fn is_loaded() -> bool {
    Path::new("/sys/module").join(NAME).exists()
}

/// The file of modprobe's configuration that replaces loading by a command.
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

/// Reads the message of modprobe, kmod's or busybox's, in the C locale.
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

/// Says why, and the one command that mends it on this machine.
pub fn explain(refusal: &Refusal, release: &str, family: Family) -> Explained {
    let install = |part| family.install(part, release);
    let explained = |why: String, mend: Option<String>| Explained { why, mend, reboot: false };
    match refusal {
        Refusal::NoModprobe => {
            explained("there is no modprobe to load it with".to_owned(), install(Part::Modprobe))
        }
        Refusal::Missing => missing(release, family),
        Refusal::OtherKernel => {
            let file = file(release);
            let built = file.as_ref().and_then(|file| file.release.clone()).filter(|built| built != release);
            let path = file.map_or_else(|| format!("{NAME}.ko"), |file| file.path.display().to_string());
            let of = built.unwrap_or_else(|| "another build of this kernel".to_owned());
            explained(format!("{path} is built for {of}, not for {release}"), Some(rebuild(release)))
        }
        Refusal::Key => unsigned(release),
        Refusal::NotPermitted => not_permitted(family),
        Refusal::Configured(path) => explained(
            format!("{} has a command in the place of loading it", path.display()),
            Some(format!("sed -i '/^ *install *{NAME} /d' {}", path.display())),
        ),
        Refusal::Other(said) if said.is_empty() => {
            explained("modprobe failed without a message".to_owned(), Some(format!("modprobe -v {NAME}")))
        }
        Refusal::Other(said) => explained(format!("modprobe: {said}"), Some("dmesg | tail".to_owned())),
    }
}

fn missing(release: &str, family: Family) -> Explained {
    let mut why = format!("it is not built for this kernel: there is no {NAME}.ko in /lib/modules/{release}");
    let has_source = Path::new("/var/lib/dkms").join(NAME).exists();
    let mend = match (has_source, has_headers(release)) {
        (true, true) => Some(format!("dkms autoinstall -k {release}")),
        (true, false) => {
            why += ", as DKMS had no headers to build it with";
            family.install(Part::Headers, release)
        }
        // DKMS builds it with headers that are there, or come with a package.
        (false, has_headers) => {
            let is_buildable = has_headers || family.has_kernel(release);
            let package = is_buildable.then(|| family.install(Part::Module, release)).flatten();
            package.or_else(|| Some("make -C kmod modules modules_install && depmod".to_owned()))
        }
    };
    Explained { why, mend, reboot: false }
}

pub fn has_headers(release: &str) -> bool {
    Path::new("/lib/modules").join(release).join("build/Makefile").exists()
}

/// Builds the module again, whatever is there.
fn rebuild(release: &str) -> String {
    format!("dkms install --force {NAME}/{} -k {release}", env!("CARGO_PKG_VERSION"))
}

fn unsigned(release: &str) -> Explained {
    let signed = file(release).is_some_and(|file| file.signed);
    let has = if signed { "of a key that is not enrolled" } else { "missing" };
    let why = format!("the kernel loads only modules with a good signature, and that of {NAME}.ko is {has}");
    let mend = match signed {
        true => "mokutil --import /var/lib/dkms/mok.pub".to_owned(),
        false => rebuild(release),
    };
    Explained { why, mend: Some(mend), reboot: signed }
}

fn not_permitted(family: Family) -> Explained {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (why, mend) = if read("/proc/sys/kernel/modules_disabled").trim() == "1" {
        ("kernel.modules_disabled is 1, which only a reboot takes back", None)
    } else if read("/proc/cmdline").contains(&format!("module_blacklist={NAME}")) {
        (
            "module_blacklist= on the kernel's command line names it",
            family.remove_parameter("module_blacklist"),
        )
    } else {
        let help = Some("sudo dtrace doctor".to_owned());
        return Explained { why: "loading it needs CAP_SYS_MODULE".to_owned(), mend: help, reboot: false };
    };
    Explained { why: why.to_owned(), mend, reboot: true }
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
    fn a_command_in_the_place_of_loading() {
        assert!(has_install_line("# x\n install  kinst /bin/false\n"));
        assert!(!has_install_line("install kinst_next /bin/false\nblacklist kinst\n# install kinst x"));
    }
}
