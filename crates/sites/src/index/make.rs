//! sites/index/make.rs: builds the index of one image by a walk over its debug information.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cache::image::ImageIndex;
use crate::copies::resolve::resolve;
use crate::image::Image;
use kinst_debuginfo::BuildId;

/// Number of bytes after which read pages of a file are released: they stay in the page cache, but no longer
/// count as our memory.
const GIVE_BACK: u64 = 64 << 20;

/// Returns the index and its build id. `walked` is called with the number of bytes read, and returns whether
/// to continue. `None` if that was aborted, or if the image lacks debug information, a build id or symbols.
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
