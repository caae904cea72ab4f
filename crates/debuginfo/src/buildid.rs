//! debuginfo/buildid.rs: build ids, in files and in the notes of the running kernel.

use std::fmt;
use std::path::Path;

/// The GNU build id, which decides whether a debug file belongs to a binary.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BuildId(Vec<u8>);

impl BuildId {
    /// Takes the bytes of the note, usually 20.
    pub fn new(bytes: &[u8]) -> BuildId {
        BuildId(bytes.to_vec())
    }

    /// The bytes of the note.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// `xx/yyyy`: the path below a `.build-id` directory, without a suffix. Ids of less than two bytes have none.
    pub fn path(&self) -> Option<String> {
        let text = self.to_string();
        (self.0.len() >= 2).then(|| format!("{}/{}", &text[..2], &text[2..]))
    }

    /// Parses the notes that the kernel exposes in /sys: a sequence of ELF notes, one of them with type 3 and
    /// name "GNU".
    pub fn from_notes(notes: &[u8]) -> Option<BuildId> {
        let mut rest = notes;
        while rest.len() >= 12 {
            let word =
                |at: usize| u32::from_le_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]) as usize;
            let (name_len, desc_len, kind) = (word(0), word(4), word(8));
            let desc_at = 12usize.checked_add(name_len)?.checked_next_multiple_of(4)?;
            let desc_end = desc_at.checked_add(desc_len)?;
            let desc = rest.get(desc_at..desc_end)?;
            if kind == NT_GNU_BUILD_ID && rest[12..].starts_with(b"GNU\0") && name_len == 4 {
                return Some(BuildId::new(desc));
            }
            rest = rest.get(desc_end.checked_next_multiple_of(4)?..)?;
        }
        None
    }

    /// The build id of the running kernel, from /sys/kernel/notes; `None` if that is not readable or has none.
    pub fn of_running_kernel() -> Option<BuildId> {
        BuildId::from_notes(&std::fs::read("/sys/kernel/notes").ok()?)
    }

    /// The build id of a loaded module, which has one file for each of its note sections.
    pub fn of_loaded_module(name: &str) -> Option<BuildId> {
        let dir = Path::new("/sys/module").join(name).join("notes");
        std::fs::read_dir(dir)
            .ok()?
            .flatten()
            .filter_map(|entry| std::fs::read(entry.path()).ok())
            .find_map(|notes| BuildId::from_notes(&notes))
    }
}

const NT_GNU_BUILD_ID: usize = 3;

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::BuildId;

    #[test]
    fn the_gnu_note_is_found_among_others() {
        let mut notes = Vec::new();
        notes.extend([5u32, 3, 6].iter().flat_map(|word| word.to_le_bytes()));
        notes.extend(b"Xen..\0\0\0abc\0");
        notes.extend([4u32, 4, 3].iter().flat_map(|word| word.to_le_bytes()));
        notes.extend(b"GNU\0\xde\xad\xbe\xef");
        let id = BuildId::from_notes(&notes).expect("an id");
        assert_eq!(id.to_string(), "deadbeef");
        assert_eq!(id.path().as_deref(), Some("de/adbeef"));
    }

    #[test]
    fn cut_notes_have_no_id() {
        let whole = [&[4u8, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0\xde\xad\xbe\xef"].concat();
        for len in 0..whole.len() {
            assert_eq!(BuildId::from_notes(&whole[..len]), None);
        }
        assert_eq!(BuildId::from_notes(&[0xff; 64]), None);
    }
}
