//! codegen/tests/: tests of whole programs compiled to DIF and run.

#[allow(clippy::wildcard_enum_match_arm)]
mod property;
mod property_strings;

use super::generator::generate;
use crate::typeck::tests::check_text;
use kinst_dif::insn::{Builtin, Subr};
use kinst_dif::{ActionKind, Options, disasm, layout, thread};
use kinst_oracle::interp::Flt;
use kinst_oracle::interp::{self, Machine, Space, State};

/// Compiles a text to verified DIF.
pub(super) fn compile(text: &str) -> kinst_dif::Program {
    let typed = check_text(text).unwrap_or_else(|d| panic!("{text}: {} {}", d.tag.0, d.title));
    let program = generate(&typed).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    if let Err(error) = kinst_oracle::verify::verify_program(&program, &options()) {
        panic!("{text}: {error}\n{}", disasm::program(&program));
    }
    program
}

fn options() -> Options {
    Options { destructive: true, ..Options::default() }
}

/// A machine in which the value of every built-in is its id.
pub(super) struct Still;

impl Machine for Still {
    fn read(&mut self, _: Space, _: u64, _: &mut [u8]) -> bool {
        false
    }
    fn write_user(&mut self, _: u64, _: &[u8]) -> bool {
        false
    }
    fn builtin(&mut self, variable: Builtin) -> Result<u64, Flt> {
        Ok(variable.number().into())
    }
    fn argument(&mut self, index: u64) -> u64 {
        index
    }
    fn register(&mut self, _: Space, index: u64) -> Result<u64, Flt> {
        Ok(index)
    }
    fn system(&mut self, _: Subr, _: &[u64]) -> Result<u64, Flt> {
        Ok(0)
    }
    fn thread(&mut self) -> u64 {
        1
    }
}

/// Runs every clause once, in order; returns the values of trace() and exit(), or the first fault.
pub(super) fn run(program: &kinst_dif::Program) -> Result<Vec<u64>, Flt> {
    let mut state = State::new(&program.variables, &options());
    let mut values = Vec::new();
    state.fire();
    for clause in &program.clauses {
        for action in &clause.actions {
            let Some(index) = action.difo else { continue };
            let difo = &program.difos[index as usize];
            let value = interp::run(difo, &mut state, &mut Still).map_err(|fault| fault.code)?;
            let traced = action.kind == ActionKind::DifExpr && difo.rtype.size > 0;
            if traced || action.kind == ActionKind::Exit {
                values.push(value);
            }
        }
    }
    Ok(values)
}

