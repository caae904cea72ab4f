//! sites/target/tree.rs: the modules of a sysroot, from the cached list of its directories, or by a walk over them.

use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::kernel::Kernel;
use crate::cache::directory::Digest;
use crate::cache::tree;
use kinst_debuginfo::ModuleFile;

impl Kernel {
    /// Returns the modules of a sysroot by name. If their list is cached, only the directories are checked,
    /// which shows added and removed files; a file rewritten in place is detected when it is used.
    pub(super) fn modules_of_tree(&self) -> Vec<ModuleFile> {
        let key = std::fs::canonicalize(self.root.path("/")).ok();
        let key = key.map(|path| {
            let path = Digest::new().with(path.as_os_str().as_encoded_bytes());
            path.with(b"\0").with(self.release().as_bytes()).value().to_le_bytes()
        });
        let Some((cache, key)) = self.cache().zip(key) else {
            return self.root.modules().into_values().collect();
        };
        let name = format!("{}-{:016x}.tree", self.release(), u64::from_le_bytes(key));
        let kept = cache.open(&name, tree::KIND, &key).and_then(|file| tree::read(&file));
        if let Some(kept) = kept.filter(|kept| self.root.is_current(kept)) {
            let _ = self.caches.tree.set(name);
            return self.root.modules_of(&kept).into_values().collect();
        }
        let walked = self.root.tree();
        // A list that cannot be cached is built again next time.
        if walked.is_settled()
            && !walked.files.is_empty()
            && cache.can_be_written()
            && let Some(bytes) = tree::write(&key, &walked)
        {
            let _ = cache.write(&name, &bytes);
        }
        self.root.modules_of(&walked).into_values().collect()
    }

    /// Whether a module's files match the cached list. If not, cached facts about all modules are no longer
    /// trusted, and the list is removed for other runs too.
    pub(crate) fn is_module_as_listed(&self, module: usize) -> bool {
        let Some(name) = self.caches.tree.get() else { return true };
        let Some(module) = self.modules().0.get(module) else { return true };
        let same = *module.as_listed.get_or_init(|| module.file.is_as_seen());
        if !same {
            self.caches.is_stale.store(true, Ordering::Relaxed);
            if let Some(cache) = self.cache() {
                cache.remove(name);
            }
        }
        same
    }

    /// Whether the files of all modules match.
    pub(crate) fn is_as_listed(&self) -> bool {
        let all =
            || (0..self.modules().0.len()).into_par_iter().all(|module| self.is_module_as_listed(module));
        *self.caches.as_listed.get_or_init(all)
    }
}
