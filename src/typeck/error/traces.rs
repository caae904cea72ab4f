//! typeck/error/traces.rs: messages about trace(), print(), tracemem() and printm().

use super::text::{arguments, error, operand};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::source::Span;
use kinst_dif::MAX_TRACEMEM;
use kinst_types::Type;

/// An action that records a value or memory and rejects its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    Aggregation { action: &'static str, span: Span },
    Dynamic { action: &'static str, found: Type, span: Span },
    Void { action: &'static str, span: Span },
    PrintmSize { span: Span },
    PrintmAddress { found: Type, span: Span },
    TracememCount { found: usize, span: Span },
    TracememAddress { found: Type, span: Span },
    TracememSize { span: Span },
    TracememLength { found: Type, span: Span },
}

impl Trace {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Aggregation { action, span } => {
                let tag = if *action == "print" { tags::PRINT_AGG } else { tags::TRACE_AGG };
                error(tag, format!("{action}() cannot take an aggregation"))
                    .at(*span, "an aggregation")
                    .help("print it with `printa(@name)`")
            }
            Self::Dynamic { action, found, span } => {
                let tag = if *action == "print" { tags::PRINT_DYN } else { tags::TRACE_DYN };
                error(tag, format!("{action}() cannot take a translated object"))
                    .at(*span, format!("a translated {found}"))
                    .help("trace a member of it")
            }
            Self::Void { action, span } => {
                let tag = if *action == "print" { tags::PRINT_VOID } else { tags::TRACE_VOID };
                error(tag, format!("{action}() needs a value")).at(*span, "void has no value")
            }
            Self::PrintmSize { span } => error(
                tags::PRINTM_SIZE,
                format!("the size of printm() must be an integer constant, 1 to {MAX_TRACEMEM}"),
            )
            .at(*span, "not such a constant")
            .help("the memref holds the length: `printm(256, memref(address, length))`"),
            Self::PrintmAddress { found, span } => {
                error(tags::PRINTM_ADDR, format!("printm() prints what a memref() names, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .help("pass an address and a length: `memref(address, length)`")
            }
            Self::TracememCount { found, span } => {
                error(tags::TRACEMEM_ARGS, "tracemem() takes an address, a size and, if wanted, a length")
                    .at(*span, format!("{} given", arguments(*found)))
            }
            Self::TracememAddress { found, span } => operand(
                tags::TRACEMEM_ADDR,
                format!("tracemem() needs an address, not {found}"),
                found,
                *span,
            ),
            Self::TracememSize { span } => error(
                tags::TRACEMEM_SIZE,
                format!("the size of tracemem() must be an integer constant, 1 to {MAX_TRACEMEM}"),
            )
            .at(*span, "not such a constant")
            .help("a length that varies is the third argument: `tracemem(address, 256, length)`"),
            Self::TracememLength { found, span } => operand(
                tags::TRACEMEM_DYNSIZE,
                format!("the length of tracemem() must be an integer, not {found}"),
                found,
                *span,
            ),
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::Void { .. } => true,
            Self::Aggregation { .. }
            | Self::Dynamic { .. }
            | Self::PrintmSize { .. }
            | Self::PrintmAddress { .. }
            | Self::TracememCount { .. }
            | Self::TracememAddress { .. }
            | Self::TracememSize { .. }
            | Self::TracememLength { .. } => false,
        }
    }
}
