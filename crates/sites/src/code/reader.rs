//! sites/code/reader.rs: reading of ELF notes, whose bytes are not trusted.

/// Unread bytes, and their address.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
    pub(super) address: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], address: u64) -> Reader<'a> {
        Reader { rest: bytes, address }
    }

    pub(super) fn take(&mut self, bytes: usize) -> Option<Reader<'a>> {
        let taken = Reader { rest: self.rest.get(..bytes)?, ..*self };
        self.rest = self.rest.get(bytes..)?;
        self.address = self.address.wrapping_add(bytes as u64);
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.rest.first().copied()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.rest.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.rest.try_into().ok()?))
    }

    /// Reads the owner, type and contents of the next note; owner and contents are padded to four bytes.
    pub(super) fn note(&mut self) -> Option<(&'a [u8], u32, Reader<'a>)> {
        let (owner, desc, kind) = (self.u32()? as usize, self.u32()? as usize, self.u32()?);
        let mut padded = |bytes: usize| {
            let taken = self.take(bytes)?;
            self.take((bytes.next_multiple_of(4) - bytes).min(self.rest.len()))?;
            Some(taken)
        };
        let owner = padded(owner)?;
        Some((owner.rest, kind, padded(desc)?))
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        std::str::from_utf8(text.rest).ok()
    }
}
