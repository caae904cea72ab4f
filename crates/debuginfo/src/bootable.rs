//! debuginfo/bootable.rs: a kernel packed in the file that a boot loader loads (a bzImage).

use std::path::Path;

use super::elf_file::ElfFile;
use super::unpack::{self, Bytes};

/// Offsets in the kernel's boot protocol.
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
/// The first version of the protocol that describes the payload.
const WITH_PAYLOAD: usize = 0x208;
const SECTOR: usize = 512;
/// The number of setup sectors that 0 stands for.
const USUAL_SECTORS: usize = 4;

/// The kernel, without symbols; `None` if the file is not a bzImage, or is compressed in an unsupported
/// format.
pub fn kernel(path: &Path) -> Option<ElfFile> {
    let file = unpack::read(path).ok()?;
    let kernel = unpack::first_stream(payload(&file)?)?;
    ElfFile::parse(path, Bytes::Owned(kernel)).ok()
}

fn payload(file: &[u8]) -> Option<&[u8]> {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let bytes = file.get(at..at + bytes)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    if file.get(MAGIC..MAGIC + 4)? != b"HdrS" || number(VERSION, 2)? < WITH_PAYLOAD {
        return None;
    }
    let sectors = match number(SETUP_SECTORS, 1)? {
        0 => USUAL_SECTORS,
        sectors => sectors,
    };
    let start = (sectors + 1) * SECTOR + number(PAYLOAD_OFFSET, 4)?;
    file.get(start..start + number(PAYLOAD_LENGTH, 4)?)
}

#[cfg(test)]
mod tests {
    use super::payload;

    #[test]
    fn the_payload_is_where_the_header_says() {
        let mut file = vec![0; 3 * 512];
        file[0x1f1] = 1;
        file[0x202..0x208].copy_from_slice(b"HdrS\x08\x02");
        file[0x248] = 7;
        file[0x24c] = 3;
        file[1024 + 7..1024 + 10].copy_from_slice(b"abc");
        assert_eq!(payload(&file), Some(&b"abc"[..]));
        for len in 0..1024 + 10 {
            assert_eq!(payload(&file[..len]), None, "cut to {len}");
        }
        file[0x1f1] = 0;
        assert_eq!(payload(&file), None, "after the end");
    }
}
