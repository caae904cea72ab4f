//! backend/bpf/reach.rs: functions that can be probed without the module, known before arming.

use super::functions::{self, FunctionError};
use super::kernel::{TrampolineError, Types};
use super::means::Means;
use kinst_base::image::KERNEL_PROPER;
use kinst_sites::{Begun, Reach, Spots as _, Symbols as _, Text, Unreachable};
use std::collections::HashMap;

/// The kernel's functions, and its means to trace them.
pub(crate) struct Functions {
    text: Text,
}

impl Functions {
    /// `None` if functions can only use kprobes, and refusals are known only at arming.
    pub(crate) fn new(text: Text) -> Option<Functions> {
        text.machine().facts().has_known_trampolines.then(|| Functions { text })
    }
}

impl Reach for Functions {
    fn refusals(&self, begun: &[Begun<'_>]) -> Vec<Option<Unreachable>> {
        let means = Means::get();
        if let Some(why) = FunctionError::of_all(means) {
            return begun.iter().map(|_| Some(why.clone().into())).collect();
        }
        let addresses: Vec<u64> = begun.iter().map(|one| one.address).collect();
        let ftraced = functions::ftraced(&self.text, &addresses);
        let mut modules: HashMap<&str, Option<Types>> = HashMap::new();
        let mut refusals = Vec::with_capacity(begun.len());
        for (one, ftraced) in begun.iter().zip(ftraced) {
            let why = match ftraced {
                // Kprobe events refuse these too, unless the kernel was built otherwise; naming one shows
                // the result.
                false => Some(FunctionError::NotTraced),
                true if means.is_more_than_fentry() => None,
                true if one.module == KERNEL_PROPER => self.without_trampoline(one, Types::get().ok()),
                true => {
                    let of_module = || Types::get().ok()?.of_module(one.module);
                    let own = modules.entry(one.module).or_insert_with(of_module);
                    self.without_trampoline(one, own.as_ref())
                }
            };
            refusals.push(why.map(Unreachable::from));
        }
        refusals
    }
}

impl Functions {
    /// The reason why a function cannot have a trampoline, if no other means is available.
    fn without_trampoline(&self, begun: &Begun<'_>, types: Option<&Types>) -> Option<FunctionError> {
        let name = match begun.name {
            "" => self.text.function_at(begun.address).unwrap_or_default(),
            name => name.to_owned(),
        };
        if !self.text.is_sole(begun.module, &name) {
            return Some(FunctionError::Namesakes);
        }
        let trampoline = types.map_or(Err(TrampolineError::NoTypes), |types| types.trampoline(&name));
        trampoline.err().map(FunctionError::Type)
    }
}
