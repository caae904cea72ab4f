//! dwarf/variables/scope.rs: the variables in scope at an instruction, and where their values are.

use std::fmt::{self, Write as _};
use std::ops::Range;

use super::term::{Location, Register};

/// The functions that an instruction belongs to, from the inlined copy that is meant outwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// `vmlinux`, or the module's name.
    pub module: String,
    /// The function symbol, as a description names it.
    pub function: String,
    /// Bytes from the function symbol.
    pub offset: u64,
    /// Whether it is in a program: addresses are those of a process.
    pub user: bool,
    /// Never empty; the last one is the function that has the instruction.
    pub frames: Vec<Frame>,
}

/// One function, inlined or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Name of the function; empty if the debug information has none.
    pub function: String,
    /// The parameters in the order of the declaration.
    pub parameters: Vec<Variable>,
    /// The innermost block first.
    pub locals: Vec<Variable>,
    /// Variables of the function that this copy has lost entirely.
    pub gone: Vec<Variable>,
    /// The offset of the type of the result, in Go the first one, in .debug_info; `None` for void.
    pub returns: Option<u64>,
    /// Whether the function does not obey the calling convention, as the compiler knows all of its callers.
    pub is_nocall: bool,
    /// The registers that its code reads before it writes to them; `None` if that is not known.
    pub received: Option<Vec<Register>>,
}

/// A variable or parameter, and how to read it at one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Empty for a parameter without a name.
    pub name: String,
    /// The offset of its type's entry in .debug_info; `None` if it is void or damaged.
    pub ty: Option<u64>,
    /// Location at the instruction, or the reason why it cannot be read there.
    pub location: Result<Location, Missing>,
    /// The ranges of the function where it can be read, in bytes from the symbol; sorted and disjoint. If there are
    /// none although it has a location, it can be read wherever it is in scope.
    pub live: Vec<Range<u64>>,
}

/// Why a variable cannot be read at an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    /// It has no location anywhere.
    OptimisedOut,
    /// It has a location, but none at this instruction.
    NotCovered,
    /// The compiler states that the variable is nowhere at this instruction.
    NowhereHere,
    /// Its register has the stack protector's guard at this instruction, which debug information does not say.
    Guarded,
    /// DW_OP_implicit_pointer: it points to a variable that is not in memory.
    ImplicitPointer,
    /// DW_OP_piece: its parts are in several places.
    Pieces,
    /// DW_OP_entry_value: only its value at the function's entry is described.
    EntryValue,
    /// DW_OP_GNU_parameter_ref: the caller's argument is described, and was not saved.
    ParameterRef,
    /// DW_OP_convert, or another operation on values with types.
    Converted,
    /// A register that is not saved at a probe, by DWARF number.
    Register(u16),
    /// An operation that terms do not support: `DW_OP_div`, `a comparison`.
    Operation(String),
    /// The expression has too many operations, or its term too many nodes.
    TooLong,
    /// In the frame, whose address is unknown.
    Frame,
    /// At an address that the running kernel hides.
    Address,
    /// The location, or its unwind information, is damaged; the cause.
    Damaged(String),
}

/// Why an instruction's variables are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoScope {
    /// No file with debug information, and what to do about it.
    DebugInformation(String),
    /// The function is not described: assembly, or its unit is without debug information.
    Function(String),
    /// The instruction is not in a copy of the function.
    Copy {
        /// Name of the function whose copy was meant.
        function: String,
    },
    /// The debug information is damaged.
    Damaged(String),
}

impl Scope {
    /// The innermost variable with the name.
    pub fn find(&self, name: &str) -> Option<&Variable> {
        self.frames.iter().flat_map(Frame::variables).find(|variable| variable.name == name)
    }

    /// All names in scope, the innermost first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let variables = self.frames.iter().flat_map(Frame::variables);
        variables.map(|variable| variable.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The function whose copy is meant.
    pub fn frame(&self) -> Option<&Frame> {
        self.frames.first()
    }
}

impl Frame {
    /// All variables, also the lost ones.
    pub fn variables_mut(&mut self) -> impl Iterator<Item = &mut Variable> {
        self.locals.iter_mut().chain(&mut self.parameters).chain(&mut self.gone)
    }

    /// All variables; those of blocks come first, and hide the parameters.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.locals.iter().chain(&self.parameters).chain(&self.gone)
    }
}

