//! sites/catalog/fields.rs: whether the fields of a probe are what a description means.

use kinst_base::glob::Pattern;
use kinst_base::probe::Fields;

/// Whether the fields match a probe that is in no module and no function.
pub(super) fn are_nameless(fields: &Fields) -> bool {
    Pattern::new(&fields.module).matches("") && Pattern::new(&fields.function).matches("")
}

/// Whether a probe's fields match those of a description.
pub(super) fn meaning(description: &Fields) -> impl Fn(&Fields) -> bool {
    let Fields { provider, module, function, name } = description;
    let [provider, module, function, name] =
        [provider, module, function, name].map(|field| Pattern::new(field));
    move |probe| {
        provider.matches(&probe.provider)
            && module.matches(&probe.module)
            && function.matches(&probe.function)
            && name.matches(&probe.name)
    }
}
