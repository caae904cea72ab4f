//! Writing an initramfs: a cpio archive in the newc format (Documentation/driver-api/early-userspace).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// An archive being written, in memory: a guest's few megabytes need no file.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: BTreeSet<PathBuf>,
}

impl Archive {
    /// A directory and all above it.
    pub(super) fn directory(&mut self, path: &str) {
        self.parents(&Path::new(path).join("a file in it"));
    }

    pub(super) fn file(&mut self, path: &str, permissions: u32, data: &[u8]) {
        self.parents(Path::new(path));
        self.entry(path, FILE | (permissions & 0o7777), data);
    }

    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.parents(Path::new(path));
        self.entry(path, LINK | 0o777, target.as_bytes());
    }

    /// The finished archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.entry("TRAILER!!!", 0, b"");
        self.bytes
    }

    fn parents(&mut self, path: &Path) {
        let Some(parent) = path.parent() else { return };
        if parent == Path::new("/") || parent == Path::new("") || self.directories.contains(parent) {
            return;
        }
        self.parents(parent);
        self.directories.insert(parent.into());
        self.entry(&parent.to_string_lossy(), DIRECTORY | 0o755, b"");
    }

    fn entry(&mut self, path: &str, mode: u32, data: &[u8]) {
        let name = path.trim_start_matches('/');
        self.entries += 1;
        let links = if mode & DIRECTORY != 0 { 2 } else { 1 };
        let (size, name_size) = (data.len() as u32, name.len() as u32 + 1);
        // ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        let fields = [self.entries, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_header_a_name_and_data_each_padded() {
        let mut archive = Archive::default();
        archive.file("/etc/x", 0o644, b"hello");
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes);
        let etc = text.find("etc\0").unwrap();
        let file = text.find("etc/x\0").unwrap();
        assert!(etc < file, "a directory comes before what is in it");
        assert_eq!(&text[file + 6..file + 11], "hello");
        assert!(text.contains("TRAILER!!!"));
        assert_eq!(bytes.len() % 4, 0);
    }
}
