//! codegen/generator.rs: the state that the objects of a program share, and the generation of each object.

use super::error::{Error, Result};
use super::{layout, uses};
use crate::typeck::typed::{self, Scope};
use kinst_dif::insn::FIRST_USER_VARIABLE;
use std::collections::HashMap;

/// Generates the DIF objects and actions of a whole program.
pub fn generate(program: &typed::Program) -> Result<kinst_dif::Program> {
    program.variables.iter().try_for_each(|variable| fits(variable, program))?;
    let mut generator = Generator::new(program);
    let mut clauses = Vec::new();
    for clause in &program.clauses {
        clauses.push(generator.clause(clause)?);
    }
    let uses = uses::of_aggregations(program);
    let aggregations = program.aggregations.iter().zip(&uses);
    let aggregations = aggregations.map(|(known, uses)| layout::aggregation(known, uses)).collect();
    let variables = generator.all_variables();
    Ok(kinst_dif::Program { difos: generator.difos, variables, aggregations, clauses })
}

/// Checks that a variable can hold its type. A string that does not fit is truncated; any other value must
/// fit whole.
fn fits(variable: &typed::Variable, program: &typed::Program) -> Result<()> {
    let most = u64::from(kinst_dif::MAX_VALUE);
    let whole =
        matches!(variable.ty.resolved(), kinst_types::Type::Array { .. } | kinst_types::Type::Record(_));
    match program.layout.size(&variable.ty) {
        Some(bytes) if whole && bytes > most => {
            let (name, span) = (variable.name.clone(), variable.span);
            Err(Box::new(Error::LargeVariable { name, bytes, most, span }))
        }
        _ => Ok(()),
    }
}

/// The state that the objects of a program share.
pub(super) struct Generator<'a> {
    pub(super) program: &'a typed::Program,
    /// The program's variables in DIF's terms, by [`typed::VariableId`].
    pub(super) variables: Vec<kinst_dif::Variable>,
    /// Clause-local variables for spilled values, made on demand.
    slots: Vec<kinst_dif::Variable>,
    pub(super) difos: Vec<kinst_dif::Difo>,
}

impl<'a> Generator<'a> {
    fn new(program: &'a typed::Program) -> Generator<'a> {
        let variables = program.variables.iter().map(|v| layout::variable(v, &program.layout)).collect();
        Generator { program, variables, slots: Vec::new(), difos: Vec::new() }
    }

    /// Returns the slot with this index; each is made once and serves all objects.
    pub(super) fn slot(&mut self, number: usize) -> kinst_dif::Variable {
        let own = self.program.variables.iter().filter(|v| v.scope == Scope::Clause).count();
        while self.slots.len() <= number {
            let index = self.slots.len();
            self.slots.push(layout::slot(index, FIRST_USER_VARIABLE + (own + index) as u32));
        }
        self.slots[number].clone()
    }

    /// Returns all user variables, each marked as read or written by the program.
    fn all_variables(&self) -> Vec<kinst_dif::Variable> {
        let mut all: Vec<kinst_dif::Variable> = self.variables.iter().chain(&self.slots).cloned().collect();
        let places: HashMap<(kinst_dif::Scope, u32), usize> =
            all.iter().enumerate().map(|(index, variable)| ((variable.scope, variable.id), index)).collect();
        for used in self.difos.iter().flat_map(|difo| &difo.variables) {
            if let Some(variable) = places.get(&(used.scope, used.id)).map(|index| &mut all[*index]) {
                variable.read |= used.read;
                variable.written |= used.written;
            }
        }
        all
    }
}
