//! oracle/verify/insns.rs: verification of one DIFO: its ranges, its return type, and every word.

use super::refusal::Refusal;
use super::subroutine::subr_rule;
use super::variables::Variables;
use kinst_base::uapi::{self, Verify};
use kinst_dif::Scope;
use kinst_dif::insn::{
    Builtin, FIRST_USER_VARIABLE, MAX_LABEL, Opcode, PUSH_D, PUSH_STRING, REGISTERS, Shape, Subr,
};
use kinst_dif::object::{Image, slice};

pub(super) fn check_difo(image: &Image, variables: &Variables, index: u32) -> Result<(), Refusal> {
    let refuse = |code| Err(Refusal::in_difo(code, index, None));
    let Some(difo) = image.difos.get(index as usize) else {
        return refuse(Verify::INDEX);
    };
    if difo.ninsns == 0 {
        return refuse(Verify::NO_RET);
    }
    if difo.ninsns > uapi::MAX_DIFO_INSNS {
        return refuse(Verify::LIMIT);
    }
    let Some(insns) = slice(&image.insns, difo.insn, difo.ninsns) else {
        return refuse(Verify::INDEX);
    };
    if slice(&image.ints, difo.int0, difo.nints).is_none() {
        return refuse(Verify::INT);
    }
    match slice(&image.strtab, difo.str0, difo.strlen) {
        Some([] | [.., 0]) => {}
        _ => return refuse(Verify::STR),
    }
    if !is_return_type(&difo.rtype) {
        return refuse(Verify::TYPE);
    }
    let checker = Checker { image, variables, difo };
    for (pc, word) in (0u32..).zip(insns) {
        checker.word(*word, pc).map_err(|code| Refusal::in_difo(code, index, Some(pc)))?;
    }
    let last = insns.last().map_or(0, |word| word >> 24);
    if last != Opcode::Ret as u32 {
        return Err(Refusal::in_difo(Verify::NO_RET, index, Some(difo.ninsns - 1)));
    }
    Ok(())
}

fn is_return_type(ty: &uapi::Dtype) -> bool {
    let flags = u32::from(ty.flags);
    if ty.reserved != 0 || ty.kind > 1 || flags & !(uapi::T_BYREF | uapi::T_BYUREF) != 0 {
        return false;
    }
    if flags == 0 {
        return ty.kind == 0 && matches!(ty.size, 0 | 1 | 2 | 4 | 8);
    }
    // An address belongs to the kernel or to the process, not both.
    flags.is_power_of_two() && ty.size <= uapi::MAX_PAYLOAD
}

/// Uses of a shape's operand bytes, except as an index.
#[derive(Default)]
struct Operands {
    registers: &'static [usize],
    /// Operands that must be zero.
    unused: &'static [usize],
    /// Whether the last operand is a destination register, or holds a destination address: not %r0.
    destination: bool,
}

fn operands(shape: Shape) -> Operands {
    let (registers, unused, destination): (&[usize], &[usize], bool) = match shape {
        Shape::Three => (&[0, 1, 2], &[], true),
        Shape::Two | Shape::Load | Shape::Store => (&[0, 2], &[1], true),
        Shape::Compare => (&[0, 1], &[2], false),
        Shape::Test => (&[0], &[1, 2], false),
        Shape::Ret => (&[2], &[0, 1], false),
        Shape::Plain => (&[], &[0, 1, 2], false),
        Shape::Int | Shape::Str | Shape::LoadVar | Shape::Call | Shape::Xlate => (&[2], &[], true),
        Shape::Array => (&[1, 2], &[], true),
        Shape::StoreVar => (&[2], &[], false),
        Shape::PushRef | Shape::PushVal => (&[1, 2], &[], false),
        Shape::Branch => (&[], &[], false),
    };
    Operands { registers, unused, destination }
}

struct Checker<'a> {
    image: &'a Image,
    variables: &'a Variables,
    difo: &'a uapi::Difo,
}

impl Checker<'_> {
    fn word(&self, word: u32, pc: u32) -> Result<(), Verify> {
        let [number, fields @ ..] = word.to_be_bytes();
        let op = match Opcode::from_number(number) {
            // References to translators are resolved before a program is verified.
            None | Some(Opcode::Xlate | Opcode::Xlarg) => return Err(Verify::OPCODE),
            Some(op) => op,
        };
        let index = u32::from(u16::from_be_bytes([fields[0], fields[1]]));
        match op.shape() {
            Shape::PushRef => require(fields[0] == PUSH_D || fields[0] == PUSH_STRING, Verify::TYPE)?,
            Shape::PushVal => require(fields[0] == PUSH_D, Verify::TYPE)?,
            _ if op == Opcode::Ldta => return Err(Verify::VARIABLE),
            _ => {}
        }
        let operands = operands(op.shape());
        require(operands.registers.iter().all(|at| fields[*at] < REGISTERS), Verify::REGISTER)?;
        require(operands.unused.iter().all(|at| fields[*at] == 0), Verify::RESERVED)?;
        require(!operands.destination || fields[2] != 0, Verify::DEST_R0)?;
        match op.shape() {
            Shape::Branch => {
                let label = word & MAX_LABEL;
                require(pc < label && label < self.difo.ninsns, Verify::BRANCH)
            }
            Shape::Int => require(index < self.difo.nints, Verify::INT),
            Shape::Str => require(index < self.difo.strlen, Verify::STR),
            Shape::Array => require(u32::from(fields[0]) <= Builtin::Uregs.number(), Verify::VARIABLE),
            Shape::LoadVar | Shape::StoreVar => require(self.is_variable(op, index), Verify::VARIABLE),
            Shape::Call => self.call(index),
            _ => Ok(()),
        }
    }

    /// Whether the variable exists with the instruction's scope and kind. Built-in variables are read-only.
    fn is_variable(&self, op: Opcode, id: u32) -> bool {
        use Opcode::*;
        if op == Ldgs && id < FIRST_USER_VARIABLE {
            return Builtin::from_number(id).is_some_and(is_on_linux);
        }
        let scope = match op {
            Ldgs | Stgs | Ldgaa | Stgaa => Scope::Global,
            Ldls | Stls => Scope::Local,
            _ => Scope::Thread,
        };
        let array = matches!(op, Ldgaa | Stgaa | Ldtaa | Sttaa);
        self.variables.get(&(scope as u8, id)) == Some(&array)
    }

    fn call(&self, number: u32) -> Result<(), Verify> {
        let rule = Subr::from_number(number).and_then(subr_rule).ok_or(Verify::SUBR)?;
        let allowed = self.image.header.flags & uapi::IMAGE_DESTRUCTIVE != 0;
        require(allowed || !rule.destructive, Verify::DESTRUCTIVE)
    }
}

/// Whether the kernel module has this scalar: all but those for jails.
fn is_on_linux(builtin: Builtin) -> bool {
    builtin >= Builtin::Curthread && !matches!(builtin, Builtin::Jid | Builtin::Jailname)
}

fn require(holds: bool, code: Verify) -> Result<(), Verify> {
    if holds { Ok(()) } else { Err(code) }
}
