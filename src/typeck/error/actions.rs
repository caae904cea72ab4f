//! typeck/error/actions.rs: messages about the other actions, and about their order.

use super::text::{arguments, did_you_mean, error, operand};
use kinst_base::diag::{Diagnostic, Tag, tags};
use kinst_base::source::Span;
use kinst_dif::MAX_FRAMES;
use kinst_types::Type;

/// An action that rejects its arguments or cannot follow another action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Order { tag: Tag, title: &'static str, span: Span, before: Span },
    StackCount { user: bool, found: usize, span: Span },
    StackFrames { user: bool, span: Span },
    UstackStrsize { span: Span },
    NotInteger { tag: Tag, action: &'static str, found: Type, span: Span },
    PrintaCount { span: Span },
    PrintaKeys { tag: Tag, title: &'static str, names: (String, String), span: Span, first: Span },
    NotAggregation { tag: Tag, name: &'static str, span: Span },
    AggregationUndefined { tag: Tag, aggregation: String, similar: Option<String>, span: Span },
    AggregationCount { tag: Tag, action: &'static str, expected: &'static str, found: usize, span: Span },
}

impl Action {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Order { tag, title, span, before } => error(*tag, *title)
                .at(*span, "not possible here")
                .and(*before, "after this")
                .help("use several clauses for the same probe; their actions run in program order"),
            Self::StackCount { user, found, span } => {
                let (tag, title) = match user {
                    true => {
                        (tags::USTACK_PROTO, "ustack() takes at most a number of frames and a string size")
                    }
                    false => (tags::STACK_PROTO, "stack() takes at most a number of frames"),
                };
                error(tag, title).at(*span, format!("{} given", arguments(*found)))
            }
            Self::StackFrames { user, span } => {
                let (tag, name) =
                    if *user { (tags::USTACK_FRAMES, "ustack()") } else { (tags::STACK_SIZE, "stack()") };
                error(
                    tag,
                    format!("the number of frames of {name} must be an integer constant, 1 to {MAX_FRAMES}"),
                )
                .at(*span, "not such a constant")
            }
            Self::UstackStrsize { span } => error(
                tags::USTACK_STRSIZE,
                "the string size of ustack() must be an integer constant, 0 or more",
            )
            .at(*span, "not such a constant"),
            Self::NotInteger { tag, action, found, span } => operand(
                *tag,
                format!("the number of {action}() must be an integer, not {found}"),
                found,
                *span,
            ),
            Self::PrintaCount { span } => error(tags::PRINTA_PROTO, "printa() needs an aggregation")
                .at(*span, "no aggregation given")
                .help("write `printa(@name)` or `printa(\"format\", @name)`"),
            Self::PrintaKeys { tag, title, names, span, first } => {
                error(*tag, format!("`{}` and `{}` {title}", names.0, names.1))
                    .at(*span, "cannot be printed together")
                    .and(*first, "with this one")
            }
            Self::NotAggregation { tag, name, span } => {
                error(*tag, format!("{name}() needs an aggregation by its name, without keys"))
                    .at(*span, "not the name of an aggregation")
                    .help(format!("write `{name}(@name)`"))
            }
            Self::AggregationUndefined { tag, aggregation, similar, span } => {
                let diagnostic = error(*tag, format!("nothing is assigned to `{aggregation}`"));
                did_you_mean(diagnostic.at(*span, "not assigned so far"), similar)
            }
            Self::AggregationCount { tag, action, expected, found, span } => {
                error(*tag, format!("{action}() takes {expected}"))
                    .at(*span, format!("{} given", arguments(*found)))
            }
        }
    }

    pub(super) fn is_about_void(&self) -> bool {
        match self {
            Self::NotInteger { found, .. } => found.is_void(),
            Self::Order { .. }
            | Self::StackCount { .. }
            | Self::StackFrames { .. }
            | Self::UstackStrsize { .. }
            | Self::PrintaCount { .. }
            | Self::PrintaKeys { .. }
            | Self::NotAggregation { .. }
            | Self::AggregationUndefined { .. }
            | Self::AggregationCount { .. } => false,
        }
    }
}
