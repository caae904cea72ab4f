//! typeck/state/names.rs: the variables and aggregations of a program, and suggestions for misspelt names.

use std::collections::HashMap;

use crate::parser::ast;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::typed::{Aggregation, AggregationId, Scope, Variable, VariableId, written_aggregation};
use crate::vocabulary::builtin;
use kinst_base::diag::suggest;
use kinst_base::source::Span;
use kinst_dif::insn::FIRST_USER_VARIABLE;
use kinst_types::Type;

/// The last number for a user variable in each scope.
const LAST_USER_VARIABLE: u32 = 0xffff;

#[derive(Clone, Debug, Default)]
pub(in crate::typeck) struct Names {
    pub variables: Vec<Variable>,
    pub aggregations: Vec<Aggregation>,
    by_name: HashMap<(Scope, String), VariableId>,
    aggregation_by_name: HashMap<String, AggregationId>,
    /// The number of variables in each scope.
    counts: [u32; 3],
}

/// The number of names at one moment.
pub(in crate::typeck) struct Mark {
    variables: usize,
    aggregations: usize,
    counts: [u32; 3],
}

/// A name in a scope, with its span in the source.
#[derive(Clone, Copy, Debug)]
pub(in crate::typeck) struct Name<'a> {
    pub scope: Scope,
    pub name: &'a str,
    pub span: Span,
}

impl Name<'_> {
    pub(crate) fn full(&self) -> String {
        format!("{}{}", self.scope.prefix(), self.name)
    }
}

impl Names {
    pub(crate) fn variable(&self, id: VariableId) -> &Variable {
        &self.variables[id.0]
    }

    pub(crate) fn find(&self, name: &Name<'_>) -> Option<VariableId> {
        self.by_name.get(&(name.scope, name.name.to_string())).copied()
    }

    pub(crate) fn create(
        &mut self,
        name: &Name<'_>,
        keys: Option<Vec<Type>>,
        ty: Type,
    ) -> Result<VariableId> {
        let count = &mut self.counts[name.scope as usize];
        let number = FIRST_USER_VARIABLE + *count;
        if number > LAST_USER_VARIABLE {
            return Err(error::Name::TooManyVariables { span: name.span }.into());
        }
        *count += 1;
        let id = VariableId(self.variables.len());
        self.variables.push(Variable {
            scope: name.scope,
            name: name.name.to_string(),
            number,
            keys,
            ty,
            span: name.span,
            inferred: false,
        });
        self.by_name.insert((name.scope, name.name.to_string()), id);
        Ok(id)
    }

    /// Makes a variable without a declaration.
    pub(crate) fn infer(&mut self, name: &Name<'_>, keys: Option<Vec<Type>>, ty: Type) -> Result<VariableId> {
        let id = self.create(name, keys, ty)?;
        self.variables[id.0].inferred = true;
        Ok(id)
    }

    pub(crate) fn set_type(&mut self, id: VariableId, ty: Type) {
        self.variables[id.0].ty = ty;
    }

    /// Returns a mark that a trial can be reset to.
    pub(crate) fn mark(&self) -> Mark {
        Mark { variables: self.variables.len(), aggregations: self.aggregations.len(), counts: self.counts }
    }

    /// Forgets the names created since the mark.
    pub(crate) fn reset(&mut self, mark: &Mark) {
        for variable in self.variables.drain(mark.variables..) {
            self.by_name.remove(&(variable.scope, variable.name));
        }
        for aggregation in self.aggregations.drain(mark.aggregations..) {
            self.aggregation_by_name.remove(&aggregation.name);
        }
        self.counts = mark.counts;
    }

    pub(crate) fn aggregation(&self, id: AggregationId) -> &Aggregation {
        &self.aggregations[id.0]
    }

    pub(crate) fn find_aggregation(&self, name: &str) -> Option<AggregationId> {
        self.aggregation_by_name.get(name).copied()
    }

    pub(crate) fn create_aggregation(&mut self, aggregation: Aggregation) -> AggregationId {
        let id = AggregationId(self.aggregations.len());
        self.aggregation_by_name.insert(aggregation.name.clone(), id);
        self.aggregations.push(aggregation);
        id
    }

    /// Returns the full name of the variable that a misspelt name may have meant.
    pub(crate) fn similar_variable(&self, name: &Name<'_>) -> Option<String> {
        // The likeliest candidate is the variable of the same name in another scope.
        let namesake = self.variables.iter().find(|v| v.name == name.name && v.scope != name.scope);
        if let Some(variable) = namesake {
            return Some(variable.full_name());
        }
        let own = self.variables.iter().filter(|v| v.scope == name.scope).map(|v| v.name.as_str());
        let known = builtin::TABLE
            .iter()
            .filter(|e| name.scope == Scope::Global && !matches!(e.what, builtin::What::Subroutine(_)))
            .filter(|e| !matches!(e.what, builtin::What::Action(_) | builtin::What::Aggregating(_)))
            .map(|e| e.name);
        let found = suggest::nearest(name.name, own.filter(|n| !n.starts_with('%')).chain(known))?;
        Some(format!("{}{found}", name.scope.prefix()))
    }

    /// Returns the nearest name, as a program writes it.
    pub(crate) fn similar_aggregation(&self, name: &str) -> Option<String> {
        suggest::nearest(name, self.aggregations.iter().map(|a| a.name.as_str())).map(written_aggregation)
    }
}

/// Returns the name if the expression is a plain name, `self->name` or `this->name`.
pub(in crate::typeck) fn as_name(expr: &ast::Expr) -> Option<Name<'_>> {
    match &expr.kind {
        ast::ExprKind::Ident(name) => Some(Name { scope: Scope::Global, name, span: expr.span }),
        ast::ExprKind::Member { base, arrow: true, member } => match base.kind {
            ast::ExprKind::Scope(scope) => {
                Some(Name { scope: scope.into(), name: &member.node, span: expr.span })
            }
            _ => None,
        },
        _ => None,
    }
}

impl From<ast::Scope> for Scope {
    fn from(scope: ast::Scope) -> Scope {
        match scope {
            ast::Scope::SelfThread => Scope::Thread,
            ast::Scope::This => Scope::Clause,
        }
    }
}
