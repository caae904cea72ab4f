//! os/uprobe/leaf.rs: a function that stores a value below its stack pointer, as the ABI allows, around a nop.

/// Returns the address of the nop; `None` on other machines than x86-64.
pub(super) fn site() -> Option<usize> {
    code::site()
}

/// Stores a value in the red zone, executes the nop, and returns the value that it finds.
pub(super) fn call(value: u64) -> u64 {
    code::call(value)
}

/// Returns the first byte of the nop: another one while it has a probe.
pub(super) fn first_byte() -> u8 {
    let Some(site) = site() else { return NOP };
    // SAFETY: it is the address of an instruction of this process.
    unsafe { (site as *const u8).read_volatile() }
}

/// First byte of the nop without a probe.
pub(super) const NOP: u8 = 0x0f;

#[cfg(target_arch = "x86_64")]
mod code {
    // The alignment prevents that the nop crosses a page, where the kernel leaves it alone.
    std::arch::global_asm!(
        ".pushsection .text.kinst_nop5_leaf, \"ax\", @progbits",
        ".balign 32",
        ".hidden kinst_nop5_leaf",
        ".globl kinst_nop5_leaf",
        ".type kinst_nop5_leaf, @function",
        "kinst_nop5_leaf:",
        "mov %rdi, -8(%rsp)",
        ".hidden kinst_nop5_site",
        ".globl kinst_nop5_site",
        "kinst_nop5_site:",
        ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00",
        "mov -8(%rsp), %rax",
        "ret",
        ".size kinst_nop5_leaf, . - kinst_nop5_leaf",
        ".popsection",
        options(att_syntax)
    );

    unsafe extern "C" {
        fn kinst_nop5_leaf(value: u64) -> u64;
        fn kinst_nop5_site();
    }

    pub(super) fn site() -> Option<usize> {
        Some(kinst_nop5_site as *const () as usize)
    }

    pub(super) fn call(value: u64) -> u64 {
        // SAFETY: the function follows the C ABI, and uses only its red zone.
        unsafe { kinst_nop5_leaf(value) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod code {
    pub(super) fn site() -> Option<usize> {
        None
    }

    pub(super) fn call(value: u64) -> u64 {
        value
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn without_a_probe_the_value_is_kept() {
        assert_eq!(super::call(0x1234_5678_9abc_def0), 0x1234_5678_9abc_def0);
        assert_eq!(super::first_byte(), super::NOP);
    }
}
