//! dif/thread.rs: the thread of each record, for output that draws threads.

use super::action::ActionKind;
use super::asm::Assembler;
use super::insn::Builtin;
use super::layout::clause_layout;
use super::program::{
    Action, CtfKind, Difo, Options, Program, Scope, Statement, StatementKind, Type, Variable, VariableKind,
};

/// The kernel's TASK_COMM_LEN, in bytes.
const NAME: u32 = 16;

/// Adds a last statement to each clause that leaves a record, to record its thread too: pid, tid and execname.
pub fn identify(program: &mut Program) {
    let recording: Vec<usize> =
        (0..program.clauses.len()).filter(|clause| records(program, *clause)).collect();
    if recording.is_empty() {
        return;
    }
    let id = Type::by_value(CtfKind::Integer, 4);
    let first = program.difos.len() as u32;
    let parts = [(Builtin::Pid, id), (Builtin::Tid, id), (Builtin::Execname, Type::string(NAME))];
    program.difos.extend(parts.map(|(builtin, ty)| load(builtin, ty)));
    for clause in recording {
        let clause = &mut program.clauses[clause];
        let start = clause.actions.len();
        clause.actions.extend((first..first + 3).map(|difo| Action {
            kind: ActionKind::DifExpr,
            difo: Some(difo),
            ntuple: 0,
            incr: None,
            agg: 0,
            arg: 0,
        }));
        let actions = start..clause.actions.len();
        clause.statements.push(Statement { actions, kind: StatementKind::Thread });
    }
}

/// Whether a firing of the clause leaves a record. A clause that commits a speculation leaves only the
/// speculation's records.
fn records(program: &Program, clause: usize) -> bool {
    let clause = &program.clauses[clause];
    let commits = clause.actions.iter().any(|action| action.kind == ActionKind::Commit);
    let recorded = clause_layout(program, clause, &Options::default()).is_ok_and(|layout| layout.size > 0);
    !commits && (clause.record || recorded)
}

/// Makes an object that returns the variable.
fn load(builtin: Builtin, ty: Type) -> Difo {
    let variable = Variable {
        name: builtin.name().to_string(),
        id: builtin.number(),
        kind: VariableKind::Scalar,
        scope: Scope::Global,
        read: false,
        written: false,
        ty,
    };
    let mut asm = Assembler::new();
    asm.load_scalar(&variable, 1);
    asm.ret(1);
    asm.finish(ty).expect("two instructions are an object")
}
