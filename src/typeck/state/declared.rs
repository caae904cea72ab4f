//! typeck/state/declared.rs: the declarations other than types and variables: inlines, translators, providers.

use std::collections::HashMap;

use crate::parser::ast;
use crate::typeck::typed::Expr;
use kinst_base::attributes::Attributes;
use kinst_base::source::{Span, Spanned};
use kinst_types::{Tagged, Type};

/// A name that stands for an expression.
#[derive(Clone, Debug)]
pub(in crate::typeck) struct Inline {
    /// `Some` if it takes arguments in brackets.
    pub params: Option<Vec<(String, Type)>>,
    pub ty: Type,
    pub value: Value,
    /// The attributes of everything that its value depends on; a pragma may override them.
    pub attributes: Attributes,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(in crate::typeck) enum Value {
    Constant(i64),
    /// Checked anew at each use, with the parameters bound.
    Expression(ast::Expr),
}

/// The expressions that the parameter names stand for while a body is checked.
pub(in crate::typeck) type Frame = HashMap<String, Expr>;

#[derive(Clone, Debug)]
pub(in crate::typeck) struct Translator {
    pub output: Tagged,
    pub input: Type,
    pub parameter: String,
    pub members: Vec<(Spanned<String>, ast::Expr)>,
    pub span: Span,
}

/// The translators in the order of their definition, and by the output's name, as there may be many.
#[derive(Clone, Debug, Default)]
pub(in crate::typeck) struct Translators {
    pub list: Vec<Translator>,
    by_output: HashMap<String, Vec<usize>>,
}

impl Translators {
    pub(crate) fn push(&mut self, translator: Translator) {
        self.by_output.entry(translator.output.name.clone()).or_default().push(self.list.len());
        self.list.push(translator);
    }

    /// Returns the translators that make this type, with their indices.
    pub(crate) fn making(&self, output: &Tagged) -> impl Iterator<Item = (usize, &Translator)> {
        let indices = self.by_output.get(&output.name).into_iter().flatten();
        let all = indices.map(|&index| (index, &self.list[index]));
        all.filter(move |(_, translator)| translator.output.same(output))
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
        self.by_output.values_mut().for_each(|indices| indices.retain(|&index| index < len));
    }
}

#[derive(Clone, Debug)]
pub(in crate::typeck) struct Provider {
    pub probes: Vec<Probe>,
}

#[derive(Clone, Debug)]
pub(in crate::typeck) struct Probe {
    pub name: String,
    pub native: Vec<Type>,
    /// The arguments as programs see them, each with the index of its native argument.
    pub translated: Vec<(Type, usize)>,
}
