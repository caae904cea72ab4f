//! debuginfo/unpack.rs: the contents of files, mapped, or unpacked if they are compressed.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};
use object::{CompressedData, CompressionFormat};

use super::error::Error;
use super::lz4;

/// The bytes of a file.
pub enum Bytes {
    /// The file itself.
    Mapped(Mmap),
    /// Unpacked, or read as a whole.
    Owned(Vec<u8>),
}

impl Bytes {
    /// Drops the pages of a mapped file; they can be read again.
    pub(super) fn give_back(&self) {
        if let Bytes::Mapped(map) = self {
            // SAFETY: the map is of a file and only read: dropped pages are read from the file again.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Reads a file that the kernel exposes in /sys: mapped, which is one call for millions of bytes, if the
/// kernel supports that (the BTF since 6.16); otherwise page by page.
pub fn read_shown(path: &Path) -> Option<Bytes> {
    let file = File::open(path).ok()?;
    // SAFETY: the map is only read, and the kernel neither truncates nor changes the exposed data.
    match unsafe { MmapOptions::new().map_copy_read_only(&file) } {
        Ok(map) if !map.is_empty() => Some(Bytes::Mapped(map)),
        _ => std::fs::read(path).ok().map(Bytes::Owned),
    }
}

/// A module has some megabytes; more than this is not one, whatever size a compressed file states.
const MAX_UNPACKED: u64 = 1 << 30;
/// The debug information of a kernel is larger; this limits one section at a time.
const MAX_SECTION: u64 = 4 << 30;

/// The symbols of a program of 100 MB have some megabytes.
const MAX_MINI: u64 = 256 << 20;

/// The file's contents; the first bytes determine whether it is compressed.
pub fn read(path: &Path) -> Result<Bytes, Error> {
    let file = File::open(path).map_err(|cause| Error::io(path, cause))?;
    let metadata = file.metadata().map_err(|cause| Error::io(path, cause))?;
    if !metadata.is_file() {
        return Err(Error::elf(path, "not a regular file"));
    }
    if metadata.len() == 0 {
        return Ok(Bytes::Owned(Vec::new()));
    }
    // SAFETY: the map is only read. If another process truncates the file while it is mapped, this program ends with
    // SIGBUS, as any debugger does; kernels and debug files are replaced by rename, not rewritten.
    let map = unsafe { Mmap::map(&file) }.map_err(|cause| Error::io(path, cause))?;
    let unpacked = match &map[..] {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            unpack(path, "xz", liblzma::read::XzDecoder::new_multi_decoder(&map[..]))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let decoder = zstd::stream::read::Decoder::with_buffer(&map[..]);
            unpack(path, "zstd", decoder.map_err(|cause| packed_error(path, "zstd", cause))?)
        }
        [0x1f, 0x8b, ..] => unpack(path, "gzip", flate2::read::MultiGzDecoder::new(&map[..])),
        _ => return Ok(Bytes::Mapped(map)),
    };
    unpacked.map(Bytes::Owned)
}

/// The bytes of a section, which ELF may store compressed. A size that differs from the stated one is damage.
pub(crate) fn section<'a>(packed: &CompressedData<'a>) -> Result<Cow<'a, [u8]>, String> {
    let mut bytes = Vec::new();
    let (most, data) = (packed.uncompressed_size.min(MAX_SECTION) + 1, packed.data);
    let read = match packed.format {
        CompressionFormat::None => return Ok(Cow::Borrowed(data)),
        CompressionFormat::Zlib => flate2::read::ZlibDecoder::new(data).take(most).read_to_end(&mut bytes),
        CompressionFormat::Zstandard => zstd::stream::read::Decoder::with_buffer(data)
            .and_then(|decoder| decoder.take(most).read_to_end(&mut bytes)),
        _ => return Err("compressed in an unknown format".to_owned()),
    };
    read.map_err(|cause| format!("cannot be unpacked: {cause}"))?;
    if bytes.len() as u64 != packed.uncompressed_size {
        return Err(format!("does not unpack to the {} bytes that it states", packed.uncompressed_size));
    }
    Ok(Cow::Owned(bytes))
}

/// Unpacks the symbols of a program (MiniDebugInfo), which are xz.
pub(crate) fn mini(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    /// The dictionary of the strongest compression needs 65 MiB.
    const MEMORY: u64 = 128 << 20;
    let stream = liblzma::stream::Stream::new_stream_decoder(MEMORY, 0).map_err(std::io::Error::other)?;
    at_most(MAX_MINI, liblzma::read::XzDecoder::new_stream(packed, stream))
}

