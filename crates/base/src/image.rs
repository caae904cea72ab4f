//! base/image.rs: what code is in: the kernel proper, one of its modules, or a file that programs run; and addresses in it.

/// The kernel proper as a description's module; `kernel` is another name of it.
pub const KERNEL_PROPER: &str = "vmlinux";

/// Whether a name means the kernel proper.
pub fn is_kernel_proper(name: &str) -> bool {
    matches!(name, KERNEL_PROPER | "kernel")
}

/// The image that code is in.
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

    /// The place in the order of modules: the kernel proper first, then by name.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One of the files of a run that have the code of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// An address, with the space that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// An address of the running kernel, which has one space with all of its modules.
    Kernel(u64),
    /// A distance from the beginning of a file, which each program may have elsewhere.
    File(FileId, u64),
}

impl Address {
    /// The address in the kernel; `None` if it is in a file of programs.
    pub fn in_kernel(self) -> Option<u64> {
        match self {
            Address::Kernel(address) => Some(address),
            Address::File(..) => None,
        }
    }
}
