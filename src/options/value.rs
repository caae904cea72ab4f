//! options/value.rs: the value of an option.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Unset,
    Number(u64),
    Text(String),
    List(Vec<String>),
}
