//! sites/index/make.rs: the index of one image, made by a walk over its debug information.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cache::image::ImageIndex;
use crate::copies::resolve::resolve;
use crate::image::Image;
use kinst_debuginfo::BuildId;

/// The number of bytes after which what was read of a file is given back: the pages stay in the page cache, and are not
/// ours.
const GIVE_BACK: u64 = 64 << 20;

/// The index with the build id that it is for. `walked` gets the bytes that were read and returns whether to go on.
/// `None` if that was given up, or if the image lacks debug information, a build id or symbols.
pub(super) fn index_of<'k>(
    image: Image<'k>,
    walked: &(dyn Fn(u64) -> bool + Sync),
) -> Option<(&'k BuildId, Vec<u8>)> {
    let file = image.debug()?;
    let id = file.build_id().filter(|_| walked(0))?;
    let read = AtomicU64::new(0);
    let found = kinst_dwarf::find_all(file, &|bytes| {
        if read.fetch_add(bytes, Ordering::Relaxed) % GIVE_BACK + bytes >= GIVE_BACK {
            file.give_back();
        }
        walked(bytes)
    });
    let found = found.map_err(|error| image.all().warn(error.warning())).ok()?;
    let symbols = image.symbols().filter(|_| walked(0))?;
    file.give_back();
    found.damaged.iter().for_each(|line| image.all().remark(format!("{}: {line}", file.path().display())));
    let (names, functions): (Vec<String>, Vec<kinst_dwarf::Function>) = found.functions.into_iter().unzip();
    let known = resolve(image, &functions);
    let known: Vec<_> = names.into_iter().zip(known).collect();
    file.give_back();
    let bytes = ImageIndex::write(id, file, &known, symbols)?;
    Some((id, bytes))
}
