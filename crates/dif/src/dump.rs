//! dif/dump.rs: a whole program as text, for `-x dump=dif`.

use super::disasm;
use super::program::{
    Action, Aggregation, Clause, Conversion, Count, Format, FormatPiece, Program, Statement, StatementKind,
};
use std::fmt::{self, Write};

/// Dumps the aggregations, then each clause with its statements and actions, then the objects they refer to.
pub fn dump(program: &Program) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_program(&mut out, program);
    out
}

fn write_program(out: &mut String, program: &Program) -> fmt::Result {
    for (id, aggregation) in (1u32..).zip(&program.aggregations) {
        write_aggregation(out, id, aggregation)?;
    }
    for (index, clause) in program.clauses.iter().enumerate() {
        write_clause(out, index, clause)?;
    }
    out.write_str(&disasm::program(program))
}

fn write_aggregation(out: &mut String, id: u32, aggregation: &Aggregation) -> fmt::Result {
    let Aggregation { name, function, arg, keys, key_names, key_texts: _, signed, grows } = aggregation;
    let sign = if *signed { "signed" } else { "unsigned" };
    write!(out, "aggregation {id} @{name} = {function:?} {sign}")?;
    if *arg != 0 {
        write!(out, " arg {arg:#x}")?;
    }
    if *grows {
        out.write_str(" grows")?;
    }
    if !keys.is_empty() {
        let names: Vec<&str> = key_names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
        write!(out, " keys {keys:?} of {}", names.join(", "))?;
    }
    out.write_char('\n')
}

fn write_clause(out: &mut String, index: usize, clause: &Clause) -> fmt::Result {
    writeln!(out, "clause {index}{}", if clause.record { " record" } else { "" })?;
    for probe in &clause.probes {
        writeln!(out, "  probe {probe}")?;
    }
    if let Some(predicate) = clause.predicate {
        writeln!(out, "  predicate DIFO {predicate:#x}")?;
    }
    for statement in &clause.statements {
        write_statement(out, statement)?;
        let actions = clause.actions.iter().enumerate();
        let count = statement.actions.len();
        for (nth, action) in actions.skip(statement.actions.start).take(count) {
            write_action(out, nth, action)?;
        }
    }
    Ok(())
}

fn write_statement(out: &mut String, statement: &Statement) -> fmt::Result {
    out.write_str("  ")?;
    match &statement.kind {
        StatementKind::Printf(format) => writeln!(out, "Printf {format}"),
        StatementKind::System(format) => writeln!(out, "System {format}"),
        StatementKind::Freopen(format) => writeln!(out, "Freopen {format}"),
        StatementKind::Printa { format: Some(format), aggregations } => {
            writeln!(out, "Printa {format} {aggregations:?}")
        }
        StatementKind::Printa { format: None, aggregations } => writeln!(out, "Printa {aggregations:?}"),
        other => writeln!(out, "{other:?}"),
    }
}

fn write_action(out: &mut String, nth: usize, action: &Action) -> fmt::Result {
    // Faults number the actions from 1; 0 is the predicate.
    write!(out, "    {} {:?}", nth + 1, action.kind)?;
    if let Some(difo) = action.difo {
        write!(out, " DIFO {difo:#x}")?;
    }
    if action.ntuple != 0 {
        write!(out, " keys {}", action.ntuple)?;
    }
    if let Some(incr) = action.incr {
        write!(out, " increment DIFO {incr:#x}")?;
    }
    if action.agg != 0 {
        write!(out, " aggregation {}", action.agg)?;
    }
    if action.arg != 0 {
        write!(out, " arg {:#x}", action.arg)?;
    }
    out.write_char('\n')
}

impl fmt::Display for Format {
    /// Writes the format string as D text, in quotes.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_char('"')?;
        for piece in &self.pieces {
            match piece {
                FormatPiece::Text(text) => {
                    for chunk in text.utf8_chunks() {
                        write!(out, "{}", chunk.valid().replace('%', "%%").escape_debug())?;
                        chunk.invalid().iter().try_for_each(|byte| write!(out, "\\{byte:o}"))?;
                    }
                }
                FormatPiece::Conversion(conversion) => write!(out, "{conversion}")?,
            }
        }
        out.write_char('"')
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_char('%')?;
        let flags = [
            (self.alternate, '#'),
            (self.plus, '+'),
            (self.minus, '-'),
            (self.space, ' '),
            (self.zero, '0'),
            (self.grouping, '\''),
            (self.aggregation, '@'),
        ];
        flags.iter().filter(|(set, _)| *set).try_for_each(|(_, flag)| out.write_char(*flag))?;
        match self.width {
            Count::None => {}
            Count::Fixed(width) => write!(out, "{width}")?,
            Count::Argument => out.write_char('*')?,
        }
        match self.precision {
            Count::None => {}
            Count::Fixed(precision) => write!(out, ".{precision}")?,
            Count::Argument => out.write_str(".*")?,
        }
        let size = match self.size {
            1 => "hh",
            2 => "h",
            8 => "l",
            _ => "",
        };
        write!(out, "{size}{}", self.letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActionKind, Difo, Display, Type};
    use kinst_base::probe::{Description, Fields};

    fn counting() -> Aggregation {
        Aggregation {
            name: "a".to_string(),
            function: ActionKind::Count,
            arg: 0,
            keys: vec![Display::String],
            key_names: vec![Some("execname".to_string())],
            key_texts: vec!["execname".to_string()],
            signed: false,
            grows: true,
        }
    }

    #[test]
    fn a_program_as_text() {
        let action = |kind, difo, ntuple, agg| Action { kind, difo, ntuple, incr: None, agg, arg: 0 };
        let conversion = Conversion {
            alternate: false,
            plus: false,
            minus: true,
            space: false,
            zero: false,
            grouping: false,
            aggregation: false,
            width: Count::Fixed(5),
            precision: Count::None,
            letter: 'd',
            signed: true,
            size: 8,
        };
        let format = Format {
            pieces: vec![FormatPiece::Text(b"a %\n".to_vec()), FormatPiece::Conversion(conversion)],
        };
        let program = Program {
            difos: vec![Difo { insns: vec![0x2300_0000], rtype: Type::VOID, ..Difo::default() }],
            aggregations: vec![counting()],
            clauses: vec![Clause {
                probes: vec![Description::Fields(Box::new(Fields::new("kinst", "", "vfs_read", "4")))],
                predicate: Some(0),
                actions: vec![
                    action(ActionKind::Printf, Some(0), 0, 0),
                    action(ActionKind::DifExpr, Some(0), 0, 0),
                    action(ActionKind::Count, None, 1, 1),
                ],
                statements: vec![
                    Statement { actions: 0..1, kind: StatementKind::Printf(format) },
                    Statement { actions: 1..3, kind: StatementKind::Silent },
                ],
                record: true,
                part: false,
            }],
            ..Program::default()
        };
        let expected = r#"aggregation 1 @a = Count unsigned grows keys [String] of execname
clause 0 record
  probe kinst::vfs_read:4
  predicate DIFO 0x0
  Printf "a %%\n%-5ld"
    1 Printf DIFO 0x0
  Silent
    2 DifExpr DIFO 0x0
    3 Count keys 1 aggregation 1

DIFO 0x0 returns D type (unknown) (size 0)
OFF OPCODE      INSTRUCTION
00: 23000000    ret  %r0
"#;
        assert_eq!(dump(&program), expected);
    }
}
