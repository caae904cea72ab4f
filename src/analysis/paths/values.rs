//! analysis/paths/values.rs: the recorded variables: as D expressions, and their display.

use crate::analysis::paths::followed::Operand;
use crate::vocabulary::constants;
use kinst_base::space::Space;
use kinst_dwarf::variables::scope::{Missing, Scope, Variable};
use kinst_dwarf::variables::term::{Binary, Location, Register, Term};
use kinst_types::{KernelTypes, Type};

/// A recorded value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// The D expression.
    pub d: String,
    /// The variable, or the register or memory operand if none is known.
    pub name: String,
    pub form: Form,
}

/// The display format of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub bytes: u8,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Pointer,
    /// A register without a variable.
    Bits,
}

impl Form {
    /// `None`: values of the type are not shown.
    pub(crate) fn of(ty: &Type) -> Option<Form> {
        let (bytes, kind) = match ty.resolved() {
            Type::Int(int) if int.signed => (int.bytes, Kind::Signed),
            Type::Int(int) => (int.bytes, Kind::Unsigned),
            Type::Enum(tagged) => (u8::try_from(tagged.bytes?).ok()?, Kind::Signed),
            Type::Pointer { .. } => (8, Kind::Pointer),
            _ => return None,
        };
        [1, 2, 4, 8].contains(&bytes).then_some(Form { bytes, kind })
    }

    /// The number as in kernel source: `-2`, `4096`, `0xffff888004f2c000`.
    pub(crate) fn plain(self, raw: u64) -> String {
        let text = self.show(raw);
        text.split(' ').next().map(str::to_owned).unwrap_or(text)
    }

    /// The same for a number that may be an error code: `-2 ENOENT`.
    pub(crate) fn show(self, raw: u64) -> String {
        let shift = 64 - 8 * u32::from(self.bytes.clamp(1, 8));
        let (signed, unsigned) = (((raw << shift) as i64) >> shift, raw << shift >> shift);
        const ERRORS: std::ops::RangeInclusive<i64> = -4095..=-1;
        let is_error = self.kind != Kind::Unsigned && self.bytes >= 4 && ERRORS.contains(&signed);
        match (self.kind, constants::error_name(-signed).filter(|_| is_error)) {
            (_, Some(name)) => format!("{signed} {name}"),
            (Kind::Signed, None) => signed.to_string(),
            (Kind::Bits, None) if (-4096..0).contains(&signed) => signed.to_string(),
            (_, None) if unsigned < 1 << 16 => unsigned.to_string(),
            (_, None) => format!("{unsigned:#x}"),
        }
    }
}

/// The values of operands at a branch.
pub(crate) fn of_branch(
    operands: &[Operand],
    scope: Option<&Scope>,
    (space, module): (Space, &str),
    kernel: &dyn KernelTypes,
) -> Vec<Value> {
    operands.iter().map(|operand| of_operand(*operand, scope, (space, module), kernel)).collect()
}

fn of_operand(
    operand: Operand,
    scope: Option<&Scope>,
    (space, module): (Space, &str),
    kernel: &dyn KernelTypes,
) -> Value {
    let saved = |register| saved(space, register);
    let variables = || scope.iter().flat_map(|scope| scope.frames.iter().flat_map(|frame| frame.variables()));
    let typed = |variable: &Variable| variable.ty.map(|ty| kernel.type_at(module, ty));
    match operand {
        Operand::Register { register, bytes } => {
            let d = saved(register);
            let there = variables().filter(|variable| is_in(variable, register));
            let mut known = there.filter_map(|variable| {
                // A structure that fits in a register, such as a kuid_t, is shown as its member.
                let ty = typed(variable)?;
                let itself = || Some((variable.name.clone(), Form::of(&ty)?));
                itself().or_else(|| member(&variable.name, &ty, 0, bytes, ".", kernel))
            });
            match known.next() {
                Some((name, form)) => Value { d, name, form },
                None => Value { d, name: register.to_string(), form: Form { bytes, kind: Kind::Bits } },
            }
        }
        Operand::Memory { base, by, bytes } => {
            let on_stack = usize::from(base.number()) == base.machine().facts().frames.stack_pointer;
            let address = format!("({} + {by})", saved(base));
            let load = format!("*(uint{}_t *){address}", 8 * bytes);
            // The memory that the processor has just read can be read again, except for user memory.
            let in_program =
                format!("*(uint{}_t *)copyin({}, {bytes})", 8 * bytes, &address[1..address.len() - 1]);
            let d = if space != Space::Kernel {
                in_program
            } else if on_stack {
                load
            } else {
                format!("((int64_t){address} < 0 ? {load} : 0)")
            };
            let found = variables().find_map(|variable| {
                let ty = typed(variable)?;
                match (&variable.location, on_stack) {
                    (Ok(Location::Memory(term)), true) => {
                        let from = distance(term, base)?;
                        member(&variable.name, &ty, by.checked_sub(from)?, bytes, ".", kernel)
                    }
                    (_, false) if is_in(variable, base) => match ty.resolved() {
                        Type::Pointer { to, .. } => member(&variable.name, to, by, bytes, "->", kernel),
                        _ => None,
                    },
                    _ => None,
                }
            });
            let (name, form) = found.unwrap_or_else(|| {
                let by = if by == 0 { String::new() } else { by.to_string() };
                (format!("{by}({base})"), Form { bytes, kind: Kind::Unsigned })
            });
            Value { d, name, form: Form { bytes, ..form } }
        }
    }
}

/// Arguments that are shown: those that are in registers on all machines.
const IN_REGISTERS: usize = 6;

