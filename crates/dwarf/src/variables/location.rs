//! dwarf/variables/location.rs: a DWARF location expression → [`Location`], or why a probe cannot read it.

use gimli::{DebugAddrIndex, Encoding, Expression, Operation};

use super::scope::Missing;
use super::term::{Binary, Location, Register, Term, Unary};
use crate::sections::Slice;

/// The most operations of one expression: the longest in a Debian kernel has 40.
const MOST_OPERATIONS: usize = 256;
/// The most nodes of its result: an expression that doubles its value repeatedly would grow without end.
const MOST_NODES: usize = 128;
/// The limits on a variable in several pieces.
const MOST_PIECES: usize = 16;
const MOST_BYTES: u64 = 64;

/// The context that an expression may refer to.
pub(crate) trait Surroundings {
    /// A general register by its DWARF number.
    fn register(&self, number: u16) -> Option<Register>;

    /// DW_AT_frame_base of the function.
    fn frame_base(&self) -> Result<Term, Missing>;

    /// The canonical frame address at the instruction.
    fn cfa(&self) -> Result<Term, Missing>;

    /// The address in the running kernel for an address of the file.
    fn address(&self, linked: u64) -> Result<Term, Missing>;

    /// An address or a constant in .debug_addr.
    fn indexed(&self, _: DebugAddrIndex) -> Result<u64, Missing> {
        Err(Missing::Operation("an index into .debug_addr".to_owned()))
    }
}

/// The location that an expression describes. `bytes`: the size of the variable, if known.
pub(crate) fn compile(
    expression: Expression<Slice<'_>>,
    encoding: Encoding,
    bytes: Option<u64>,
    around: &dyn Surroundings,
) -> Result<Location, Missing> {
    let mut machine = Machine { around, stack: Vec::new() };
    let mut operations = expression.operations(encoding);
    let mut outcome = None;
    let mut pieces = Pieces::default();
    for _ in 0..MOST_OPERATIONS {
        let Some(operation) = operations.next().map_err(damaged)? else {
            return match outcome {
                _ if pieces.bytes > 0 => pieces.whole(bytes),
                Some(location) => Ok(location),
                None => machine.stack.pop().map(Location::Memory).ok_or(Missing::NowhereHere),
            };
        };
        if let Operation::Piece { size_in_bits, bit_offset: None | Some(0) } = operation {
            let location = outcome.take().or_else(|| machine.stack.pop().map(Location::Memory));
            pieces.add(location, size_in_bits)?;
            continue;
        }
        // A register, a value or an implicit value ends the description.
        if outcome.is_some() {
            return Err(Missing::Damaged("something follows the end of the expression".to_owned()));
        }
        outcome = machine.step(&operation)?;
        if machine.stack.last().is_some_and(|top| top.size() > MOST_NODES) || machine.stack.len() > MOST_NODES
        {
            return Err(Missing::TooLong);
        }
    }
    Err(Missing::TooLong)
}

/// The pieces of a variable so far.
#[derive(Default)]
struct Pieces {
    locations: Vec<(Option<Location>, u64)>,
    bytes: u64,
}

impl Pieces {
    /// Adds a piece; one without a location is optimised out.
    fn add(&mut self, location: Option<Location>, bits: u64) -> Result<(), Missing> {
        if !bits.is_multiple_of(8) || bits == 0 || self.locations.len() == MOST_PIECES {
            return Err(Missing::Pieces);
        }
        self.locations.push((location, bits / 8));
        self.bytes = self.bytes.saturating_add(bits / 8);
        Ok(())
    }

    /// The location of a variable of this many bytes.
    fn whole(mut self, bytes: Option<u64>) -> Result<Location, Missing> {
        if bytes != Some(self.bytes) || self.bytes > MOST_BYTES {
            return Err(Missing::Pieces);
        }
        // A structure with one member is one piece.
        if self.locations.len() == 1 {
            return self.locations.pop().and_then(|(location, _)| location).ok_or(Missing::Pieces);
        }
        let (mut parts, mut offset) = (Vec::new(), 0);
        for (location, bytes) in self.locations {
            let location = location.ok_or(Missing::Pieces)?;
            parts.extend(location.split(offset, bytes).ok_or(Missing::Pieces)?);
            offset += bytes;
        }
        Ok(Location::Parts(parts))
    }
}

