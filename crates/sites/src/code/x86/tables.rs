//! sites/code/x86/tables.rs: the targets of jumps through tables, as gcc and clang compile a `switch`.
//!
//! `cmp $4, %edi; ja other; mov %edi, %edi; lea table(%rip), %rdx; movslq (%rdx,%rdi,4), %rax; add %rdx,
//! %rax; jmp *%rax`: the entries are distances from the table. In code that is not relocatable they are
//! addresses of eight bytes: `jmp *table(,%rdi,8)`.

use std::ops::Range;

use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};

use crate::code::set::IndirectJump;

/// How far to search for the inputs of a jump, in instructions.
const FAR: usize = 64;
/// Maximum number of successive branches on the path to a jump.
const DEEP: usize = 4;

/// A function that reads the data at an address.
pub(super) type Data<'d> = dyn Fn(u64, usize) -> Option<Vec<u8>> + 'd;

/// Returns the indirect jumps of a section that may stay in their function, by address.
pub(super) fn indirect_jumps(code: &[u8], address: u64, data: &Data<'_>) -> Vec<IndirectJump> {
    let section = Section::new(code, address);
    let found = section.jumps.iter().map(|at| (*at, section.targets(*at, data)));
    found
        .filter(|(at, targets)| targets.is_some() || !section.is_after_epilogue(*at))
        .map(|(at, targets)| IndirectJump {
            at: section.address_of(at),
            targets: targets.unwrap_or_default(),
        })
        .collect()
}

/// The instructions of a section, by index.
struct Section<'c> {
    code: &'c [u8],
    address: u64,
    /// Offset of each from the start of the section.
    starts: Vec<u32>,
    /// Indirect jumps.
    jumps: Vec<usize>,
    /// Targets of branches and jumps, with the indices of these; sorted.
    branches: Vec<(u64, u32)>,
}

/// A table: its address, and the format of its entries.
#[derive(Clone, Copy, Debug)]
struct Table {
    address: u64,
    /// Whether an entry is a four-byte distance from the table; else it is an eight-byte address.
    relative: bool,
}

/// The value that selects the entry: its location, and the number of its low bits.
#[derive(Clone, Copy, Debug)]
struct Index {
    place: Place,
    bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A general register, as its full register.
    Register(Register),
    Memory {
        base: Register,
        by: u64,
    },
}

