//! base/image.rs: images that contain code: the kernel proper, a module, or the file of a program.

/// The kernel proper in a description's module field; `kernel` is an alias.
pub const KERNEL_PROPER: &str = "vmlinux";

/// Whether a name means the kernel proper.
pub fn is_kernel_proper(name: &str) -> bool {
    matches!(name, KERNEL_PROPER | "kernel")
}

/// An image that contains code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImageId {
    /// The kernel proper or one of its modules.
    Kernel(ModuleId),
    /// A program or library.
    File(FileId),
}

/// One of the modules of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(pub u32);

impl ModuleId {
    /// The kernel proper, which counts as a module.
    pub const PROPER: ModuleId = ModuleId(0);

    /// Position in the order of modules: the kernel proper first, then by name.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One of the files of a run that contain the code of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);
