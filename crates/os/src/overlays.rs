//! os/overlays.rs: the mounts of overlayfs, as containers have them, and the files that these have copied.

use std::path::{Path, PathBuf};

/// A mount of overlayfs that can be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Overlay {
    mount: PathBuf,
    lower: Vec<PathBuf>,
    upper: PathBuf,
}

/// A file that processes of a mount execute instead of one in a layer below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The directory at which the overlay is mounted.
    pub mount: PathBuf,
    /// The copy, in the upper layer.
    pub file: PathBuf,
}

/// Returns the copies of a file, which is in a lower layer of mounts in this namespace.
pub fn copies_of(file: &Path) -> Vec<Copied> {
    let Ok(file) = file.canonicalize() else { return Vec::new() };
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let copied = |overlay: Overlay| {
        let within = overlay.lower.iter().find_map(|lower| file.strip_prefix(lower).ok())?;
        let file = overlay.upper.join(within);
        file.is_file().then_some(Copied { mount: overlay.mount, file })
    };
    text.lines().filter_map(overlay).filter_map(copied).collect()
}

/// Parses a line of mountinfo; `None` for other file systems, for one without an upper layer, and for layers that were
/// named by relative paths.
fn overlay(line: &str) -> Option<Overlay> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mount = plain(mount.split(' ').nth(4)?);
    let mut fields = file_system.split(' ');
    let options = fields.next().filter(|kind| *kind == "overlay").and_then(|_| fields.nth(1))?;
    let (mut lower, mut upper) = (Vec::new(), None);
    for (name, value) in options.split(',').filter_map(|option| option.split_once('=')) {
        match name {
            "lowerdir" | "lowerdir+" => lower.extend(value.split(':').map(plain)),
            "upperdir" => upper = Some(plain(value)),
            _ => {}
        }
    }
    lower.retain(|layer| layer.is_absolute());
    let upper = upper.filter(|layer| layer.is_absolute())?;
    Some(Overlay { mount, lower, upper })
}

/// Replaces the octal numbers that stand for blanks and other characters.
fn plain(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_of_containers() {
        let line = "604 29 0:52 / /var/lib/docker/overlay2/ab/merged rw,relatime shared:9 - overlay overlay \
            rw,lowerdir=/var/lib/docker/l/A:/var/lib/docker/l/B\\040C,upperdir=/var/lib/docker/ab/diff,\
            workdir=/var/lib/docker/ab/work,nouserxattr";
        let found = overlay(line).unwrap();
        assert_eq!(found.mount, Path::new("/var/lib/docker/overlay2/ab/merged"));
        assert_eq!(found.lower, [Path::new("/var/lib/docker/l/A"), Path::new("/var/lib/docker/l/B C")]);
        assert_eq!(found.upper, Path::new("/var/lib/docker/ab/diff"));
        for other in [
            "",
            "22 29 0:20 / /proc rw - proc proc rw",
            "22 29 0:20 / /a rw - overlay o ro,lowerdir=/a:/b",
            "22 29 0:20 / /a rw - overlay o rw,lowerdir=l,upperdir=u",
            "22 - overlay",
        ] {
            assert_eq!(overlay(other).map(|overlay| overlay.lower), None, "{other}");
        }
        assert_eq!(plain("a\\04"), Path::new("a\\04"));
        assert_eq!(plain("\\777\\x"), Path::new("\\777\\x"));
    }
}