impl<'c> Section<'c> {
    fn new(code: &'c [u8], address: u64) -> Section<'c> {
        let (mut starts, mut jumps, mut branches) = (Vec::new(), Vec::new(), Vec::new());
        let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
        let mut insn = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut insn);
            let at = starts.len();
            // No code section is that large.
            let Ok(start) = u32::try_from(insn.ip() - address) else { break };
            starts.push(start);
            match insn.flow_control() {
                FlowControl::IndirectBranch if insn.memory_base() != Register::RIP => jumps.push(at),
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    branches.push((insn.near_branch_target(), at as u32));
                }
                _ => {}
            }
        }
        branches.sort_unstable();
        Section { code, address, starts, jumps, branches }
    }

    fn address_of(&self, at: usize) -> u64 {
        self.address.wrapping_add(self.starts[at].into())
    }

    fn insn(&self, at: usize) -> Instruction {
        let code = &self.code[self.starts[at] as usize..];
        Decoder::with_ip(64, code, self.address_of(at), DecoderOptions::NONE).decode()
    }

    /// Returns the instructions before one, the nearest first.
    fn before(&self, at: usize) -> impl Iterator<Item = (usize, Instruction)> {
        (at.saturating_sub(FAR)..at).rev().map(|at| (at, self.insn(at)))
    }

    /// Whether the jump follows instructions that tear down the stack frame: a tail call.
    fn is_after_epilogue(&self, jump: usize) -> bool {
        let straight = self.before(jump).take_while(|(_, insn)| insn.flow_control() == FlowControl::Next);
        let mut straight = straight.map(|(_, insn)| insn);
        straight.any(|insn| match insn.mnemonic() {
            Mnemonic::Pop | Mnemonic::Leave => true,
            Mnemonic::Add | Mnemonic::Lea => insn.op0_register() == Register::RSP,
            _ => false,
        })
    }

    /// Returns the last instruction before another one that writes a register, ignoring incoming branches.
    fn writer(&self, before: usize, register: Register) -> Option<(usize, Instruction)> {
        let mut factory = InstructionInfoFactory::new();
        self.before(before).find(|(_, insn)| writes(&mut factory, insn, register))
    }

    fn targets(&self, jump: usize, data: &Data<'_>) -> Option<Vec<u64>> {
        let (table, load, index) = self.table(jump)?;
        // An incoming branch after the load may have loaded another entry.
        if load < jump && self.into(load + 1..jump).next().is_some() {
            return None;
        }
        let count = self.bound(load, Index { place: Place::Register(index), bits: 64 }, DEEP)?;
        let size = if table.relative { 4 } else { 8 };
        let entries = data(table.address, count.checked_mul(size)?)?;
        let target = |entry: &[u8]| {
            let to = match table.relative {
                true => table.address.wrapping_add_signed(i32::from_le_bytes(entry.try_into().ok()?).into()),
                false => u64::from_le_bytes(entry.try_into().ok()?),
            };
            let start = u32::try_from(to.checked_sub(self.address)?).ok()?;
            self.starts.binary_search(&start).is_ok().then_some(to)
        };
        let mut targets = entries.chunks_exact(size).map(target).collect::<Option<Vec<u64>>>()?;
        targets.sort_unstable();
        targets.dedup();
        Some(targets)
    }

    /// Returns the table of a jump, the instruction that loads an entry, and the register that selects it.
    fn table(&self, jump: usize) -> Option<(Table, usize, Register)> {
        let insn = self.insn(jump);
        if insn.op0_kind() == OpKind::Memory {
            return self.absolute(jump, &insn);
        }
        let register = insn.op0_register();
        let (at, from) = self.writer(jump, register)?;
        if from.mnemonic() == Mnemonic::Mov && from.op1_kind() == OpKind::Memory {
            return self.absolute(at, &from);
        }
        if from.mnemonic() != Mnemonic::Add || from.op1_kind() != OpKind::Register {
            return None;
        }
        // One summand is the address of the table, the other one the entry.
        let other = from.op1_register();
        [(register, other), (other, register)].into_iter().find_map(|(entry, base)| {
            let (load, read) = self.writer(at, entry)?;
            if read.mnemonic() == Mnemonic::Cdqe {
                return self.unoptimized(load, (at, base));
            }
            let is_entry = read.mnemonic() == Mnemonic::Movsxd
                && read.op1_kind() == OpKind::Memory
                && read.memory_displacement64() == 0
                && read.memory_index_scale() == 4;
            let address = self.address_in(at, base).filter(|_| is_entry)?;
            let is_same = self.address_in(load, read.memory_base()) == Some(address);
            is_same.then_some((Table { address, relative: true }, load, read.memory_index()))
        })
    }

    /// Returns the table that gcc reads without optimization: `lea 0(,%rax,4), %rdx; lea table(%rip), %rax;
    /// mov (%rdx,%rax), %eax; cltq`, before the instruction at which `base` has its address.
    fn unoptimized(&self, extended: usize, base: (usize, Register)) -> Option<(Table, usize, Register)> {
        let address = self.address_in(base.0, base.1)?;
        let (load, read) = self.writer(extended, Register::RAX)?;
        let is_entry = read.mnemonic() == Mnemonic::Mov
            && read.op0_register() == Register::EAX
            && read.op1_kind() == OpKind::Memory
            && read.memory_displacement64() == 0
            && read.memory_index_scale() == 1;
        let summands = [read.memory_base(), read.memory_index()];
        let has_table = |register: &Register| self.address_in(load, *register) == Some(address);
        let table = summands.iter().position(has_table).filter(|_| is_entry)?;
        let (at, scaled) = self.writer(load, summands[1 - table])?;
        let is_index = scaled.mnemonic() == Mnemonic::Lea
            && scaled.memory_base() == Register::None
            && scaled.memory_displacement64() == 0
            && scaled.memory_index_scale() == 4;
        is_index.then_some((Table { address, relative: true }, at, scaled.memory_index()))
    }

    /// Returns the table of an entry in a memory operand.
    fn absolute(&self, at: usize, insn: &Instruction) -> Option<(Table, usize, Register)> {
        let is_entry = insn.memory_index() != Register::None && insn.memory_index_scale() == 8;
        let base = match insn.memory_base() {
            Register::None => 0,
            base => self.address_in(at, base)?,
        };
        let address = base.wrapping_add(insn.memory_displacement64());
        is_entry.then_some((Table { address, relative: false }, at, insn.memory_index()))
    }

    /// Returns the address in a register before an instruction, from `lea`.
    fn address_in(&self, before: usize, register: Register) -> Option<u64> {
        let (_, insn) = self.writer(before, register)?;
        let is_address = insn.mnemonic() == Mnemonic::Lea && insn.memory_base() == Register::RIP;
        is_address.then(|| insn.memory_displacement64())
    }

    /// Returns the number of possible index values at an instruction; `None` if some path to it does not
    /// compare the index.
    fn bound(&self, before: usize, index: Index, deep: usize) -> Option<usize> {
        let mut factory = InstructionInfoFactory::new();
        let mut index = index;
        let mut start = before;
        // A comparison of fewer bits than the index has; it counts only if the others turn out to be zero.
        let mut narrow: Option<(u32, usize)> = None;
        while start > 0 && before - start < FAR {
            let insn = self.insn(start - 1);
            match insn.flow_control() {
                FlowControl::Next => {}
                FlowControl::ConditionalBranch => {
                    if let Some((bits, count)) = self.compared(start - 1, &insn, &index, false) {
                        if bits >= index.bits {
                            return self.with_branches(start..before, index, Some(count), deep);
                        }
                        narrow = Some((bits, count));
                    }
                }
                FlowControl::Call | FlowControl::IndirectCall if is_kept(&index) => {}
                FlowControl::Call | FlowControl::IndirectCall => return None,
                _ => break,
            }
            if changes(&mut factory, &insn, &index.place) {
                let from = source(&insn, &index)?;
                match (narrow, from) {
                    (Some((bits, count)), Source { bits: written, .. }) if bits >= written => {
                        return self.with_branches(start - 1..before, index, Some(count), deep);
                    }
                    (_, Source { mask: Some(mask), .. }) => {
                        return self.with_branches(start - 1..before, index, Some(mask + 1), deep);
                    }
                    (None, Source { index: Some(from), .. }) => index = from,
                    _ => return None,
                }
            }
            start -= 1;
        }
        if narrow.is_some() {
            return None;
        }
        self.with_branches(start..before, index, None, deep)
    }

    /// Returns the number of index values at the end of a straight run of instructions, including the
    /// branches into it.
    fn with_branches(
        &self,
        run: Range<usize>,
        index: Index,
        known: Option<usize>,
        deep: usize,
    ) -> Option<usize> {
        let mut most = known;
        for at in self.into(run.clone()).filter(|at| !run.contains(at)) {
            let insn = self.insn(at);
            let count = match insn.flow_control() {
                FlowControl::ConditionalBranch => match self.compared(at, &insn, &index, true) {
                    Some((bits, count)) => Some(count).filter(|_| bits >= index.bits),
                    None if deep > 0 => self.bound(at, index, deep - 1),
                    None => None,
                },
                _ if deep > 0 => self.bound(at, index, deep - 1),
                _ => None,
            };
            most = Some(most.unwrap_or(0).max(count?));
        }
        most
    }

    /// Returns the branches and jumps to one of these instructions, or to the one after them.
    fn into(&self, run: Range<usize>) -> impl Iterator<Item = usize> {
        let addresses = self.address_of(run.start)..=self.address_of(run.end);
        let first = self.branches.partition_point(|(to, _)| to < addresses.start());
        let into = self.branches[first..].iter().take_while(move |(to, _)| addresses.contains(to));
        into.map(|(_, at)| *at as usize)
    }

    /// Returns the number of index values with which a branch is taken (or not), if it follows a comparison
    /// of the index with a constant, and the number of compared bits.
    fn compared(
        &self,
        branch: usize,
        insn: &Instruction,
        index: &Index,
        taken: bool,
    ) -> Option<(u32, usize)> {
        let mut factory = InstructionInfoFactory::new();
        let more = match (insn.condition_code(), taken) {
            (ConditionCode::a, false) | (ConditionCode::be, true) => 1,
            (ConditionCode::ae, false) | (ConditionCode::b, true) => 0,
            _ => return None,
        };
        let mut between = self.before(branch);
        let (_, test) = between.find(|(_, insn)| {
            insn.rflags_modified() != 0 || changes(&mut factory, insn, &index.place) || is_branch(insn)
        })?;
        let is_same = test.mnemonic() == Mnemonic::Cmp && place(&test, 0) == Some(index.place);
        let number = immediate(&test, 1).filter(|_| is_same)?;
        let count = usize::try_from(number).ok()?.checked_add(more)?;
        Some((operand_bits(&test, 0), count))
    }
}

