//! sites/image/naming.rs: unambiguous names of addresses in probe descriptions.

use super::handle::Image;
use crate::flow::points::Point;
use crate::model::FoundSite;
use crate::symtab::Symbol;
use kinst_base::probe::{Site, Target};

/// A function as written in a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionRef {
    pub function: String,
    pub module_needed: bool,
}

/// Splits a function name in a description: `show#2` is the second of its namesakes in address order.
pub(crate) fn split_ordinal(function: &str) -> (&str, Option<usize>) {
    match function.rsplit_once('#') {
        Some((name, ordinal)) if !name.is_empty() => match ordinal.parse() {
            Ok(ordinal) if ordinal > 0 => (name, Some(ordinal)),
            _ => (function, None),
        },
        _ => (function, None),
    }
}

impl<'k> Image<'k> {
    /// Returns the shortest unambiguous name of the function. Namesakes within a module are numbered in
    /// address order, as in livepatch; across modules, the kernel proper comes first.
    pub(crate) fn function_ref(self, symbol: &Symbol) -> Option<FunctionRef> {
        let symbols = self.symbols()?;
        let name = symbols.name(symbol);
        if !self.all().is_shared(name) {
            return Some(FunctionRef { function: name.to_owned(), module_needed: false });
        }
        let here = symbols.named(name);
        let position = here.iter().position(|namesake| namesake.address == symbol.address)?;
        if here.len() == 1 {
            return Some(FunctionRef { function: name.to_owned(), module_needed: true });
        }
        Some(FunctionRef {
            function: format!("{name}#{}", position + 1),
            module_needed: !self.all().is_first(self.id()),
        })
    }

    /// Returns the name that means this function alone.
    pub(crate) fn own_name(self, symbol: &Symbol) -> String {
        let reference = self.function_ref(symbol).map(|reference| reference.function);
        reference.or_else(|| Some(self.symbols()?.name(symbol).to_owned())).unwrap_or_default()
    }

    /// Returns the functions that a name without globs means, by address.
    pub(crate) fn functions_named(self, function: &str) -> Vec<Symbol> {
        let (name, ordinal) = split_ordinal(function);
        let all = self.symbols().map(|symbols| symbols.named(name)).unwrap_or_default().into_iter();
        let all: Vec<Symbol> = match ordinal {
            Some(ordinal) => all.skip(ordinal - 1).take(1).copied().collect(),
            None => all.copied().collect(),
        };
        all.into_iter().filter(|symbol| !symbol.gone()).collect()
    }

    /// Returns the function that contains an address, unless its code has been freed.
    pub(crate) fn caller(self, address: u64) -> Result<&'k Symbol, NoSite> {
        let symbol = self.symbols().and_then(|symbols| symbols.containing(address));
        match symbol {
            Some(symbol) if !symbol.gone() => Ok(symbol),
            Some(_) => Err(NoSite::Freed),
            // Freed code of a module has no symbols.
            None => {
                let section = self.layout().and_then(|image| image.section_at(address));
                let freed = section.is_some_and(|section| section.name.starts_with(".init"));
                Err(if freed { NoSite::Freed } else { NoSite::Dead })
            }
        }
    }

    /// Returns the site at an address.
    pub(crate) fn site(self, address: u64) -> Result<FoundSite, NoSite> {
        let symbol = self.caller(address)?;
        let name = self.function_ref(symbol).ok_or(NoSite::Dead)?;
        let site = Site {
            module: self.name().to_owned(),
            function: name.function,
            offset: address - symbol.address,
            ..Site::default()
        };
        Ok(FoundSite { site, module_needed: name.module_needed })
    }

    /// Returns the site of a point in the control flow.
    pub(crate) fn point(self, point: Point) -> Result<FoundSite, NoSite> {
        let found = self.site(point.address())?;
        let Point::Edge { from, over, to } = point else { return Ok(found) };
        let target = self.target(from, to).ok_or(NoSite::Dead)?;
        let start = from - found.site.offset;
        let over = over.keys().iter().map(|key| key.checked_sub(start)).collect::<Option<_>>();
        let site = Site { over: over.ok_or(NoSite::Dead)?, to: Some(target), ..found.site };
        Ok(FoundSite { site, ..found })
    }

    /// Returns the end of an edge by its name in a description. A namesake needs no ordinal: the branch has
    /// only one target address.
    pub(crate) fn target(self, from: u64, to: u64) -> Option<Target> {
        let symbols = self.symbols()?;
        let own = symbols.containing(from)?;
        if to.checked_sub(own.address).is_some_and(|offset| offset < own.size) {
            return Some(Target { function: None, offset: to - own.address });
        }
        let symbol = symbols.containing(to)?;
        Some(Target { function: Some(symbols.name(symbol).to_owned()), offset: to - symbol.address })
    }
}

/// Why an address is not a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSite {
    /// In a section that is freed after boot.
    Freed,
    /// Outside all functions: code that the linker removed.
    Dead,
}

#[cfg(test)]
mod tests {
    use super::split_ordinal;

    #[test]
    fn ordinals() {
        assert_eq!(split_ordinal("show#2"), ("show", Some(2)));
        assert_eq!(split_ordinal("show"), ("show", None));
        assert_eq!(split_ordinal("show#0"), ("show#0", None));
        assert_eq!(split_ordinal("#2"), ("#2", None));
        assert_eq!(split_ordinal("show#x"), ("show#x", None));
    }
}
