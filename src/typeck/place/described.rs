//! typeck/place/described.rs: descriptions of instructions: which they are, and where a function begins.

use kinst_base::probe::{Description, Fields, Site, is_mangled, split_clone};
use kinst_base::space::Space;

/// Returns the site of the first instruction of a function, for the variables of the function itself.
pub(in crate::typeck) fn first_instruction(fields: &Fields) -> Site {
    let (module, function) = (fields.module.clone(), fields.function.clone());
    match Space::of_program(&fields.provider) {
        None => Site { module, function, ..Site::default() },
        Some(space) => {
            // A copy may begin there too.
            let name = match is_mangled(&function) {
                // Symbols of Rust may have dots.
                true => Some(function.as_str()),
                false => function.split('#').next().map(|name| split_clone(name).0),
            };
            let copy = name.map(str::to_owned);
            Site { space, module, function, copy, ..Site::default() }
        }
    }
}

/// Whether this names one or more instructions, in the kernel or in a program.
pub(in crate::typeck) fn is_of_code(description: &Description) -> bool {
    match description {
        Description::Site(_) => true,
        Description::Fields(fields) => match Space::of_program(&fields.provider) {
            Some(_) => !matches!(fields.name.as_str(), "entry" | "return"),
            None => fields.provider == "kinst" && !fields.function.is_empty(),
        },
        Description::Id(_) => false,
    }
}
