//! base/diag/tag.rs: a stable tag of messages.

/// A stable tag, as dtrace's `-xerrtags` prints it: `D_SYNTAX`, `D_IDENT_UNDEF` …
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub &'static str);
