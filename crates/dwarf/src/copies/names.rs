//! dwarf/copies/names.rs: the names of the functions that a walk looks for, with ids.

use std::sync::{Mutex, MutexGuard};

use foldhash::HashMap;

use crate::golang::{GoQuery, without_instance};
use crate::mangled::trait_of_symbol;
use crate::query::{Query, generic};

/// The functions to look for; their names have ids.
pub(crate) enum Names<'n> {
    /// The ids are indices in the list.
    These { numbers: HashMap<&'n [u8], usize>, count: usize },
    /// All matching functions share one id.
    Meant(Query, GoQuery),
    /// Ids are assigned in the order of discovery.
    All { shards: Vec<Mutex<HashMap<Vec<u8>, usize>>>, next: Mutex<usize> },
}

/// The number of shards; with these, two threads rarely lock the same one.
const SHARDS: usize = 16;

impl<'n> Names<'n> {
    pub(crate) fn these(wanted: &'n [String]) -> Names<'n> {
        let numbers = wanted.iter().enumerate().map(|(number, name)| (name.as_bytes(), number)).collect();
        Names::These { numbers, count: wanted.len() }
    }

    pub(crate) fn all() -> Names<'n> {
        Names::All { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), next: Mutex::new(0) }
    }

    /// The id of a function, by its path from the outside in, in languages with paths, and its symbol. A name matches
    /// all instances of a generic.
    pub(crate) fn number_of(&self, path: &[&str], symbol: Option<&str>) -> Option<usize> {
        let name = path.last()?;
        match self {
            Names::These { .. } => {
                self.number(name.as_bytes()).or_else(|| self.number(generic(name).0.as_bytes()))
            }
            Names::Meant(query, _) => {
                let is_of_trait = |symbol| query.is_of_trait(&trait_of_symbol(symbol).unwrap_or_default());
                let is_meant = query.matches(path) && (!query.has_trait() || symbol.is_some_and(is_of_trait));
                is_meant.then_some(0)
            }
            Names::All { .. } => self.number(name.as_bytes()),
        }
    }

    /// The id of a function of Go, whose name is its path.
    pub(crate) fn number_in_go(&self, name: &str) -> Option<usize> {
        match self {
            Names::Meant(_, query) => query.matches(name).then_some(0),
            _ => self.number(without_instance(name).as_bytes()),
        }
    }

    pub(crate) fn number(&self, name: &[u8]) -> Option<usize> {
        match self {
            Names::These { numbers, .. } => numbers.get(name).copied(),
            Names::Meant(query, _) => {
                let name = std::str::from_utf8(name).ok()?;
                (query.matches(&[name]) && !query.has_trait()).then_some(0)
            }
            Names::All { shards, next } => {
                let mut shard = lock(&shards[shard_of(name)]);
                if let Some(number) = shard.get(name) {
                    return Some(*number);
                }
                let mut next = lock(next);
                let number = *next;
                *next += 1;
                shard.insert(name.to_vec(), number);
                Some(number)
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Names::These { count, .. } => *count,
            Names::Meant(..) => 1,
            Names::All { next, .. } => *lock(next),
        }
    }

    /// All names by id; one that is not UTF-8 cannot be looked up, and is converted lossily.
    pub(crate) fn into_names(self) -> Vec<String> {
        let mut names = vec![String::new(); self.len()];
        let mut put = |name: &[u8], number: usize| names[number] = String::from_utf8_lossy(name).into_owned();
        match self {
            Names::These { numbers, .. } => numbers.into_iter().for_each(|(name, number)| put(name, number)),
            Names::Meant(..) => {}
            Names::All { shards, .. } => shards
                .iter()
                .for_each(|shard| lock(shard).iter().for_each(|(name, number)| put(name, *number))),
        }
        names
    }
}

fn shard_of(name: &[u8]) -> usize {
    name.iter().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte))) % SHARDS
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data under a lock only grows: it is intact even if a thread panicked.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