/// Whether the calling convention puts an argument into a register.
fn is_argument(register: Register, number: usize) -> bool {
    let registers = &register.machine().facts().pt_regs;
    let place = registers.arguments.get(number);
    place.is_some_and(|place| registers.dwarf.get(usize::from(register.number())) == Some(place))
}

/// The arguments of a function at its entry.
pub(crate) fn of_entry(module: &str, function: &str, kernel: &dyn KernelTypes) -> Vec<Value> {
    let plain = function.split('#').next().unwrap_or(function);
    let Some(prototype) = kernel.prototype(module, plain) else { return Vec::new() };
    let arguments = prototype.params.into_iter().take(IN_REGISTERS).enumerate();
    // A structure takes several registers, or none.
    let known = arguments.map_while(|(number, (name, ty))| {
        let form = Form::of(&ty)?;
        let name = if name.is_empty() { format!("arg{number}") } else { name };
        Some(Value { d: format!("arg{number}"), name, form })
    });
    known.collect()
}

/// The arguments of a function of a program, up to the first one that is elsewhere than the calling convention says, and
/// the display format of its result.
pub(crate) fn of_program(
    module: &str,
    scope: Option<&Scope>,
    kernel: &dyn KernelTypes,
) -> (Vec<Value>, Option<Form>) {
    let Some(frame) = scope.and_then(|scope| scope.frames.last()) else {
        return (Vec::new(), Some(Form { bytes: 8, kind: Kind::Signed }));
    };
    let arguments = frame.parameters.iter().enumerate().take(IN_REGISTERS).map_while(|(number, variable)| {
        let is_there = match &variable.location {
            Ok(Location::Value(Term::Register(register))) => is_argument(*register, number),
            Err(Missing::OptimisedOut) => false,
            // Without optimization, the function is about to store it.
            _ => true,
        };
        let form =
            Form::of(&kernel.type_at(module, variable.ty?)).filter(|_| is_there && !frame.is_nocall)?;
        let name = if variable.name.is_empty() { format!("arg{number}") } else { variable.name.clone() };
        Some(Value { d: format!("arg{number}"), name, form })
    });
    (arguments.collect(), frame.returns.and_then(|returns| Form::of(&kernel.type_at(module, returns))))
}

/// The display format of a return value; `None` for void and structures.
pub(crate) fn of_return(module: &str, function: &str, kernel: &dyn KernelTypes) -> Option<Form> {
    let plain = function.split('#').next().unwrap_or(function);
    match kernel.prototype(module, plain) {
        Some(prototype) => Form::of(&prototype.returns),
        None => Some(Form { bytes: 8, kind: Kind::Signed }),
    }
}

fn saved(space: Space, register: Register) -> String {
    let registers = if space == Space::Kernel { "regs" } else { "uregs" };
    format!("{registers}[R_{}]", register.name().to_ascii_uppercase())
}

fn is_in(variable: &Variable, wanted: Register) -> bool {
    let Ok(Location::Value(Term::Register(register))) = &variable.location else { return false };
    !variable.name.is_empty() && *register == wanted
}

/// The offset of an address from the value of a register.
fn distance(term: &Term, base: Register) -> Option<i64> {
    match term {
        Term::Register(register) => (*register == base).then_some(0),
        Term::Binary(Binary::Add, left, right) => match (&**left, &**right) {
            (Term::Register(register), Term::Constant(by)) if *register == base => Some(by.cast_signed()),
            _ => None,
        },
        _ => None,
    }
}

/// The member at this offset in a variable, and how many of its bytes are compared.
fn member(
    name: &str,
    ty: &Type,
    by: i64,
    bytes: u8,
    between: &str,
    kernel: &dyn KernelTypes,
) -> Option<(String, Form)> {
    let at = u64::try_from(by).ok()?;
    match ty.resolved() {
        Type::Record(record) => {
            let record = kernel.complete(record);
            let members = kernel.members(&record);
            members.iter().filter(|member| member.bits.is_none()).find_map(|member| {
                let from = member.bit_offset / 8;
                let inside = at.checked_sub(from)?;
                let name = match &*member.name {
                    "" => name.to_owned(),
                    inner => format!("{name}{between}{inner}"),
                };
                let between = if member.name.is_empty() { between } else { "." };
                self::member(&name, &member.ty, i64::try_from(inside).ok()?, bytes, between, kernel)
            })
        }
        // A byte of a larger number is only a part of it.
        ty => {
            let form = Form::of(ty)?;
            if at == 0 && between == "->" && bytes == form.bytes {
                return Some((format!("*{name}"), form));
            }
            let part = at < u64::from(form.bytes) && (at > 0 || bytes < form.bytes);
            let name = if part { format!("{name} (byte {at})") } else { name.to_owned() };
            (at < u64::from(form.bytes)).then_some((name, form))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_source_has_them() {
        let form = |bytes, kind| Form { bytes, kind };
        assert_eq!(form(4, Kind::Signed).show(0xffff_fffe), "-2 ENOENT");
        assert_eq!(form(8, Kind::Signed).show(0xffff_fffe), "4294967294");
        assert_eq!(form(8, Kind::Pointer).show(-13i64 as u64), "-13 EACCES");
        assert_eq!(form(8, Kind::Pointer).show(0), "0");
        assert_eq!(form(1, Kind::Unsigned).show(0x1ff), "255");
        assert_eq!(form(1, Kind::Signed).show(0xff), "-1");
        assert_eq!(form(4, Kind::Unsigned).show(0x8_8000), "0x88000");
    }
}
