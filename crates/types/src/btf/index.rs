//! types/btf/index.rs: types by name; the index of a group of kinds is built at the first lookup in it.

use super::format::Kind;

/// Kinds that share a name space, or are only ever looked up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// int, float, typedef
    Named,
    /// struct, union, enum, and their forward declarations
    Tagged,
    Functions,
    Variables,
}

impl Group {
    pub(super) const COUNT: usize = 4;

    pub(super) fn has(self, kind: Kind) -> bool {
        match self {
            Group::Named => matches!(kind, Kind::Int | Kind::Float | Kind::Typedef),
            Group::Tagged => {
                matches!(kind, Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Forward)
            }
            Group::Functions => kind == Kind::Function,
            Group::Variables => kind == Kind::Variable,
        }
    }
}

/// Hashes of names with the ids of their types, sorted: sorting a vector of integers takes a fraction of the
/// time of filling a map of strings. The caller distinguishes names with equal hashes.
pub(super) struct Index(Vec<(u32, u32)>);

impl Index {
    /// Builds the index from the types' ids and names.
    pub(super) fn new<'a>(types: impl Iterator<Item = (u32, &'a [u8])>) -> Index {
        let mut entries: Vec<(u32, u32)> = types.map(|(id, name)| (hash(name), id)).collect();
        entries.sort_unstable();
        Index(entries)
    }

    /// The types that may have the name, in order.
    pub(super) fn candidates(&self, name: &str) -> impl Iterator<Item = u32> + '_ {
        let hash = hash(name.as_bytes());
        let first = self.0.partition_point(|entry| entry.0 < hash);
        self.0[first..].iter().take_while(move |entry| entry.0 == hash).map(|entry| entry.1)
    }
}

/// FNV-1a.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
