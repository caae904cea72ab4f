//! typeck/declare/: what a program declares: types, variables, inlines, translators, providers, pragmas.

pub(super) mod decl;
pub(super) mod inline;
pub(super) mod library;
pub(super) mod pragma;
pub(super) mod provider;
pub(super) mod record;
pub(super) mod specs;
pub(super) mod translator;
