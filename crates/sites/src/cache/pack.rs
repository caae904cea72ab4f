//! sites/cache/pack.rs: the cache files of a kernel in one file, to be copied to another machine.

use std::io::{self, Read, Write};

use super::file::{Sealed, VERSION};

/// The first bytes. They are followed by the version, as in the cache files, the length of the release, the
/// release, and one zstd frame with the files, each after its length as a little-endian 8-byte number.
const MAGIC: [u8; 8] = *b"KINSTPAK";
/// Somewhat longer than the longest release of `uname`.
const LONGEST_RELEASE: usize = 256;
/// The maximum size of a file; the index of the largest kernel takes a tenth of it.
const LARGEST: u64 = 128 << 20;
/// The maximum total size; all files of a kernel take a hundredth of it.
const MOST: u64 = 4 << 30;
/// Much smaller than with the default level, and still made in seconds.
const LEVEL: i32 = 9;

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error("it cannot be read: {0}")]
    Io(io::Error),
    #[error("it is not an exported index")]
    Foreign,
    #[error("it has version {0} of the index format, but this dtrace needs version {VERSION}")]
    Version(u32),
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// Writes files; the output is complete after [`Packing::finish`].
pub(crate) struct Packing<W: Write> {
    encoder: zstd::stream::write::Encoder<'static, W>,
}

impl<W: Write> Packing<W> {
    pub(crate) fn new(mut to: W, release: &str) -> io::Result<Packing<W>> {
        let release = &release.as_bytes()[..release.len().min(LONGEST_RELEASE)];
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        to.write_all(&(release.len() as u32).to_le_bytes())?;
        to.write_all(release)?;
        let mut encoder = zstd::stream::write::Encoder::new(to, LEVEL)?;
        encoder.include_checksum(true)?;
        Ok(Packing { encoder })
    }

    pub(crate) fn add(&mut self, file: &[u8]) -> io::Result<()> {
        self.encoder.write_all(&(file.len() as u64).to_le_bytes())?;
        self.encoder.write_all(file)
    }

    pub(crate) fn finish(self) -> io::Result<W> {
        self.encoder.finish()
    }
}

/// Reads the files one after another. Nothing is trusted: lengths are bounded, and each file must be valid.
pub(crate) struct Unpacking<'a> {
    pub release: String,
    decoder: zstd::stream::read::Decoder<'static, &'a [u8]>,
    read: u64,
}

impl<'a> Unpacking<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Unpacking<'a>, Unfit> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(Unfit::Foreign)?;
        let (version, rest) = word(rest)?;
        if version != VERSION {
            return Err(Unfit::Version(version));
        }
        let (len, rest) = word(rest)?;
        let len = usize::try_from(len).ok().filter(|len| *len <= LONGEST_RELEASE);
        let (release, packed) =
            len.and_then(|len| rest.split_at_checked(len)).ok_or(Unfit::Damaged("its header is cut off"))?;
        let release = str::from_utf8(release).ok().filter(|text| !text.chars().any(char::is_control));
        let release = release.ok_or(Unfit::Damaged("its release is not text"))?.to_owned();
        let decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(Unfit::Io)?;
        Ok(Unpacking { release, decoder, read: 0 })
    }

    /// Returns the next file, which contains its kind and key; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Sealed>, Unfit> {
        let mut len = Vec::new();
        let mut read = |limit: u64, to: &mut Vec<u8>| {
            let read = (&mut self.decoder).take(limit).read_to_end(to);
            read.map_err(|_| Unfit::Damaged("it cannot be decompressed"))
        };
        match read(8, &mut len)? {
            0 => return Ok(None),
            8 => {}
            _ => return Err(Unfit::Damaged("it is truncated")),
        }
        let len = u64::from_le_bytes(len.try_into().unwrap_or_default());
        self.read = self.read.saturating_add(len);
        if len > LARGEST || self.read > MOST {
            return Err(Unfit::Damaged("it is larger than any index"));
        }
        let mut bytes = Vec::new();
        if read(len, &mut bytes)? as u64 != len {
            return Err(Unfit::Damaged("it is truncated"));
        }
        let sealed = Sealed::any(bytes).ok_or(Unfit::Damaged("an index in it has a wrong checksum"))?;
        Ok(Some(sealed))
    }
}

fn word(bytes: &[u8]) -> Result<(u32, &[u8]), Unfit> {
    let (word, rest) = bytes.split_first_chunk().ok_or(Unfit::Damaged("its header is cut off"))?;
    Ok((u32::from_le_bytes(*word), rest))
}

#[cfg(test)]
mod tests {
    use super::super::file::seal;
    use super::*;

    fn packed() -> (Vec<u8>, Vec<Vec<u8>>) {
        let files: Vec<Vec<u8>> = (0..3)
            .map(|number: u8| seal(number.into(), &[number; 20], &[&[number; 100], b"text"]).unwrap())
            .collect();
        let mut packing = Packing::new(Vec::new(), "6.1.0").unwrap();
        files.iter().for_each(|file| packing.add(file).unwrap());
        (packing.finish().unwrap(), files)
    }

    fn unpacked(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Unfit> {
        let mut unpacking = Unpacking::new(bytes)?;
        let mut files = Vec::new();
        while let Some(file) = unpacking.next()? {
            files.push(file.bytes().to_vec());
        }
        Ok(files)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let (packed, files) = packed();
        assert_eq!(unpacked(&packed).unwrap(), files);
        assert_eq!(Unpacking::new(&packed).unwrap().release, "6.1.0");
    }

    #[test]
    fn any_damage_is_seen() {
        let (whole, files) = packed();
        for at in 0..whole.len() {
            assert!(unpacked(&whole[..at]).is_err(), "cut to {at}");
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            // The release is free text, and zstd has an unused bit.
            match unpacked(&flipped) {
                Ok(read) => assert_eq!(read, files, "flipped at {at}"),
                Err(why) => assert!(!why.to_string().is_empty()),
            }
        }
        assert!(matches!(unpacked(b"PK\x03\x04"), Err(Unfit::Foreign)));
        let mut other = whole.clone();
        other[8] ^= 0x40;
        assert!(matches!(unpacked(&other), Err(Unfit::Version(_))));
    }

    #[test]
    fn a_length_that_is_a_lie_ends_at_the_bytes_that_are_there() {
        for len in [u64::MAX, MOST, LARGEST + 1, LARGEST, 1] {
            let mut packing = Packing::new(Vec::new(), "").unwrap();
            packing.encoder.write_all(&len.to_le_bytes()).unwrap();
            assert!(unpacked(&packing.finish().unwrap()).is_err(), "{len}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_refused_or_read(edits in proptest::collection::vec((0_usize..400, 0_u8..), 0..8)) {
            let (mut bytes, _) = packed();
            for (at, value) in edits {
                let len = bytes.len();
                bytes[at % len] = value;
            }
            let _ = unpacked(&bytes);
        }
    }
}