#[test]
fn the_main_job() {
    let program = compile(r#"kinst::f:entry { printf("\t%d\t%s", pid, execname); }"#);
    let kinds: Vec<_> = program.clauses[0].actions.iter().map(|action| action.kind).collect();
    assert_eq!(kinds, [ActionKind::Printf, ActionKind::Printf]);
    assert!(!program.clauses[0].record);
}

#[test]
fn what_records_nothing_by_itself() {
    let program = compile(r#"a:::x { } b:::x { printf("hello\n"); } c:::x { y = 1; } d:::x { stack(); }"#);
    let records: Vec<bool> = program.clauses.iter().map(|clause| clause.record).collect();
    assert_eq!(records, [true, true, false, false]);
}

#[test]
fn values() {
    for (body, value) in [
        ("x = 3; y = x * 4; trace(y - 20);", -8),
        ("x = 10; x += 5; x <<= 2; trace(x++); ", 60),
        ("x = 1; trace(x ? 7 : 8);", 7),
        ("x = 0; trace(x ? 7 : 8);", 8),
        ("x = 2; trace((x > 1) ^^ (x > 5));", 1),
        ("a[1, \"k\"] = 4; a[1, \"k\"]++; trace(a[1, \"k\"] + a[2, \"k\"]);", 5),
        ("self->n--; trace(self->n);", -1),
        ("self->n[3] += 7; trace(self->n[3]++ * 2);", 14),
        ("this->c = (char)300; trace(this->c);", 44),
        ("x = 0xffffffff; trace((int)x);", -1),
        ("s = \"abc\"; trace(s == \"abc\" && s < \"abd\");", 1),
        ("trace(strlen(strjoin(\"ab\", \"cde\")));", 5),
        ("p = (int *)alloca(16); p[1] = 9; *(p + 1) += 1; trace(p[1] + (p + 2 - p));", 12),
        ("x = 7; trace((x = 1, x + 1));", 2),
        ("trace(sizeof (int) + sizeof \"ab\");", 7),
        ("trace(-7 / 2 * 10 + -7 % 3);", -31),
        ("x = (uint8_t)200; trace((int8_t)x);", -56),
        ("trace(pid == 0x116);", 1),
        ("x = 1; y = 2; trace(x++ + ++y - --x);", 3),
        ("x = (uint8_t)0; x = -3; trace(x == 253 ? (int64_t)x : -1);", 253),
        ("x = (uint8_t)255; x++; trace((int64_t)x);", 0),
        ("x = (uint32_t)0; trace(x-- == 0 && x == 4294967295);", 1),
        ("a[1] = (uint8_t)0; a[1] = 300; trace((int64_t)a[1] + 1);", 45),
        ("self->c = (int8_t)0; self->c = 200; trace(self->c < 0);", 1),
        ("this->h = (uint16_t)0; this->h += 70000; trace((int64_t)this->h);", 4464),
        ("x = 0; x = 0xfffffffffffffffe; trace(x == -2 && x < 0);", 1),
        ("p = (uint8_t *)alloca(4); trace((int64_t)(p[1] = 300) + ++p[1]);", 89),
        ("k = (uint8_t)0; k = 300; a[44] = 7; trace(a[k]);", 7),
    ] {
        let program = compile(&format!("BEGIN {{ {body} }}"));
        let values = run(&program).unwrap_or_else(|fault| panic!("{body}: {fault:?}"));
        assert_eq!(values.last(), Some(&(value as i64 as u64)), "{body}\n{}", disasm::program(&program));
    }
}

#[test]
fn more_values_than_registers() {
    // Each operand has an effect, so none may be evaluated before the preceding one.
    let operands: Vec<String> = (0..40).map(|i| format!("(x++ * {i})")).collect();
    let mut text = operands.last().unwrap().clone();
    for operand in operands.iter().rev().skip(1) {
        text = format!("({operand} - {text})");
    }
    let program = compile(&format!("BEGIN {{ x = 0; trace({text}); }}"));
    let expected = (0..40).rev().fold(None, |right: Option<i64>, i| Some(i * i - right.unwrap_or(0)));
    assert_eq!(run(&program).unwrap(), [expected.unwrap() as u64]);
    let spilled = program.variables.iter().filter(|v| v.name.starts_with("%spill")).count();
    assert!(spilled > 30, "{spilled} slots");

    // Eight keys exceed the number of registers by one, and held values must survive the other branch.
    let program = compile(
        "BEGIN { x = 1; a[1, 2, 3, 4, 5, 6, 7, 8] = 5;
                 trace(a[x++, x++, x++, x++, x++, x++, x++, x++] + x); x = 3;
                 trace((x++ + (x++ + (x++ + (x++ + (x++ + (x++ + (x > 100 ? a[x++, 2, 3, 4, 5, 6, 7, 8] : x++)))))))); }",
    );
    assert_eq!(run(&program).unwrap(), [14, 3 + 4 + 5 + 6 + 7 + 8 + 9]);

    // Without effects the deeper operand is evaluated first and nothing is spilled.
    let mut text = "y".to_string();
    for _ in 0..40 {
        text = format!("(y + {text})");
    }
    let program = compile(&format!("BEGIN {{ y = 2; trace({text}); }}"));
    assert_eq!(run(&program).unwrap(), [82]);
    assert!(!program.variables.iter().any(|v| v.name.starts_with("%spill")));
}

#[test]
fn clauses_that_leave_a_record_have_a_thread() {
    let text = r#"a:::x { } b:::x { printf("x"); } c:::x { y = 1; } d:::x { @ = count(); } e:::x { trace(pid); }
        f:::x { commit(1); } g:::x { speculate(1); printf("x"); } h:::x { discard(1); }"#;
    let mut program = generate(&check_text(text).unwrap()).unwrap();
    let before = program.difos.len();
    thread::identify(&mut program);
    let has = |clause: &kinst_dif::Clause| {
        clause.statements.iter().any(|one| one.kind == kinst_dif::StatementKind::Thread)
    };
    let clauses: Vec<bool> = program.clauses.iter().map(has).collect();
    assert_eq!(clauses, [true, true, false, false, true, false, true, false]);
    assert_eq!(program.difos.len(), before + 3);
    kinst_oracle::verify::verify_program(&program, &kinst_dif::Options::default()).unwrap();
    let layout =
        layout::clause_layout(&program, &program.clauses[0], &kinst_dif::Options::default()).unwrap();
    assert_eq!(layout.size, 24);
    let mut silent = generate(&check_text("c:::x { y = 1; }").unwrap()).unwrap();
    let unchanged = silent.clone();
    thread::identify(&mut silent);
    assert_eq!(silent, unchanged);
}
