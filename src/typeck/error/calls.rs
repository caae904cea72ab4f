//! typeck/error/calls.rs: messages about calls of subroutines and actions.

use super::{Error, arguments, error, operand};
use crate::diag::{Diagnostic, tags};
use crate::dif::verify::{MAX_FRAMES, MAX_TRACEMEM};
use crate::vocabulary::builtin;

impl Error {
    pub(super) fn of_calls(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::ArgumentCount { function, found, least, most, span } => {
                let expected = match most {
                    None => format!("at least {}", arguments(*least)),
                    Some(most) if most == least => arguments(*most),
                    Some(most) => format!("{least} to {}", arguments(*most)),
                };
                let title = format!("{function}() takes {expected}, not {found}");
                usage(error(tags::PROTO_LEN, title).at(*span, "wrong number of arguments"), function)
            }
            Error::ArgumentType { function, number, expected, found, span } => {
                let title = format!("argument {number} of {function}() must be {expected}, not {found}");
                usage(error(tags::PROTO_ARG, title).at(*span, format!("this is {found}")), function)
            }
            Error::ActionInExpression { action, span } => {
                error(tags::CG_EXPR, format!("the action {action}() cannot be part of an expression"))
                    .at(*span, "an action has no value")
                    .help(format!("make it a statement of its own: `{action}(…);`"))
            }
            Error::AggregatingInExpression { function, span } => {
                let title = format!("the aggregating function {function}() has no value");
                error(tags::CG_EXPR, title)
                    .at(*span, "only an aggregation takes it")
                    .help(format!("assign it to an aggregation: `@name = {function}(…);`"))
            }
            Error::ActionOperand { op, action, span } => {
                error(tags::OP_ACT, format!("the action {action}() cannot be an operand of `{op}`"))
                    .at(*span, "an action has no value")
                    .help("use `if`/`else`, or two clauses with predicates")
            }
            _ => return None,
        })
    }

    pub(super) fn of_actions(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::Order { tag, title, span, before } => {
                error(*tag, *title).at(*span, "not possible here").and(*before, "after this").help(
                    "use several clauses for the same probe; their actions run in the order of the program",
                )
            }
            Error::TraceAggregation { action, span } => {
                let tag = if *action == "print" { tags::PRINT_AGG } else { tags::TRACE_AGG };
                error(tag, format!("{action}() cannot take an aggregation"))
                    .at(*span, "an aggregation")
                    .help("print it with `printa(@name)`")
            }
            Error::TraceDynamic { action, found, span } => {
                let tag = if *action == "print" { tags::PRINT_DYN } else { tags::TRACE_DYN };
                error(tag, format!("{action}() cannot take a translated object"))
                    .at(*span, format!("a translated {found}"))
                    .help("trace a member of it")
            }
            Error::TraceVoid { action, span } => {
                let tag = if *action == "print" { tags::PRINT_VOID } else { tags::TRACE_VOID };
                error(tag, format!("{action}() needs a value")).at(*span, "void has no value")
            }
            Error::TracememCount { found, span } => {
                error(tags::TRACEMEM_ARGS, "tracemem() takes an address, a size and, if wanted, a length")
                    .at(*span, format!("{} given", arguments(*found)))
            }
            Error::TracememAddress { found, span } => operand(
                tags::TRACEMEM_ADDR,
                format!("tracemem() needs an address, not {found}"),
                found,
                *span,
            ),
            Error::TracememSize { span } => error(
                tags::TRACEMEM_SIZE,
                format!("the size of tracemem() must be an integer constant, 1 to {MAX_TRACEMEM}"),
            )
            .at(*span, "not such a constant")
            .help("a length that varies is the third argument: `tracemem(address, 256, length)`"),
            Error::TracememLength { found, span } => operand(
                tags::TRACEMEM_DYNSIZE,
                format!("the length of tracemem() must be an integer, not {found}"),
                found,
                *span,
            ),
            Error::Absent { tag, what, reason, span } => {
                error(*tag, format!("{what} does not exist on Linux"))
                    .at(*span, "not on this system")
                    .note(*reason)
            }
            Error::PrintmSize { span } => error(
                tags::PRINTM_SIZE,
                format!("the size of printm() must be an integer constant, 1 to {MAX_TRACEMEM}"),
            )
            .at(*span, "not such a constant")
            .help("the length is that of the memref: `printm(256, memref(address, length))`"),
            Error::PrintmAddress { found, span } => {
                error(tags::PRINTM_ADDR, format!("printm() prints what a memref() names, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .help("pass an address and a length: `memref(address, length)`")
            }
            Error::StackCount { user, found, span } => {
                let (tag, title) = match user {
                    true => {
                        (tags::USTACK_PROTO, "ustack() takes at most a number of frames and a string size")
                    }
                    false => (tags::STACK_PROTO, "stack() takes at most a number of frames"),
                };
                error(tag, title).at(*span, format!("{} given", arguments(*found)))
            }
            Error::StackFrames { user, span } => {
                let (tag, name) =
                    if *user { (tags::USTACK_FRAMES, "ustack()") } else { (tags::STACK_SIZE, "stack()") };
                error(
                    tag,
                    format!("the number of frames of {name} must be an integer constant, 1 to {MAX_FRAMES}"),
                )
                .at(*span, "not such a constant")
            }
            Error::UstackStrsize { span } => error(
                tags::USTACK_STRSIZE,
                "the string size of ustack() must be an integer constant, 0 or more",
            )
            .at(*span, "not such a constant"),
            Error::ActionScalar { tag, action, found, span } => operand(
                *tag,
                format!("the number of {action}() must be an integer, not {found}"),
                found,
                *span,
            ),
            Error::PrintaCount { span } => error(tags::PRINTA_PROTO, "printa() needs an aggregation")
                .at(*span, "no aggregation given")
                .help("write `printa(@name)` or `printa(\"format\", @name)`"),
            Error::PrintaKeys { tag, title, names, span, first } => {
                error(*tag, format!("`@{}` and `@{}` {title}", names.0, names.1))
                    .at(*span, "cannot be printed together")
                    .and(*first, "with this one")
            }
            _ => return None,
        })
    }
}

/// The prototype of a subroutine, as a note.
fn usage(diagnostic: Diagnostic, function: &str) -> Diagnostic {
    let Some(builtin::What::Subroutine(prototype)) = builtin::lookup(function).map(|entry| entry.what) else {
        return diagnostic;
    };
    let required = prototype.params.len() - prototype.optional;
    let params: Vec<String> = (prototype.params.iter().enumerate())
        .map(|(i, param)| if i < required { param.to_string() } else { format!("[{param}]") })
        .collect();
    diagnostic.note(format!("{} {function}({})", prototype.returns, params.join(", ")))
}
