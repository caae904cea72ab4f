//! typeck/declare/pragma.rs: pragmas about names, and the dependencies of a program or library.

use std::collections::HashSet;

use crate::parser::ast::{Pragma, PragmaSubject};
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::names::Name;
use crate::typeck::typed::Scope;
use crate::vocabulary::{builtin, constants};
use kinst_base::attributes::{self, CLASSES, STABILITIES, Trouble};
use kinst_base::diag::suggest;
use kinst_base::source::Spanned;

/// The parts of a provider that have separate attributes.
const PARTS: [&str; 5] = ["provider", "module", "function", "name", "args"];

impl Checker<'_> {
    /// Checks the pragma without reference to the rest of the program.
    pub(in crate::typeck) fn check_pragma(&mut self, pragma: &Pragma) -> Result<()> {
        match pragma {
            Pragma::Option { .. } => Ok(()),
            Pragma::Attributes { attributes, of, .. } => {
                check_attributes(attributes)?;
                match of {
                    PragmaSubject::Identifier(name) => self.check_owned(name),
                    PragmaSubject::Provider { part, .. } => known(&PARTS, part, "part of a provider"),
                }
            }
            Pragma::Binding { version, name, .. } => {
                let numbers: Vec<&str> = version.node.split('.').collect();
                let valid =
                    (1..=3).contains(&numbers.len()) && numbers.iter().all(|n| n.parse::<u8>().is_ok());
                if !valid {
                    let (what, found) = ("version", version.node.clone());
                    return Err(error::Pragma::Word { what, found, similar: None, span: version.span }.into());
                }
                self.check_owned(name)
            }
            Pragma::DependsOn { class, name, .. } => self.check_dependency(class, name),
        }
    }

    /// Refuses a pragma about a name that every program has: the program may not describe it.
    fn check_owned(&self, name: &Spanned<String>) -> Result<()> {
        let known = match self.builtin(&name.node).map(|entry| entry.what) {
            // A library variable is described by the library that defines it.
            Some(builtin::What::Library) => !self.in_library,
            Some(_) => true,
            None => constants::lookup(&name.node).is_some(),
        };
        match known {
            true => Err(error::Pragma::Scope { name: name.node.clone(), span: name.span }.into()),
            false => Ok(()),
        }
    }

    /// Checks, after all declarations, that they include the name.
    pub(in crate::typeck) fn require_used(&self, pragma: &Pragma, providers: &HashSet<&str>) -> Result<()> {
        if let Pragma::Attributes { of: PragmaSubject::Provider { name, .. }, .. } = pragma {
            let there =
                attributes::Provider::known(&name.node).is_some() || providers.contains(name.node.as_str());
            return match there {
                true => Ok(()),
                false => Err(error::Pragma::Unused { name: name.node.clone(), span: name.span }.into()),
            };
        }
        let (Pragma::Attributes { of: PragmaSubject::Identifier(name), .. } | Pragma::Binding { name, .. }) =
            pragma
        else {
            return Ok(());
        };
        let wanted = Name { scope: Scope::Global, name: &name.node, span: name.span };
        let declared = self.names.find(&wanted).is_some()
            || self.inlines.contains_key(&name.node)
            || self.externs.contains_key(&name.node);
        match declared {
            true => Ok(()),
            false => Err(error::Pragma::Unused { name: name.node.clone(), span: name.span }.into()),
        }
    }

    fn check_dependency(&self, class: &Spanned<String>, name: &Spanned<String>) -> Result<()> {
        known(&["provider", "module", "library"], class, "class of dependency")?;
        let met = match class.node.as_str() {
            "provider" => attributes::Provider::known(&name.node).is_some() || self.has_provider(&name.node),
            "module" => self.env.kernel.has_module(&name.node),
            // Only libraries are read in the order of their dependencies.
            _ => self.in_library && self.loaded.contains(&name.node),
        };
        match met {
            true => Ok(()),
            false => {
                let (class, name, span) = (class.node.clone(), name.node.clone(), name.span);
                Err(error::Pragma::Dependency { class, name, span }.into())
            }
        }
    }
}

/// Checks `name/data/class`.
fn check_attributes(attributes: &Spanned<String>) -> Result<()> {
    let (word, words, what) = match attributes::parse(&attributes.node) {
        Ok(_) => return Ok(()),
        Err(Trouble::Shape) => (attributes.node.clone(), &[][..], "attribute"),
        Err(Trouble::Stability(word)) => (word, &STABILITIES[..], "stability"),
        Err(Trouble::Class(word)) => (word, &CLASSES[..], "class"),
    };
    known(words, &Spanned::new(word, attributes.span), what)
}

/// Checks that a word is one of `words`, ignoring case.
fn known(words: &[&str], word: &Spanned<String>, what: &'static str) -> Result<()> {
    if words.iter().any(|known| known.eq_ignore_ascii_case(&word.node)) {
        return Ok(());
    }
    let similar = suggest::nearest(&word.node, words.iter().copied()).map(str::to_string);
    Err(error::Pragma::Word { what, found: word.node.clone(), similar, span: word.span }.into())
}
