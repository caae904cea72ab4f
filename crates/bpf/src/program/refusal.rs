//! bpf/program/refusal.rs: errors when clauses are translated to a program.

use crate::asm::AsmError;
use crate::missing::Missing;
use kinst_dif::layout::LayoutError;

/// Why a program cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A feature that BPF does not have.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// An action without a layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A jump that is too far.
    #[error("it is too large: {0}")]
    Size(#[from] AsmError),
}