/// Unpacks the start of the bytes and ignores the rest; `None` if the format is unknown.
pub(crate) fn first_stream(packed: &[u8]) -> Option<Vec<u8>> {
    /// A larger window than any kernel was packed with.
    const WINDOW_LOG: u32 = 31;
    if let Some(blocks) = packed.strip_prefix(&lz4::MAGIC) {
        return lz4::unpack(blocks, MAX_UNPACKED as usize);
    }
    let mut bytes = Vec::new();
    let read = match packed {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            liblzma::read::XzDecoder::new(packed).take(MAX_UNPACKED).read_to_end(&mut bytes)
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).ok()?.single_frame();
            decoder.window_log_max(WINDOW_LOG).ok()?;
            decoder.take(MAX_UNPACKED).read_to_end(&mut bytes)
        }
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(packed).take(MAX_UNPACKED).read_to_end(&mut bytes),
        _ => return None,
    };
    read.ok().map(|_| bytes)
}

fn unpack(path: &Path, format: &'static str, decoder: impl Read) -> Result<Vec<u8>, Error> {
    at_most(MAX_UNPACKED, decoder).map_err(|cause| packed_error(path, format, cause))
}

/// Everything that a decoder has; an error if that is more than `most` bytes.
fn at_most(most: u64, decoder: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    decoder.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(std::io::Error::other(format!("it has more than {} MiB", most >> 20))),
        false => Ok(bytes),
    }
}

fn packed_error(path: &Path, format: &'static str, cause: std::io::Error) -> Error {
    Error::Unpack { path: path.to_owned(), format, cause }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use object::{CompressedData, CompressionFormat};

    use super::{at_most, read, section};

    #[test]
    fn more_than_the_limit_is_an_error() {
        let bomb = zstd::encode_all(&vec![0; (1 << 20) + 1][..], 1).expect("zstd");
        let read = |most| at_most(most, zstd::stream::read::Decoder::new(&bomb[..]).expect("zstd"));
        assert_eq!(read((1 << 20) + 1).expect("all of it").len(), (1 << 20) + 1);
        assert_eq!(read(1 << 20).expect_err("too much").to_string(), "it has more than 1 MiB");
    }

    #[test]
    fn each_format_is_told_by_its_first_bytes() {
        let text = b"\x7fELF and so on".repeat(100);
        let dir = tempfile::tempdir().expect("a directory");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).expect("gzip");
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&text).expect("xz");
        let files = [
            ("plain", text.clone()),
            ("gz", gzip.finish().expect("gzip")),
            ("xz", xz.finish().expect("xz")),
            ("zst", zstd::encode_all(&text[..], 1).expect("zstd")),
        ];
        for (name, bytes) in files {
            let path = dir.path().join(name);
            std::fs::write(&path, &bytes).expect("a file");
            assert_eq!(&read(&path).expect(name)[..], &text[..], "{name}");
            if name != "plain" {
                std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("a file");
                assert!(read(&path).is_err(), "half of {name}");
            }
        }
    }

    #[test]
    fn a_section_is_as_large_as_it_says() {
        let text = b"debug information, and the same again, debug information".repeat(100);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&text).expect("zlib");
        let zstd = zstd::encode_all(&text[..], 1).expect("zstd");
        for (format, data) in [
            (CompressionFormat::None, text.clone()),
            (CompressionFormat::Zlib, zlib.finish().expect("zlib")),
            (CompressionFormat::Zstandard, zstd),
        ] {
            let packed = |size, data| CompressedData { format, data, uncompressed_size: size };
            let size = text.len() as u64;
            assert_eq!(section(&packed(size, &data)).expect("sound")[..], text[..], "{format:?}");
            if format != CompressionFormat::None {
                for wrong in
                    [packed(size - 1, &data), packed(u64::MAX, &data), packed(size, &data[..data.len() / 2])]
                {
                    assert!(section(&wrong).is_err(), "{format:?}, {} bytes", wrong.uncompressed_size);
                }
            }
        }
        let unknown =
            CompressedData { format: CompressionFormat::Unknown, data: &text, uncompressed_size: 1 };
        assert!(section(&unknown).is_err());
    }
}
