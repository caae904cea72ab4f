//! typeck/place/print_all.rs: print(args) and print(locals): all variables at a probe, and why some cannot be read.

use super::arguments::name;
use super::described::is_of_code;
use super::locals::parameter;
use crate::parser::ast;
use crate::typeck::error;
use crate::typeck::error::Result;
use crate::typeck::state::Checker;
use crate::typeck::state::place::Place;
use crate::typeck::typed::{Printed, StmtKind};
use kinst_base::source::Span;
use kinst_dif::MAX_VALUE;
use kinst_dwarf::variables::scope::{Scope, Variable};

impl Checker<'_> {
    /// Checks print(args) and print(locals); `None` if the argument is an expression.
    pub(in crate::typeck) fn check_print_all(
        &mut self,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Result<StmtKind>> {
        let [arg] = args else { return None };
        let lines = match &arg.kind {
            ast::ExprKind::Ident(name) if name == "args" => self.all_arguments(arg, span),
            _ if self.is_locals(arg) => self.all_locals(arg.span),
            _ => return None,
        };
        Some(lines.map(StmtKind::PrintAll))
    }

    /// Returns the variables in scope, by function, innermost first.
    fn all_locals(&mut self, span: Span) -> Result<Vec<Printed>> {
        let place = self.require_place("locals", span)?;
        let scope = self.require_scope(&place, "`locals`", span)?;
        let mut lines = Vec::new();
        for frame in &scope.frames {
            let variables = frame.parameters.iter().chain(&frame.locals).chain(&frame.gone);
            let named: Vec<&Variable> = variables.filter(|variable| !variable.name.is_empty()).collect();
            if !named.is_empty() {
                lines.push(Printed::Function(frame.function.clone()));
            }
            for variable in named {
                lines.push(self.printed(variable, variable.name.clone(), scope, &place, span)?);
            }
        }
        Ok(lines)
    }

    fn all_arguments(&mut self, args: &ast::Expr, span: Span) -> Result<Vec<Printed>> {
        if let Some(place) = self.place.clone().filter(|place| is_of_code(&place.probe.kind)) {
            let scope = self.require_scope(&place, "`args`", args.span)?;
            let parameters = scope.frame().map(|frame| frame.parameters.as_slice()).unwrap_or_default();
            let named = parameters
                .iter()
                .enumerate()
                .map(|(number, parameter)| (name(number, &parameter.name), parameter));
            return named
                .map(|(name, parameter)| self.printed(parameter, name, scope, &place, args.span))
                .collect();
        }
        let Some(probes) = self.probes.clone() else {
            return Err(error::Args::Outside { span: args.span }.into());
        };
        let names = probes.first().map(|probe| self.argument_names(&probe.kind)).unwrap_or_default();
        let element = |number: usize| {
            let index = ast::ExprKind::Int { value: number as u64, text: number.to_string() };
            let indices = vec![ast::Expr::new(index, args.span)];
            ast::Expr::new(ast::ExprKind::Index { base: Box::new(args.clone()), indices }, args.span)
        };
        let mut lines = Vec::new();
        // Without types, the first argument gives the reason.
        for number in 0..names.len().max(1) {
            let name = names.get(number).cloned().unwrap_or_default();
            lines.push(match self.check_traced("print", &[element(number)], span) {
                Ok(value) => Printed::Variable { name, printed: Box::new(self.printed_value(value)) },
                Err(error) => match error.vector_register() {
                    Some((register, ty)) => {
                        let why =
                            format!("it is in the vector register %xmm{register}, which a probe cannot read");
                        Printed::Missing { name, ty: ty.to_string(), why }
                    }
                    None => self.argument_elsewhere(number, name, span).unwrap_or(Err(error))?,
                },
            });
        }
        Ok(lines)
    }

    /// Prints an argument of a function in a program that cannot be read as args[], or why.
    fn argument_elsewhere(&mut self, number: usize, name: String, span: Span) -> Option<Result<Printed>> {
        let place = self.place.clone()?;
        let (scope, variable) = parameter(&place, number as u64)?;
        Some(self.printed(variable, name, scope, &place, span))
    }

    fn printed(
        &mut self,
        variable: &Variable,
        name: String,
        scope: &Scope,
        place: &Place,
        span: Span,
    ) -> Result<Printed> {
        let ty = self.type_of_variable(variable, scope);
        let bytes = self.layout.size(&ty).unwrap_or(0);
        let missing = |name: String, why: String| Ok(Printed::Missing { name, ty: ty.to_string(), why });
        if !self.is_readable(&ty) {
            let why = "the size of its type is not known";
            return missing(name, why.to_owned());
        }
        if bytes > u64::from(MAX_VALUE) {
            return missing(name, format!("it has {bytes} bytes, and {MAX_VALUE} can be recorded"));
        }
        // A missing variable is not an error here: the list shows the reason.
        let before = self.absences.len();
        let value = self.read_variable(variable, &format!("print {name}"), scope, place, span)?;
        if self.absences.len() > before {
            let absence = self.absences.pop().and_then(|absence| absence.places.into_iter().next());
            return missing(name, absence.map(|(_, why)| why).unwrap_or_default());
        }
        Ok(Printed::Variable { name, printed: Box::new(self.printed_value(value)) })
    }
}