/// The value of an expression that computes one, such as the frame base.
pub(crate) fn value(
    expression: Expression<Slice<'_>>,
    encoding: Encoding,
    around: &dyn Surroundings,
) -> Result<Term, Missing> {
    match compile(expression, encoding, None, around)? {
        // A register stands for its content, and an address is the value itself.
        Location::Value(term) | Location::Memory(term) => Ok(term),
        Location::Parts(_) => Err(Missing::Pieces),
    }
}

fn damaged(cause: gimli::Error) -> Missing {
    Missing::Damaged(cause.to_string())
}

/// The stack machine of DWARF, with terms in place of numbers.
struct Machine<'m> {
    around: &'m dyn Surroundings,
    stack: Vec<Term>,
}

impl Machine<'_> {
    /// Performs an operation; returns the variable's location, if that ends the description.
    fn step(&mut self, operation: &Operation<Slice<'_>>) -> Result<Option<Location>, Missing> {
        let pushed = match operation {
            Operation::Register { register } => {
                return self.register(register.0).map(|term| Some(Location::Value(term)));
            }
            Operation::StackValue => return self.pop().map(|top| Some(Location::Value(top))),
            Operation::ImplicitValue { data } => return implicit(data.slice()).map(Some),
            Operation::RegisterOffset { register, offset, base_type } if base_type.0 == 0 => {
                add(self.register(register.0)?, *offset)
            }
            Operation::FrameOffset { offset } => add(self.around.frame_base()?, *offset),
            Operation::CallFrameCFA => self.around.cfa()?,
            Operation::Address { address } => self.around.address(*address)?,
            Operation::AddressIndex { index } => self.around.address(self.around.indexed(*index)?)?,
            Operation::ConstantIndex { index } => Term::Constant(self.around.indexed(*index)?),
            Operation::UnsignedConstant { value } => Term::Constant(*value),
            Operation::SignedConstant { value } => Term::Constant(*value as u64),
            Operation::PlusConstant { value } => add(self.pop()?, *value as i64),
            Operation::Deref { base_type, size, space: false } if base_type.0 == 0 => {
                if !matches!(size, 1 | 2 | 4 | 8) {
                    return Err(Missing::Operation(format!("DW_OP_deref_size {size}")));
                }
                Term::load(self.pop()?, *size)
            }
            Operation::Neg => Term::unary(Unary::Negate, self.pop()?),
            Operation::Not => Term::unary(Unary::Complement, self.pop()?),
            Operation::Nop => return Ok(None),
            operation => match binary(operation) {
                Some(op) => {
                    let right = self.pop()?;
                    Term::binary(op, self.pop()?, right)
                }
                None => return self.arrange(operation).map(|()| None),
            },
        };
        self.stack.push(pushed);
        Ok(None)
    }

    /// Rearranges the stack; refuses any other operation.
    fn arrange(&mut self, operation: &Operation<Slice<'_>>) -> Result<(), Missing> {
        let depth = self.stack.len();
        match operation {
            Operation::Drop => self.pop().map(drop),
            Operation::Pick { index } => {
                let at = depth.checked_sub(usize::from(*index) + 1).ok_or_else(empty)?;
                self.stack.push(self.stack[at].clone());
                Ok(())
            }
            Operation::Swap if depth >= 2 => {
                self.stack.swap(depth - 1, depth - 2);
                Ok(())
            }
            Operation::Rot if depth >= 3 => {
                self.stack[depth - 3..].rotate_right(1);
                Ok(())
            }
            Operation::Swap | Operation::Rot => Err(empty()),
            operation => Err(refusal(operation)),
        }
    }

    fn pop(&mut self) -> Result<Term, Missing> {
        self.stack.pop().ok_or_else(empty)
    }

    fn register(&self, number: u16) -> Result<Term, Missing> {
        self.around.register(number).map(Term::Register).ok_or(Missing::Register(number))
    }
}

