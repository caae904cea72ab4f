//! The hooks of the kernel that counts its own calls (xtask/kernels/counted), and the flags that make gcc call them.

use std::path::Path;

use anyhow::Result;

use super::own;

/// The files that the build adds to the tree: path and contents.
const FILES: [(&str, &str); 2] = [
    ("kernel/counted.c", include_str!("../../kernels/counted/counted.c")),
    ("include/linux/counted.h", include_str!("../../kernels/counted/counted.h")),
];

/// The folders whose functions are counted, with all below them.
pub(super) const FOLDERS: [&str; 4] = ["fs", "mm", "lib", "net/core"];

/// The flags for these folders. A hook that is called last must not become a jump, as it would count for the caller.
/// The hooks take functions' addresses, so functions that are called once also have a separate body; the limits are
/// raised to inline larger ones instead.
const FLAGS: &str = "subdir-ccflags-y += -finstrument-functions -fno-optimize-sibling-calls \
--param=max-inline-insns-auto=60 --param=max-inline-insns-small=30 \
-include $(srctree)/include/linux/counted.h\n";

/// Lines for the Makefiles of folders, for functions that the compiler must compute where they are called.
const EXCEPTIONS: [(&str, &str); 1] =
    [("mm", "CFLAGS_slab_common.o += -finstrument-functions-exclude-function-list=is_power_of_2\n")];

const HOOKS: &str = "obj-y += counted.o\nCFLAGS_REMOVE_counted.o := $(CC_FLAGS_FTRACE)\n";

/// Adds the hooks to a tree, and the flags to its Makefiles.
pub(super) fn instrument(tree: &Path) -> Result<()> {
    for (path, text) in FILES {
        own::write(&tree.join(path), text)?;
    }
    own::append(&tree.join("kernel/Makefile"), HOOKS)?;
    for folder in FOLDERS {
        let exceptions = EXCEPTIONS.iter().filter(|(of, _)| *of == folder).map(|(_, lines)| *lines);
        let lines = [FLAGS].into_iter().chain(exceptions).collect::<String>();
        own::append(&tree.join(folder).join("Makefile"), &lines)?;
    }
    Ok(())
}

/// The files, flags and lines as comments of a configuration, so that a change rebuilds the kernel.
pub(super) fn as_comment() -> String {
    let texts =
        FILES.iter().map(|(_, text)| *text).chain([FLAGS, HOOKS]).chain(EXCEPTIONS.map(|(_, lines)| lines));
    texts.flat_map(str::lines).map(|line| format!("# {line}\n")).collect()
}
