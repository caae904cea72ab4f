//! dwarf/callers.rs: the registers of a function's caller, from the call frame information of a program's file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gimli::{CfaRule, EvaluationResult, Location, RegisterRule, UnwindExpression, Value};

use super::cfi::{CallFrames, Rules};
use super::registers::{Memory, Registers};
use kinst_debuginfo::{ElfFile, Error};

/// The caller of a function, as far as it can be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "almost all values are the large variant, and none is stored")]
pub enum Caller {
    /// The registers once the function has returned.
    Found {
        /// Registers of the caller; some may be unknown.
        registers: Registers,
        /// Whether it was interrupted by a signal: its address is then an instruction's, not a return
        /// address.
        interrupted: bool,
    },
    /// The function has no caller: a program or a thread begins with it.
    Outermost,
}

/// The call frame information of a program or library.
pub struct Callers {
    frames: CallFrames<'static>,
    /// Rules by address: a stack has the same addresses again and again.
    known: RefCell<HashMap<u64, Option<Rc<Rules>>>>,
}

/// The most addresses whose rules are cached.
const MOST_KNOWN: usize = 1 << 16;
/// The most operations of an expression, jumps included: it may be a loop.
const MOST_OPERATIONS: u32 = 1000;

impl Callers {
    /// Reads .eh_frame, or .debug_frame if there is none. Errors are those of unpacking the section.
    pub fn read(image: &ElfFile) -> Result<Callers, Error> {
        Ok(Callers::of(CallFrames::of_program(image)?.into_owned()))
    }

    fn of(frames: CallFrames<'static>) -> Callers {
        Callers { frames, known: RefCell::default() }
    }

    /// Whether the file describes no functions.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The caller of the function at an address of the file. `registers` are the values there; some may be
    /// unknown. `None` if that address is not described, or too little is known.
    pub fn at(&self, address: u64, registers: &Registers, memory: &Memory<'_>) -> Option<Caller> {
        let rules = self.rules(address)?;
        let convention = registers.frames();
        let returns = convention.return_address;
        if usize::from(rules.return_address.0) != returns {
            return None;
        }
        let frame = Frame { frames: &self.frames, rules: &rules, registers, memory };
        let cfa = frame.cfa()?;
        let mut caller = Registers::none(registers.machine());
        // The link register has the return address until a function calls another.
        for preserved in convention.preserved.iter().copied().chain(registers.link()) {
            caller.set(preserved, registers.get(preserved));
        }
        caller.set(convention.stack_pointer, Some(cfa));
        for (register, rule) in &rules.registers {
            let number = usize::from(register.0);
            if number == returns && *rule == RegisterRule::Undefined {
                return Some(Caller::Outermost);
            }
            if number <= registers.ip_number() {
                caller.set(number, frame.value(number, rule, cfa));
            }
        }
        caller.set(registers.ip_number(), caller.get(returns));
        // A call overwrites it.
        if let Some(link) = registers.link().filter(|_| !rules.signal) {
            caller.set(link, None);
        }
        // By convention, a function without a caller has 0 as its return address.
        match caller.ip()? {
            0 => Some(Caller::Outermost),
            _ => Some(Caller::Found { registers: caller, interrupted: rules.signal }),
        }
    }

    fn rules(&self, address: u64) -> Option<Rc<Rules>> {
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let find = || self.frames.rules(address).ok().flatten().map(Rc::new);
        known.entry(address).or_insert_with(find).clone()
    }
}

/// A function that was called, or interrupted.
struct Frame<'f> {
    frames: &'f CallFrames<'static>,
    rules: &'f Rules,
    registers: &'f Registers,
    memory: &'f Memory<'f>,
}