fn empty() -> Missing {
    Missing::Damaged("the expression's stack is empty".to_owned())
}

fn add(term: Term, offset: i64) -> Term {
    Term::binary(Binary::Add, term, Term::Constant(offset as u64))
}

/// A constant in the byte order of the machine.
fn implicit(data: &[u8]) -> Result<Location, Missing> {
    let mut bytes = [0; 8];
    let Some(low) = bytes.get_mut(..data.len()) else {
        return Err(Missing::Operation(format!("DW_OP_implicit_value of {} bytes", data.len())));
    };
    low.copy_from_slice(data);
    Ok(Location::Value(Term::Constant(u64::from_le_bytes(bytes))))
}

fn binary(operation: &Operation<Slice<'_>>) -> Option<Binary> {
    Some(match operation {
        Operation::Plus => Binary::Add,
        Operation::Minus => Binary::Sub,
        Operation::Mul => Binary::Mul,
        Operation::And => Binary::And,
        Operation::Or => Binary::Or,
        Operation::Xor => Binary::Xor,
        Operation::Shl => Binary::Shl,
        Operation::Shr => Binary::Shr,
        Operation::Shra => Binary::Sar,
        _ => return None,
    })
}

fn refusal(operation: &Operation<Slice<'_>>) -> Missing {
    let name = match operation {
        Operation::ImplicitPointer { .. } | Operation::VariableValue { .. } => {
            return Missing::ImplicitPointer;
        }
        Operation::EntryValue { .. } => return Missing::EntryValue,
        Operation::ParameterRef { .. } => return Missing::ParameterRef,
        Operation::Convert { .. }
        | Operation::Reinterpret { .. }
        | Operation::TypedLiteral { .. }
        | Operation::RegisterOffset { .. }
        | Operation::Deref { space: false, .. } => return Missing::Converted,
        Operation::Abs => "DW_OP_abs",
        Operation::Div => "DW_OP_div",
        Operation::Mod => "DW_OP_mod",
        Operation::Bra { .. } => "DW_OP_bra",
        Operation::Skip { .. } => "DW_OP_skip",
        Operation::Eq | Operation::Ge | Operation::Gt | Operation::Le | Operation::Lt | Operation::Ne => {
            "a comparison"
        }
        Operation::Deref { .. } => "DW_OP_xderef",
        Operation::PushObjectAddress => "DW_OP_push_object_address",
        Operation::Call { .. } => "DW_OP_call",
        Operation::TLS => "DW_OP_form_tls_address",
        Operation::Uninitialized => "DW_OP_GNU_uninit",
        _ => "an operation of another machine",
    };
    Missing::Operation(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::constants as dw;
    use gimli::{EndianSlice, Format, LittleEndian};

    struct Frameless;

    impl Surroundings for Frameless {
        fn register(&self, number: u16) -> Option<Register> {
            Register::new(kinst_base::machine::Machine::X86_64, number)
        }
        fn frame_base(&self) -> Result<Term, Missing> {
            self.cfa()
        }
        fn cfa(&self) -> Result<Term, Missing> {
            Ok(add(Term::Register(self.register(7).unwrap()), 16))
        }
        fn address(&self, linked: u64) -> Result<Term, Missing> {
            Ok(Term::Address(linked + 0x1000))
        }
    }

    fn compiled(bytes: &[u8]) -> String {
        let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 5 };
        match compile(Expression(EndianSlice::new(bytes, LittleEndian)), encoding, Some(8), &Frameless) {
            Ok(location) => location.to_string(),
            Err(missing) => format!("{missing:?}"),
        }
    }

    #[test]
    fn the_shapes_that_compilers_write() {
        let cases: &[(&[u8], &str)] = &[
            (&[dw::DW_OP_reg5.0], "in %rdi"),
            (&[dw::DW_OP_breg3.0, 8], "at 8(%rbx)"),
            (&[dw::DW_OP_breg3.0, 8, dw::DW_OP_stack_value.0], "the value %rbx + 8"),
            (&[dw::DW_OP_fbreg.0, 0x70], "at (%rsp)"),
            (&[dw::DW_OP_call_frame_cfa.0, dw::DW_OP_plus_uconst.0, 8], "at 24(%rsp)"),
            (&[dw::DW_OP_lit3.0, dw::DW_OP_stack_value.0], "the constant 3"),
            (&[dw::DW_OP_const1s.0, 0xff, dw::DW_OP_stack_value.0], "the constant -1"),
            (&[dw::DW_OP_addr.0, 0, 0x20, 0, 0, 0, 0, 0, 0], "at 0x3000"),
            (&[dw::DW_OP_addr.0, 0, 0x20, 0, 0, 0, 0, 0, 0, dw::DW_OP_stack_value.0], "the address 0x3000"),
            (
                &[dw::DW_OP_breg5.0, 0, dw::DW_OP_const1u.0, 0xff, dw::DW_OP_and.0, dw::DW_OP_stack_value.0],
                "the value %rdi & 0xff",
            ),
            (
                &[
                    dw::DW_OP_breg5.0,
                    0,
                    dw::DW_OP_lit3.0,
                    dw::DW_OP_shl.0,
                    dw::DW_OP_breg0.0,
                    0,
                    dw::DW_OP_plus.0,
                ],
                "at (%rdi << 3) + %rax",
            ),
            (&[dw::DW_OP_breg7.0, 8, dw::DW_OP_deref.0], "at *(%rsp + 8)"),
            (&[dw::DW_OP_reg3.0, dw::DW_OP_piece.0, 8], "in %rbx"),
            (
                &[dw::DW_OP_breg7.0, 8, dw::DW_OP_deref_size.0, 4, dw::DW_OP_stack_value.0],
                "the value *(%rsp + 8, 4 bytes)",
            ),
            (&[dw::DW_OP_implicit_value.0, 2, 0x34, 0x12], "the constant 4660"),
            (
                &[
                    dw::DW_OP_breg1.0,
                    0,
                    dw::DW_OP_breg2.0,
                    0,
                    dw::DW_OP_swap.0,
                    dw::DW_OP_minus.0,
                    dw::DW_OP_stack_value.0,
                ],
                "the value %rcx - %rdx",
            ),
        ];
        for (bytes, text) in cases {
            let text = text.replace("0xff", "255");
            assert_eq!(compiled(bytes), text);
        }
    }

    #[test]
    fn what_is_refused_says_why() {
        let cases: &[(&[u8], &str)] = &[
            (&[], "NowhereHere"),
            (&[dw::DW_OP_reg5.0, dw::DW_OP_piece.0, 4], "Pieces"),
            (&[dw::DW_OP_reg5.0, dw::DW_OP_piece.0, 8, dw::DW_OP_piece.0, 8], "Pieces"),
            (&[dw::DW_OP_piece.0, 8], "Pieces"),
            (&[dw::DW_OP_entry_value.0, 1, dw::DW_OP_reg5.0, dw::DW_OP_stack_value.0], "EntryValue"),
            (&[dw::DW_OP_implicit_pointer.0, 1, 0, 0, 0, 0], "ImplicitPointer"),
            (&[dw::DW_OP_GNU_parameter_ref.0, 1, 0, 0, 0], "ParameterRef"),
            (&[dw::DW_OP_regval_type.0, 5, 1, dw::DW_OP_convert.0, 2], "Converted"),
            (&[dw::DW_OP_reg17.0], "Register(17)"),
            (&[dw::DW_OP_plus.0], "Damaged(\"the expression's stack is empty\")"),
            (&[dw::DW_OP_lit1.0, dw::DW_OP_bra.0, 0xfc, 0xff], "Operation(\"DW_OP_bra\")"),
            (
                &[dw::DW_OP_reg5.0, dw::DW_OP_reg5.0],
                "Damaged(\"something follows the end of the expression\")",
            ),
        ];
        for (bytes, text) in cases {
            assert_eq!(compiled(bytes), *text);
        }
        let doubled = [vec![dw::DW_OP_breg5.0, 0], [dw::DW_OP_dup.0, dw::DW_OP_mul.0].repeat(40)].concat();
        assert_eq!(compiled(&doubled), "TooLong");
    }
}
