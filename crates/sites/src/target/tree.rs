//! sites/target/tree.rs: the modules of a sysroot, from the kept list of its directories, or by a walk over them.

use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::kernel::Kernel;
use crate::cache::directory::Digest;
use crate::cache::tree;
use kinst_debuginfo::ModuleFile;

impl Kernel {
    /// The modules of a sysroot by name. Where their list is kept, only the directories are looked at, which tell which
    /// files came and went; whether one was rewritten in its place is asked when it is used.
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
        // A list that cannot be kept is made the next time, too.
        if walked.is_settled()
            && !walked.files.is_empty()
            && cache.can_be_written()
            && let Some(bytes) = tree::write(&key, &walked)
        {
            let _ = cache.write(&name, &bytes);
        }
        self.root.modules_of(&walked).into_values().collect()
    }

    /// Whether a module's files are the ones that the kept list names. If not, what is kept of all modules at once is not
    /// believed any more, and no other run believes the list.
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

    /// Whether this is so of all modules.
    pub(crate) fn is_as_listed(&self) -> bool {
        let all =
            || (0..self.modules().0.len()).into_par_iter().all(|module| self.is_module_as_listed(module));
        *self.caches.as_listed.get_or_init(all)
    }
}