impl Frame<'_> {
    /// The canonical frame address: the caller's stack pointer before it called.
    fn cfa(&self) -> Option<u64> {
        match &self.rules.cfa {
            CfaRule::RegisterAndOffset { register, offset } => {
                Some(self.register(*register)?.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None),
        }
    }

    fn register(&self, register: gimli::Register) -> Option<u64> {
        self.registers.get(usize::from(register.0))
    }

    /// The caller's value of a register.
    fn value(&self, register: usize, rule: &RegisterRule<usize>, cfa: u64) -> Option<u64> {
        match rule {
            RegisterRule::SameValue => self.registers.get(register),
            RegisterRule::Offset(by) => (self.memory)(cfa.wrapping_add_signed(*by)),
            RegisterRule::ValOffset(by) => Some(cfa.wrapping_add_signed(*by)),
            RegisterRule::Register(other) => self.register(*other),
            RegisterRule::Expression(expression) => (self.memory)(self.evaluate(expression, Some(cfa))?),
            RegisterRule::ValExpression(expression) => self.evaluate(expression, Some(cfa)),
            RegisterRule::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// `pushed` is the initial value on the expression's stack.
    fn evaluate(&self, expression: &UnwindExpression<usize>, pushed: Option<u64>) -> Option<u64> {
        let expression = self.frames.expression(expression).ok()?;
        let mut machine = expression.evaluation(self.rules.encoding);
        machine.set_max_iterations(MOST_OPERATIONS);
        if let Some(value) = pushed {
            machine.set_initial_value(value);
        }
        let mut state = machine.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, base_type } if base_type.0 == 0 => {
                    machine.resume_with_register(Value::Generic(self.register(register)?)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size, space: None, base_type }
                    if base_type.0 == 0 =>
                {
                    machine.resume_with_memory(Value::Generic(self.load(address, size)?)).ok()?
                }
                _ => return None,
            };
        }
        match machine.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Some(address),
                Location::Value { value: Value::Generic(value) } => Some(value),
                Location::Register { register } => self.register(register),
                _ => None,
            },
            _ => None,
        }
    }

    /// The unsigned integer in this many bytes.
    fn load(&self, address: u64, bytes: u8) -> Option<u64> {
        let word = (self.memory)(address)?;
        match bytes {
            8 => Some(word),
            1..8 => Some(word & ((1 << (8 * bytes)) - 1)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::BaseAddresses;
    use gimli::constants as dw;
    use kinst_base::machine::Machine;
    use std::borrow::Cow;

    /// The call frame information of three functions of 16 bytes from 0x1000 on, each with its own rules.
    fn section(functions: &[&[u8]], signal: bool) -> Vec<u8> {
        // The return address is register 16, at CFA - 8.
        section_of(functions, signal, 16, &[dw::DW_CFA_def_cfa.0, 7, 8, dw::DW_CFA_offset.0 | 16, 1])
    }

    fn section_of(functions: &[&[u8]], signal: bool, returns: u8, initial: &[u8]) -> Vec<u8> {
        let entry = |fields: &[u8]| {
            let mut entry = fields.to_vec();
            entry.resize(entry.len().next_multiple_of(8) + 4, dw::DW_CFA_nop.0);
            [&(entry.len() as u32).to_le_bytes()[..], &entry].concat()
        };
        // Version 1; absolute addresses; units of 1 and -8 bytes.
        let augmentation: &[u8] = if signal { b"zRS\0" } else { b"zR\0" };
        let cie = [&[0, 0, 0, 0, 1], augmentation, &[1, 0x78, returns, 1, dw::DW_EH_PE_absptr.0], initial];
        let mut section = entry(&cie.concat());
        for (number, rules) in (0u64..).zip(functions) {
            let cie = section.len() as u32 + 4;
            let start = (0x1000 + 16 * number).to_le_bytes();
            section
                .extend(entry(&[&cie.to_le_bytes()[..], &start, &16u64.to_le_bytes(), &[0], rules].concat()));
        }
        section
    }

    fn callers(section: Vec<u8>) -> Callers {
        let bases = BaseAddresses::default().set_eh_frame(0x4000).set_text(0x1000);
        Callers::of(CallFrames::read(Cow::Owned(section), false, bases))
    }

    /// Each register is 0x100 times its number, so rsp is 0x700; a word of the stack is its own address.
    fn at(callers: &Callers, address: u64) -> Option<Caller> {
        let registers = Registers::all(&(0..17).map(|number| 0x100 * number).collect::<Vec<_>>()).unwrap();
        let stack = |address| (0x700..0x900).contains(&address).then_some(address);
        callers.at(address, &registers, &stack)
    }

    fn found(callers: &Callers, address: u64) -> Registers {
        match at(callers, address) {
            Some(Caller::Found { registers, interrupted: false }) => registers,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_functions_do_to_registers() {
        // push %rbp at 1, then mov %rsp,%rbp, and push %rbx.
        let prologue = [
            dw::DW_CFA_advance_loc.0 | 1,
            dw::DW_CFA_def_cfa_offset.0,
            16,
            dw::DW_CFA_offset.0 | 6,
            2,
            dw::DW_CFA_advance_loc.0 | 3,
            dw::DW_CFA_offset.0 | 3,
            3,
        ];
        let callers = callers(section(&[&prologue], false));
        let entry = found(&callers, 0x1000);
        assert_eq!(
            (entry.get(7), entry.get(16), entry.get(6), entry.get(3)),
            (Some(0x708), Some(0x700), Some(0x600), Some(0x300))
        );
        // Registers that a function need not preserve are unknown in its caller.
        assert_eq!((entry.get(0), entry.get(10), entry.get(12)), (None, None, Some(0xc00)));
        let pushed = found(&callers, 0x1001);
        assert_eq!(
            (pushed.get(7), pushed.get(16), pushed.get(6), pushed.get(3)),
            (Some(0x710), Some(0x708), Some(0x700), Some(0x300))
        );
        // rbx was pushed below the known part of the stack.
        assert_eq!(found(&callers, 0x1004).get(3), None);
        assert_eq!((at(&callers, 0xfff), at(&callers, 0x1010)), (None, None));
    }

    #[test]
    fn expressions() {
        let cfa = |expression: &[u8]| {
            [&[dw::DW_CFA_def_cfa_expression.0, expression.len() as u8], expression].concat()
        };
        let load = cfa(&[dw::DW_OP_breg7.0, 8, dw::DW_OP_deref.0, dw::DW_OP_plus_uconst.0, 16]);
        // As the linker describes its stubs: 8 more from the eleventh byte on.
        let stub = cfa(&[
            dw::DW_OP_breg7.0,
            8,
            dw::DW_OP_breg16.0,
            0,
            dw::DW_OP_lit15.0,
            dw::DW_OP_and.0,
            dw::DW_OP_lit11.0,
            dw::DW_OP_ge.0,
            dw::DW_OP_lit3.0,
            dw::DW_OP_shl.0,
            dw::DW_OP_plus.0,
        ]);
        // Jumps to itself.
        let endless = cfa(&[dw::DW_OP_skip.0, 0xfd, 0xff]);
        let callers = callers(section(&[&load, &stub, &endless], false));
        assert_eq!(found(&callers, 0x1000).sp(), Some(0x718));
        // The registers say that rip is 0x1000, which is not past the eleventh byte.
        assert_eq!(found(&callers, 0x1010).sp(), Some(0x708));
        assert_eq!(at(&callers, 0x1020), None);
    }

    #[test]
    fn the_ends_of_stacks() {
        let outermost = [dw::DW_CFA_undefined.0, 16];
        let elsewhere = [dw::DW_CFA_def_cfa.0, 0, 0];
        let of = callers(section(&[&outermost, &elsewhere, &[]], false));
        assert_eq!(at(&of, 0x1000), Some(Caller::Outermost));
        assert_eq!(at(&of, 0x1010), None, "the return address is where nothing was copied");
        let nothing = |_| Some(0);
        let registers = Registers::all(&[0x700; 17]).unwrap();
        assert_eq!(of.at(0x1020, &registers, &nothing), Some(Caller::Outermost));
        assert_eq!(of.at(0x1020, &Registers::none(Machine::X86_64), &nothing), None);
        let handler = callers(section(&[&[]], true));
        assert!(matches!(at(&handler, 0x1000), Some(Caller::Found { interrupted: true, .. })));
    }

    /// Functions of arm64: the frame pointer is register 29, the link 30, the stack pointer 31.
    #[test]
    fn return_addresses_in_a_register() {
        let stored = [
            dw::DW_CFA_advance_loc.0 | 4,
            dw::DW_CFA_def_cfa_offset.0,
            32,
            dw::DW_CFA_offset.0 | 29,
            4,
            dw::DW_CFA_offset.0 | 30,
            3,
        ];
        let outermost = [dw::DW_CFA_undefined.0, 30];
        let section = section_of(&[&stored, &outermost], false, 30, &[dw::DW_CFA_def_cfa.0, 31, 0]);
        let callers = callers(section);
        let registers = Registers::all(&(0..33).map(|number| 0x100 * number).collect::<Vec<_>>()).unwrap();
        let stack = |address| (0x1f00..0x2000).contains(&address).then_some(address);
        let found = |address| match callers.at(address, &registers, &stack) {
            Some(Caller::Found { registers, interrupted: false }) => registers,
            other => panic!("{other:?}"),
        };
        let leaf = found(0x1000);
        assert_eq!((leaf.ip(), leaf.sp(), leaf.get(29)), (Some(0x1e00), Some(0x1f00), Some(0x1d00)));
        // Its frame is empty, which no function can have that was called from there.
        assert!(leaf.can_call(&registers, true) && !leaf.can_call(&registers, false));
        // x19 is preserved, x0 is not, and the call has overwritten the link.
        assert_eq!((leaf.get(19), leaf.get(0), leaf.get(30)), (Some(0x1300), None, None));
        let framed = found(0x1004);
        assert_eq!((framed.ip(), framed.sp(), framed.get(29)), (Some(0x1f08), Some(0x1f20), Some(0x1f00)));
        assert!(framed.can_call(&registers, false));
        // Nothing says where the caller's link is.
        assert_eq!(callers.at(0x1000, &leaf, &stack), None);
        assert_eq!(callers.at(0x1010, &registers, &stack), Some(Caller::Outermost));
        assert_eq!(registers.by_frame_pointer(&|_| Some(0)), None, "x29 is below the stack pointer");
    }

    proptest::proptest! {
        #[test]
        fn damaged_sections(
            edits in proptest::collection::vec((proptest::num::u16::ANY, proptest::num::u8::ANY), 1..8),
            length in proptest::num::u16::ANY,
            cut in proptest::bool::ANY,
        ) {
            let rules: &[u8] = &[dw::DW_CFA_advance_loc.0 | 4, dw::DW_CFA_remember_state.0, dw::DW_CFA_def_cfa_expression.0, 4,
                dw::DW_OP_breg7.0, 8, dw::DW_OP_deref.0, dw::DW_OP_dup.0, dw::DW_CFA_restore_state.0];
            let mut section = section(&[rules, rules, &[]], true);
            for (place, byte) in edits {
                let place = usize::from(place) % section.len();
                section[place] = byte;
            }
            if cut {
                section.truncate(usize::from(length) % section.len());
            }
            let callers = callers(section);
            for address in (0xff0..0x1040).chain([0, u64::MAX - 1, u64::MAX]) {
                at(&callers, address);
            }
        }

        #[test]
        fn any_section(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let callers = callers(bytes);
            for address in 0x1000..0x1010 {
                at(&callers, address);
            }
        }
    }
}