impl Variable {
    /// Returns the location as text: `in %rdi`, `at 8(%rsp)`, `not available here (live 20-48)`.
    pub fn place(&self) -> String {
        match &self.location {
            Ok(location) => location.to_string(),
            Err(missing) => match self.live_ranges() {
                live if live.is_empty() => format!("not available here: {missing}"),
                live => format!("not available here (live {live})"),
            },
        }
    }

    /// Returns `20-48, 60-64`, where the second number is the offset after the last byte. Empty if no range
    /// is known.
    pub fn live_ranges(&self) -> String {
        const SHOWN: usize = 6;
        let mut text = String::new();
        for (index, range) in self.live.iter().take(SHOWN).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(text, "{comma}{}-{}", range.start, range.end);
        }
        if self.live.len() > SHOWN {
            let _ = write!(text, ", and {} more ranges", self.live.len() - SHOWN);
        }
        text
    }
}

/// Completes a sentence that begins with the variable's name.
impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::OptimisedOut => f.write_str("optimised out"),
            Missing::NotCovered => f.write_str("its location does not cover this instruction"),
            Missing::NowhereHere => f.write_str("optimised out at this instruction"),
            Missing::Guarded => f.write_str("its register has the stack protector's guard at this instruction"),
            Missing::ImplicitPointer => {
                f.write_str("it points to an object that was optimised out (DW_OP_implicit_pointer)")
            }
            Missing::Pieces => f.write_str("some of its pieces are unknown (DW_OP_piece)"),
            Missing::EntryValue => f.write_str(
                "only its value at the function's entry is described, which was not saved (DW_OP_entry_value)",
            ),
            Missing::ParameterRef => {
                f.write_str("it is an argument of the caller, which was not saved (DW_OP_GNU_parameter_ref)")
            }
            Missing::Converted => f.write_str("its location converts between types (DW_OP_convert)"),
            // The numbers of x86-64 and of aarch64; those that both have are saved on aarch64.
            Missing::Register(number @ 17..=32) => {
                write!(f, "it is in the vector register %xmm{}, which a probe cannot read", number - 17)
            }
            Missing::Register(number @ 33..=40) => {
                write!(f, "it is in the x87 register %st({}), which a probe cannot read", number - 33)
            }
            Missing::Register(number @ 64..=95) => {
                write!(f, "it is in the vector register v{}, which a probe cannot read", number - 64)
            }
            Missing::Register(number) => {
                write!(f, "it is in register {number}, which is not saved at a probe")
            }
            Missing::Operation(name) => write!(f, "its location uses {name}"),
            Missing::TooLong => f.write_str("its location expression is too long"),
            Missing::Frame => {
                f.write_str("it is in the stack frame, whose address is unknown without unwind information")
            }
            Missing::Address => f.write_str("it is at an address that the kernel hides"),
            Missing::Damaged(cause) => write!(f, "its location cannot be read: {cause}"),
        }
    }
}

impl fmt::Display for NoScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoScope::DebugInformation(why) => f.write_str(why),
            NoScope::Function(function) => write!(f, "the debug information does not describe {function}()"),
            NoScope::Copy { function } => {
                write!(f, "the instruction is not in an inlined copy of {function}()")
            }
            NoScope::Damaged(cause) => write!(f, "the debug information cannot be read: {cause}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::term::{Register, Term};
    use kinst_base::machine::Machine;

    #[test]
    fn a_place_is_one_phrase() {
        let variable = |location, live: &[Range<u64>]| Variable {
            name: "count".to_owned(),
            ty: None,
            location,
            live: live.to_vec(),
        };
        let register =
            Register::new(Machine::X86_64, 5).map(|register| Location::Value(Term::Register(register)));
        assert_eq!(variable(Ok(register.unwrap()), &[]).place(), "in %rdi");
        let elsewhere = variable(Err(Missing::NotCovered), &[20..48, 60..64]);
        assert_eq!(elsewhere.place(), "not available here (live 20-48, 60-64)");
        let gone = variable(Err(Missing::OptimisedOut), &[]);
        assert_eq!(gone.place(), "not available here: optimised out");
        let ranges: Vec<Range<u64>> = (0..8).map(|n| n * 10..n * 10 + 5).collect();
        let scattered = variable(Err(Missing::NotCovered), &ranges);
        assert!(scattered.place().ends_with("50-55, and 2 more ranges)"), "{}", scattered.place());
    }
}
