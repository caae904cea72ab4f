//! dif/disasm.rs: the listing of an object, as option -S prints it.

use super::insn::{Builtin, Insn, PUSH_D, PUSH_STRING, Subr};
use super::program::{CtfKind, Difo, Program, Scope, Type, TypeKind, Variable, VariableKind};
use std::fmt::{self, Write};

/// Lists all objects, in the order of generation.
pub fn program(program: &Program) -> String {
    (0u32..).zip(&program.difos).map(|(index, object)| difo(index, object)).collect()
}

/// Lists one object. dtrace shows its address; here it is the index in the program, which does not vary between runs.
pub fn difo(index: u32, difo: &Difo) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_difo(&mut out, index, difo);
    out
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            TypeKind::D => "D type",
            TypeKind::String => "string",
        };
        write!(out, "{kind} ({}) ", self.ctf.name())?;
        if self.by_user_ref {
            out.write_str("by user ref ")?;
        } else if self.by_ref {
            out.write_str("by ref ")?;
        }
        write!(out, "(size {})", self.size)
    }
}

impl CtfKind {
    /// The kind in the listing: `integer`, `struct`.
    pub fn name(self) -> &'static str {
        match self {
            CtfKind::Unknown => "unknown",
            CtfKind::Integer => "integer",
            CtfKind::Float => "float",
            CtfKind::Pointer => "pointer",
            CtfKind::Array => "array",
            CtfKind::Function => "function",
            CtfKind::Struct => "struct",
            CtfKind::Union => "union",
            CtfKind::Enum => "enum",
            CtfKind::Forward => "forward",
            CtfKind::Typedef => "typedef",
            CtfKind::Volatile => "volatile",
            CtfKind::Const => "const",
            CtfKind::Restrict => "restrict",
        }
    }
}

fn write_difo(out: &mut String, index: u32, difo: &Difo) -> fmt::Result {
    writeln!(out, "\nDIFO {index:#x} returns {}", difo.rtype)?;
    writeln!(out, "{:<3} {:<8}    INSTRUCTION", "OFF", "OPCODE")?;
    for (at, word) in difo.insns.iter().enumerate() {
        write!(out, "{at:02}: {word:08x}    ")?;
        match Insn::decode(*word) {
            Ok(insn) => write_insn(out, difo, insn)?,
            // A word that no compiler generates still gets a line.
            Err(error) => write!(out, "! {error}")?,
        }
        out.push('\n');
    }
    if difo.variables.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{:<16} {:<4} {:<3} {:<3} {:<4} TYPE", "NAME", "ID", "KND", "SCP", "FLAG")?;
    difo.variables.iter().try_for_each(|variable| write_variable(out, variable))
}

fn write_insn(out: &mut String, difo: &Difo, insn: Insn) -> fmt::Result {
    let mnemonic = insn.op().mnemonic();
    if let Insn::Plain { .. } = insn {
        return out.write_str(mnemonic);
    }
    write!(out, "{mnemonic:<4} ")?;
    match insn {
        Insn::Three { r1, r2, rd, .. } => write!(out, "%r{r1}, %r{r2}, %r{rd}"),
        Insn::Two { r1, rd, .. } => write!(out, "%r{r1}, %r{rd}"),
        Insn::Compare { r1, r2, .. } => write!(out, "%r{r1}, %r{r2}"),
        Insn::Test { r1 } => write!(out, "%r{r1}"),
        Insn::Branch { label, .. } => write!(out, "{label}"),
        Insn::Load { r1, rd, .. } => write!(out, "[%r{r1}], %r{rd}"),
        Insn::Store { rs, rd, .. } => write!(out, "%r{rs}, [%r{rd}]"),
        Insn::Ret { rd } => write!(out, "%r{rd}"),
        Insn::Plain { .. } => Ok(()),
        Insn::Int { index, rd } => write_int(out, difo, index, rd),
        Insn::Str { offset, rd } => write_str(out, difo, offset, rd),
        Insn::Array { var, index, rd, .. } => {
            write!(out, "DT_VAR({var}), %r{index}, %r{rd}")?;
            write_variable_comment(out, difo, insn, u32::from(var))
        }
        Insn::LoadVar { var, rd, .. } => {
            write!(out, "DT_VAR({var}), %r{rd}")?;
            write_variable_comment(out, difo, insn, u32::from(var))
        }
        Insn::StoreVar { var, rs, .. } => {
            write!(out, "%r{rs}, DT_VAR({var})")?;
            write_variable_comment(out, difo, insn, u32::from(var))
        }
        Insn::Call { subr, rd } => {
            write!(out, "DIF_SUBR({subr}), %r{rd}")?;
            let known = Subr::from_number(u32::from(subr));
            known.map_or(Ok(()), |subr| write!(out, "\t\t! {}", subr.name()))
        }
        Insn::PushRef { ty, size, rs } => {
            write!(out, "DT_TYPE({ty}), %r{size}, %r{rs}\t! DT_TYPE({ty}) = {}", push_type(ty))
        }
        Insn::PushVal { ty, rs, .. } => {
            write!(out, "DT_TYPE({ty}), %r{rs}\t\t! DT_TYPE({ty}) = {}", push_type(ty))
        }
        Insn::Xlate { index, rd, .. } => write!(out, "DT_XLREF[{index}], %r{rd}"),
    }
}

