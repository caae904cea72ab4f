//! sites/catalog/fields.rs: matching of a probe's fields with a description.

use kinst_base::glob::Pattern;
use kinst_base::probe::Fields;

/// Whether the fields match a probe without module and function.
pub(super) fn are_nameless(fields: &Fields) -> bool {
    Pattern::new(&fields.module).matches("") && Pattern::new(&fields.function).matches("")
}

/// Returns a predicate for probes whose fields match a description's.
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
