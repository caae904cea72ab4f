//! consumer/recent.rs: a bounded cache that keeps recently used values.

use std::collections::HashMap;
use std::hash::Hash;

/// A cache of two generations. A used value moves to the younger one; when that is full, the older one is dropped. The
/// cache holds at most twice its limit, and one value more.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    limit: usize,
    /// The weight of the younger generation.
    weight: usize,
    weigh: fn(&V) -> usize,
}

impl<K: Eq + Hash + Clone, V> Recent<K, V> {
    /// Makes a cache of at most `limit` values in each generation.
    pub(crate) fn new(limit: usize) -> Recent<K, V> {
        Recent::weighed(limit, |_| 1)
    }

    /// Makes a cache with a total weight of at most `limit` in each generation.
    pub(crate) fn weighed(limit: usize, weigh: fn(&V) -> usize) -> Recent<K, V> {
        Recent { young: HashMap::new(), old: HashMap::new(), limit, weight: 0, weigh }
    }

    /// Returns the value of a key, which `make` supplies if it is missing.
    pub(crate) fn get_or_make(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        if !self.young.contains_key(&key) {
            let value = self.old.remove(&key).unwrap_or_else(make);
            self.insert(key.clone(), value);
        }
        self.young.entry(key).or_insert_with(|| unreachable!("it was inserted above"))
    }

    pub(crate) fn get(&mut self, key: &K) -> Option<&mut V> {
        if !self.young.contains_key(key) {
            let value = self.old.remove(key)?;
            self.insert(key.clone(), value);
        }
        self.young.get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        let more = (self.weigh)(&value);
        if self.weight > 0 && self.weight.saturating_add(more) > self.limit {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        self.old.remove(&key);
        self.weight = self.weight.saturating_add(more);
        if let Some(before) = self.young.insert(key, value) {
            self.weight = self.weight.saturating_sub((self.weigh)(&before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays() {
        let mut recent = Recent::new(100);
        let mut made = 0;
        for number in 0..10_000u64 {
            for key in [number, 1 << 40] {
                assert_eq!(
                    *recent.get_or_make(key, || {
                        made += u64::from(key > number);
                        key * 2
                    }),
                    key * 2
                );
            }
            assert!(
                recent.young.len() + recent.old.len() <= 200,
                "{}",
                recent.young.len() + recent.old.len()
            );
        }
        assert_eq!(made, 1);
        assert!(recent.get(&5).is_none() && recent.get(&9_999).is_some());
    }

    #[test]
    fn large_values_count_by_their_weight() {
        let mut recent: Recent<u32, Vec<u8>> = Recent::weighed(1000, Vec::len);
        recent.insert(1, vec![0; 5000]);
        assert!(recent.get(&1).is_some());
        for key in 2..100 {
            recent.insert(key, vec![0; 400]);
            recent.insert(key, vec![0; 300]);
            let held: usize = recent.young.values().chain(recent.old.values()).map(Vec::len).sum();
            assert!(held <= 2000 || key < 8, "{held}");
        }
        assert!(recent.get(&1).is_none() && recent.get(&99).is_some());
    }
}