fn write_int(out: &mut String, difo: &Difo, index: u16, rd: u8) -> fmt::Result {
    write!(out, "DT_INTEGER[{index}], %r{rd}")?;
    difo.ints.get(usize::from(index)).map_or(Ok(()), |value| write!(out, "\t\t! {value:#x}"))
}

fn write_str(out: &mut String, difo: &Difo, offset: u16, rd: u8) -> fmt::Result {
    write!(out, "DT_STRING[{offset}], %r{rd}")?;
    let Some(text) = difo.strings.get(usize::from(offset)..) else {
        return Ok(());
    };
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    write!(out, "\t\t! {}", quoted(text))
}

/// Quotes a string as in D text, so that an instruction stays on one line.
fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for char in String::from_utf8_lossy(text).chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            char if char.is_control() => out.extend(char.escape_debug()),
            char => out.push(char),
        }
    }
    out + "\""
}

fn write_variable_comment(out: &mut String, difo: &Difo, insn: Insn, id: u32) -> fmt::Result {
    use super::insn::Opcode::*;
    let scope = match insn.op() {
        Ldls | Stls => Scope::Local,
        Ldts | Stts | Ldtaa | Sttaa | Ldta => Scope::Thread,
        _ => Scope::Global,
    };
    let known = difo.variables.iter().find(|variable| variable.id == id && variable.scope == scope);
    let builtin = Builtin::from_number(id).filter(|_| scope == Scope::Global).map(Builtin::name);
    match known.map(|variable| variable.name.as_str()).or(builtin) {
        Some(name) => write!(out, "\t\t! DT_VAR({id}) = \"{name}\""),
        None => Ok(()),
    }
}

fn push_type(ty: u8) -> String {
    match ty {
        PUSH_D => "D type".to_string(),
        PUSH_STRING => "string".to_string(),
        other => format!("{other:#x}"),
    }
}

fn write_variable(out: &mut String, variable: &Variable) -> fmt::Result {
    let kind = match variable.kind {
        VariableKind::Array => "arr",
        VariableKind::Scalar => "scl",
    };
    let scope = match variable.scope {
        Scope::Global => "glb",
        Scope::Thread => "tls",
        Scope::Local => "loc",
    };
    let flags = match (variable.read, variable.written) {
        (true, true) => "r/w",
        (true, false) => "r",
        (false, true) => "w",
        (false, false) => "",
    };
    writeln!(out, "{:<16} {:<4} {kind:<3} {scope:<3} {flags:<4} {}", variable.name, variable.id, variable.ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::Assembler;
    use crate::insn::FIRST_USER_VARIABLE;

    #[test]
    fn the_listing_of_the_specification() {
        let x = Variable {
            name: "x".to_string(),
            id: FIRST_USER_VARIABLE,
            kind: VariableKind::Scalar,
            scope: Scope::Global,
            read: false,
            written: false,
            ty: Type::by_value(CtfKind::Integer, 4),
        };
        let mut asm = Assembler::new();
        asm.setx(1, 1);
        asm.store_scalar(1, &x);
        asm.ret(1);
        let object = asm.finish(Type::by_value(CtfKind::Integer, 4)).unwrap();
        let expected = "
DIFO 0x2 returns D type (integer) (size 4)
OFF OPCODE      INSTRUCTION
00: 25000001    setx DT_INTEGER[0], %r1\t\t! 0x1
01: 2a050001    stgs %r1, DT_VAR(1280)\t\t! DT_VAR(1280) = \"x\"
02: 23000001    ret  %r1

NAME             ID   KND SCP FLAG TYPE
x                1280 scl glb w    D type (integer) (size 4)
";
        assert_eq!(difo(2, &object), expected);
    }
}