/// The value that an instruction assigns to the index.
struct Source {
    /// Its previous location, if it is only moved.
    index: Option<Index>,
    /// Number of low bits that may be nonzero.
    bits: u32,
    /// Its maximum, if the instruction determines it.
    mask: Option<usize>,
}

/// `None` if the upper bits of the written value are unknown.
fn source(insn: &Instruction, index: &Index) -> Option<Source> {
    use Mnemonic as M;
    let written = operand_bits(insn, 0);
    let moved = |bits: u32| place(insn, 1).map(|place| Index { place, bits: bits.min(index.bits) });
    let source = match insn.mnemonic() {
        M::Mov if written >= 32 => Source { index: moved(written), bits: written, mask: None },
        M::Movzx => {
            let bits = operand_bits(insn, 1);
            Source { index: moved(bits), bits, mask: None }
        }
        M::And if written >= 32 => {
            let mask = immediate(insn, 1).and_then(|mask| usize::try_from(mask).ok());
            // For larger tables, compilers emit a comparison.
            Source { index: None, bits: written, mask: mask.filter(|mask| *mask < 1 << 10) }
        }
        _ if written >= 32 => Source { index: None, bits: written, mask: None },
        _ => return None,
    };
    Some(source)
}

fn is_branch(insn: &Instruction) -> bool {
    insn.flow_control() != FlowControl::Next
}

/// Whether a call preserves a location: the ABI names these registers.
fn is_kept(index: &Index) -> bool {
    use Register as R;
    matches!(index.place, Place::Register(R::RBX | R::RBP | R::R12 | R::R13 | R::R14 | R::R15))
}

fn writes(factory: &mut InstructionInfoFactory, insn: &Instruction, register: Register) -> bool {
    let used = factory.info(insn).used_registers();
    used.iter()
        .any(|used| is_write(used.access()) && used.register().full_register() == register.full_register())
}

/// Whether an instruction may change the contents of a location.
fn changes(factory: &mut InstructionInfoFactory, insn: &Instruction, place: &Place) -> bool {
    match *place {
        Place::Register(register) => writes(factory, insn, register),
        Place::Memory { base, .. } => {
            writes(factory, insn, base)
                || factory.info(insn).used_memory().iter().any(|used| is_write(used.access()))
        }
    }
}

fn is_write(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// Returns the location of an operand: a register of whose low bits it consists, or memory at a register.
fn place(insn: &Instruction, operand: u32) -> Option<Place> {
    match insn.op_kind(operand) {
        OpKind::Register => {
            let register = insn.op_register(operand);
            // %ah is not one of the lowest bytes.
            let is_high = matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
            (register.is_gpr() && !is_high).then(|| Place::Register(register.full_register()))
        }
        OpKind::Memory => {
            let is_plain = insn.memory_index() == Register::None && insn.segment_prefix() == Register::None;
            let base = insn.memory_base();
            (is_plain && base != Register::None && base != Register::RIP)
                .then(|| Place::Memory { base, by: insn.memory_displacement64() })
        }
        _ => None,
    }
}

/// Returns the size of an operand; 0 for neither a register nor memory.
fn operand_bits(insn: &Instruction, operand: u32) -> u32 {
    let bytes = match insn.op_kind(operand) {
        OpKind::Register => insn.op_register(operand).size(),
        OpKind::Memory => insn.memory_size().size(),
        _ => 0,
    };
    bytes as u32 * 8
}

/// Returns a non-negative immediate.
fn immediate(insn: &Instruction, operand: u32) -> Option<u64> {
    let is_number = insn.op_count() > operand && insn.try_immediate(operand).is_ok();
    is_number.then(|| insn.immediate(operand)).filter(|number| *number <= u32::MAX.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 0x1000;
    const TABLE: u64 = 0x3000;

    /// cmp $2, %edi; ja +20; mov %edi, %edi; lea TABLE(%rip), %rdx; movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax;
    /// nop; nop; ret
    const CODE: [u8; 26] = [
        0x83, 0xff, 0x02, 0x77, 0x14, 0x89, 0xff, 0x48, 0x8d, 0x15, 0xf2, 0x1f, 0x00, 0x00, 0x48, 0x63, 0x04,
        0xba, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0x90, 0x90, 0xc3,
    ];

    fn jumps(code: &[u8], targets: &[u64]) -> Vec<IndirectJump> {
        let table: Vec<u8> =
            targets.iter().flat_map(|to| (to.wrapping_sub(TABLE) as u32).to_le_bytes()).collect();
        let data = |at: u64, len: usize| {
            assert_eq!(at, TABLE);
            table.get(..len).map(<[u8]>::to_vec)
        };
        indirect_jumps(code, AT, &data)
    }

    #[test]
    fn a_table_of_three_distances() {
        let jump = |targets: &[u64]| vec![IndirectJump { at: AT + 21, targets: targets.to_vec() }];
        assert_eq!(jumps(&CODE, &[AT + 25, AT + 23, AT + 24]), jump(&[AT + 23, AT + 24, AT + 25]));
        assert_eq!(jumps(&CODE, &[AT + 25, AT + 23]), jump(&[]), "it ends too early");
        assert_eq!(jumps(&CODE, &[AT + 25, AT + 23, AT + 4]), jump(&[]), "no instruction begins there");
        let with = |at: usize, byte: u8| {
            let mut code = CODE;
            code[at] = byte;
            jumps(&code, &[AT + 25, AT + 23, AT + 24])
        };
        assert_eq!(with(1, 0xfe), jump(&[]), "%esi is compared");
        assert_eq!(with(3, 0x7f), jump(&[]), "the comparison is one of signed numbers");
        assert_eq!(with(4, 0x10), jump(&[]), "a branch leads to the jump");
    }

    /// cmp $2, %eax; ja +36; mov %eax, %eax; lea 0(,%rax,4), %rdx; lea TABLE(%rip), %rax; mov (%rdx,%rax), %eax; cltq;
    /// lea TABLE(%rip), %rdx; add %rdx, %rax; jmp *%rax; nop; nop; ret
    #[test]
    fn a_table_without_optimization() {
        let code: [u8; 42] = [
            0x83, 0xf8, 0x02, 0x77, 0x24, 0x89, 0xc0, 0x48, 0x8d, 0x14, 0x85, 0, 0, 0, 0, 0x48, 0x8d, 0x05,
            0xea, 0x1f, 0, 0, 0x8b, 0x04, 0x02, 0x48, 0x98, 0x48, 0x8d, 0x15, 0xde, 0x1f, 0, 0, 0x48, 0x01,
            0xd0, 0xff, 0xe0, 0x90, 0x90, 0xc3,
        ];
        let jump = |targets: &[u64]| vec![IndirectJump { at: AT + 37, targets: targets.to_vec() }];
        assert_eq!(jumps(&code, &[AT + 41, AT + 39, AT + 40]), jump(&[AT + 39, AT + 40, AT + 41]));
        let with = |at: usize, byte: u8| {
            let mut code = code;
            code[at] = byte;
            jumps(&code, &[AT + 41, AT + 39, AT + 40])
        };
        assert_eq!(with(18, 0xee), jump(&[]), "the entry is of another table");
        assert_eq!(with(10, 0x45), jump(&[]), "the index is multiplied by 2");
        assert_eq!(with(22, 0x03), jump(&[]), "the entry is added");
    }

    #[test]
    fn a_call_at_the_end_is_no_table() {
        // pop %rbx; jmp *%rax
        assert_eq!(jumps(&[0x5b, 0xff, 0xe0], &[]), []);
        // mov (%rdi), %rax; jmp *%rax
        let unknown = IndirectJump { at: AT + 3, targets: vec![] };
        assert_eq!(jumps(&[0x48, 0x8b, 0x07, 0xff, 0xe0], &[]), [unknown]);
    }
}
