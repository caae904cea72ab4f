//! program.rs: random meaningful DIF programs: typed expressions over variables, strings and arguments.

use kinst::dif::asm::Assembler;
use kinst::dif::insn::{Builtin, Insn, Opcode, PUSH_STRING, Reg, Subr};
use kinst::dif::{Action, ActionKind, Clause, CtfKind, Difo, Program, Scope, Type, Variable, VariableKind};

mod texts;

use crate::numbers::Random;

impl Random {
    pub(crate) fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.pick(&[0, 1, u64::MAX, i64::MIN as u64, i64::MAX as u64, 0x8000_0000, 255]),
            1 => self.next(),
            2 => (self.below(40) as u64).wrapping_sub(20),
            _ => self.below(16) as u64,
        }
    }

    pub(crate) fn text(&mut self) -> Vec<u8> {
        const WORDS: [&[u8]; 17] = [
            b"",
            b"a",
            b"ab",
            b"abcabc",
            b"Hello, World",
            b"/usr/lib/x.so",
            b"/a/./../b/..",
            b"x/../../y/.",
            b"/../",
            b"//a//",
            b"/",
            b" -12z",
            b"0x1f",
            b"a,b;c",
            b"\xff\x80",
            b"zzzzzzzzzzzzzzzzzzzzzzzz",
            b"bca",
        ];
        if self.one_in(5) {
            return (0..self.below(30)).map(|_| 1 + self.below(255) as u8).collect();
        }
        self.pick(&WORDS).to_vec()
    }
}

/// A structure.
const BYTES: Type = Type::by_ref(CtfKind::Struct, 16);

/// Returns the variables that the programs use.
pub(crate) fn variables() -> Vec<Variable> {
    let number = Type::by_value(CtfKind::Integer, 8);
    let string = Type::string(0);
    let table = [
        ("g", Scope::Global, VariableKind::Scalar, number),
        ("gs", Scope::Global, VariableKind::Scalar, string),
        ("ga", Scope::Global, VariableKind::Array, number),
        ("gas", Scope::Global, VariableKind::Array, string),
        ("t", Scope::Thread, VariableKind::Scalar, number),
        ("ts", Scope::Thread, VariableKind::Scalar, string),
        ("ta", Scope::Thread, VariableKind::Array, number),
        ("l", Scope::Local, VariableKind::Scalar, number),
        ("ls", Scope::Local, VariableKind::Scalar, string),
        ("gb", Scope::Global, VariableKind::Scalar, BYTES),
        ("gab", Scope::Global, VariableKind::Array, BYTES),
        ("tb", Scope::Thread, VariableKind::Scalar, BYTES),
    ];
    let entries = (0x500u32..).zip(table);
    entries
        .map(|(id, (name, scope, kind, ty))| Variable {
            name: name.to_string(),
            id,
            kind,
            scope,
            read: true,
            written: true,
            ty,
        })
        .collect()
}

/// Makes clauses of random statements, all for one probe.
pub(crate) fn program(random: &mut Random) -> Program {
    let mut program = Program { variables: variables(), ..Program::default() };
    for _ in 0..1 + random.below(3) {
        let clause = clause(random, &mut program);
        program.clauses.push(clause);
    }
    program
}

fn clause(random: &mut Random, program: &mut Program) -> Clause {
    let mut actions = Vec::new();
    let predicate = random.one_in(3).then(|| add(program, number_object(random, 8)));
    for _ in 0..1 + random.below(4) {
        if random.one_in(4) {
            aggregate(random, program, &mut actions);
            continue;
        }
        if random.one_in(4) {
            speculation(random, program, &mut actions);
            continue;
        }
        let object = match random.below(8) {
            0 | 1 | 6 => assignment(random),
            2 => string_object(random),
            3 => bytes_object(random),
            7 => elements_object(random),
            _ => {
                let size = random.pick(&[1, 2, 4, 8, 8]);
                number_object(random, size)
            }
        };
        let difo = add(program, object);
        actions.push(action(ActionKind::DifExpr, Some(difo)));
    }
    let record = random.one_in(2);
    Clause { probes: Vec::new(), predicate, actions, statements: Vec::new(), record, part: false }
}

fn add(program: &mut Program, object: Difo) -> u32 {
    program.difos.push(object);
    program.difos.len() as u32 - 1
}

fn action(kind: ActionKind, difo: Option<u32>) -> Action {
    Action { kind, difo, ntuple: 0, incr: None, agg: 0, arg: 0 }
}

/// Adds an aggregating action. Each function has a separate aggregation with its own key types, so that all
/// uses agree.
fn aggregate(random: &mut Random, program: &mut Program, actions: &mut Vec<Action>) {
    use ActionKind::*;
    let functions = [Count, Sum, Min, Max, Avg, Stddev, Quantize, Lquantize, Llquantize];
    let nth = random.below(functions.len());
    let kind = functions[nth];
    let keys: &[u32] = [&[][..], &[8], &[4, 0], &[0, 1, 8]][nth % 4];
    for size in keys {
        let object = if *size == 0 { string_object(random) } else { number_object(random, *size) };
        let difo = add(program, object);
        actions.push(action(DifExpr, Some(difo)));
    }
    let quantizes = matches!(kind, Quantize | Lquantize | Llquantize);
    let value = (kind != Count).then(|| add(program, number_object(random, 8)));
    let incr = (quantizes && random.one_in(3)).then(|| add(program, number_object(random, 8)));
    let arg = match kind {
        Lquantize => 3 << 48 | 5 << 32 | u64::from((-4i32) as u32),
        Llquantize => 10 << 48 | 3 << 16 | 20,
        _ => 0,
    };
    actions.push(Action { kind, difo: value, ntuple: keys.len() as u16, incr, agg: nth as u32 + 1, arg });
}

/// Adds speculation(), or an action on one of a few speculations, which may not exist.
fn speculation(random: &mut Random, program: &mut Program, actions: &mut Vec<Action>) {
    use ActionKind::*;
    let mut asm = Assembler::new();
    if random.one_in(3) {
        asm.plain(Opcode::Flushts);
        asm.call(Subr::Speculation, 1);
    } else {
        let id = random.below(3) as u64 + u64::from(random.one_in(10));
        asm.setx(id, 1);
    }
    asm.ret(1);
    let object = asm.finish(Type::by_value(CtfKind::Integer, 4)).expect("it is short");
    let difo = add(program, object);
    let kind = random.pick(&[DifExpr, Speculate, Speculate, Commit, Discard]);
    actions.push(action(kind, Some(difo)));
}

/// Makes a DIFO for a number of `size` bytes.
pub(crate) fn number_object(random: &mut Random, size: u32) -> Difo {
    let mut writer = Writer::new(random);
    writer.number(1, 3);
    writer.asm.ret(1);
    writer.asm.finish(Type::by_value(CtfKind::Integer, size)).expect("the expression fits")
}

pub(crate) fn string_object(random: &mut Random) -> Difo {
    let mut writer = Writer::new(random);
    writer.string(1, 3);
    writer.asm.ret(1);
    writer.asm.finish(Type::string(0)).expect("the expression fits")
}

/// Makes a DIFO for a structure, in scratch memory or a variable.
fn bytes_object(random: &mut Random) -> Difo {
    let mut writer = Writer::new(random);
    writer.bytes(1, 2);
    writer.asm.ret(1);
    writer.asm.finish(BYTES).expect("the expression fits")
}

/// Makes a DIFO that assigns an element of an array and returns the same or another element.
fn elements_object(random: &mut Random) -> Difo {
    let mut writer = Writer::new(random);
    let array = writer.random.pick(&[2, 6]);
    writer.assign(array);
    writer.element(1, &[array]);
    writer.asm.ret(1);
    writer.asm.finish(Type::by_value(CtfKind::Integer, 8)).expect("both fit")
}

fn assignment(random: &mut Random) -> Difo {
    let mut writer = Writer::new(random);
    match writer.random.below(18) {
        variable @ 0..12 => writer.assign(variable),
        _ => writer.assign_member(),
    }
    writer.asm.ret(0);
    writer.asm.finish(Type::VOID).expect("the assignment fits")
}

/// Writes expressions: each leaves its value in the register `rd`, and registers above it are free.
struct Writer<'a> {
    asm: Assembler,
    random: &'a mut Random,
    variables: Vec<Variable>,
}

impl<'a> Writer<'a> {
    fn new(random: &'a mut Random) -> Writer<'a> {
        Writer { asm: Assembler::new(), random, variables: variables() }
    }

    fn number(&mut self, rd: Reg, depth: usize) {
        if depth == 0 || rd > 4 {
            return self.simple_number(rd);
        }
        match self.random.below(11) {
            0 => self.simple_number(rd),
            9 | 10 => self.member(rd, depth),
            1..=3 => self.arithmetic(rd, depth),
            4 => self.comparison(rd, depth),
            5 => self.choice(rd, depth),
            6 => self.element(rd, &[2, 6]),
            _ => self.number_call(rd, depth),
        }
    }

    fn simple_number(&mut self, rd: Reg) {
        match self.random.below(8) {
            0..=2 => {
                let value = self.random.number();
                self.asm.setx(value, rd);
            }
            3..=5 => {
                let variable = self.random.pick(&[0, 4, 7]);
                self.asm.load_scalar(&self.variables[variable], rd);
            }
            6 => {
                let index = self.random.below(6) as u64;
                self.asm.setx(index, rd);
                self.asm.emit(Insn::Array { op: Opcode::Ldga, var: Builtin::Args as u8, index: rd, rd });
            }
            _ => {
                let value = self.random.below(4) as u64;
                self.asm.setx(value, rd);
                // Occasionally an unreadable address.
                if self.random.one_in(30) {
                    let load = self.random.pick(&[Opcode::Ldub, Opcode::Uldsb, Opcode::Ldsb]);
                    self.asm.load(load, rd, rd);
                }
            }
        }
    }

    fn arithmetic(&mut self, rd: Reg, depth: usize) {
        use Opcode::*;
        self.number(rd, depth - 1);
        if self.random.one_in(6) {
            return self.asm.two(Not, rd, rd);
        }
        self.number(rd + 1, depth - 1);
        let ops = [Or, Xor, And, Sll, Srl, Sra, Sub, Add, Mul, Sub, Add, Sdiv, Udiv, Srem, Urem];
        let op = self.random.pick(&ops);
        let divides = matches!(op, Sdiv | Udiv | Srem | Urem);
        if divides && !self.random.one_in(10) {
            self.asm.setx(1, rd + 2);
            self.asm.three(Or, rd + 1, rd + 2, rd + 1);
        }
        self.asm.three(op, rd, rd + 1, rd);
    }

    fn comparison(&mut self, rd: Reg, depth: usize) {
        use Opcode::*;
        let strings = self.random.one_in(3);
        for register in [rd, rd + 1] {
            if strings { self.string(register, depth - 1) } else { self.number(register, depth - 1) }
        }
        let branches = [Be, Bne, Bg, Bge, Bl, Ble, Bgu, Bgeu, Blu, Bleu];
        let branch = self.random.pick(if strings { &branches[..6] } else { &branches });
        self.asm.compare(if strings { Scmp } else { Cmp }, rd, rd + 1);
        self.truth(branch, rd);
    }

    /// rd = whether the branch is taken
    fn truth(&mut self, branch: Opcode, rd: Reg) {
        let (yes, end) = (self.asm.label(), self.asm.label());
        self.asm.branch(branch, yes);
        self.asm.mov(0, rd);
        self.asm.branch(Opcode::Ba, end);
        self.asm.bind(yes);
        self.asm.setx(1, rd);
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
    }

    fn choice(&mut self, rd: Reg, depth: usize) {
        self.number(rd, depth - 1);
        self.asm.tst(rd);
        let (no, end) = (self.asm.label(), self.asm.label());
        self.asm.branch(Opcode::Be, no);
        self.number(rd, depth - 1);
        self.asm.branch(Opcode::Ba, end);
        self.asm.bind(no);
        self.number(rd, depth - 1);
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
    }

    /// rd = the address of 16 bytes.
    fn bytes(&mut self, rd: Reg, depth: usize) {
        match self.random.below(5) {
            0 => self.asm.load_scalar(&self.variables[9], rd),
            1 => {
                self.keys(rd);
                self.asm.load_element(&self.variables[10], rd);
                self.or_zeros(rd);
            }
            2 => {
                self.asm.load_scalar(&self.variables[11], rd);
                self.or_zeros(rd);
            }
            _ => self.new_bytes(rd, depth),
        }
    }

    fn or_zeros(&mut self, rd: Reg) {
        let end = self.asm.label();
        self.asm.tst(rd);
        self.asm.branch(Opcode::Bne, end);
        self.asm.setx(16, rd);
        self.asm.two(Opcode::Allocs, rd, rd);
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
    }

    /// rd = scratch memory with numbers stored into it, or copied from elsewhere.
    fn new_bytes(&mut self, rd: Reg, depth: usize) {
        use Opcode::*;
        self.asm.setx(16, rd);
        if self.random.one_in(2) {
            self.asm.two(Allocs, rd, rd);
        } else {
            self.call(Subr::Alloca, rd, "n");
        }
        for _ in 0..1 + self.random.below(3) {
            let (store, size) = self.random.pick(&[(Stb, 1), (Sth, 2), (Stw, 4), (Stx, 8)]);
            let count = 16 / size;
            // Rarely misaligned for the store.
            let beside = u64::from(self.random.one_in(40)) + 4000 * u64::from(self.random.one_in(40));
            let offset = self.random.below(count - 1) as u64 * size as u64 + beside;
            self.number(rd + 1, depth.saturating_sub(1));
            self.asm.setx(offset, rd + 2);
            self.asm.three(Add, rd, rd + 2, rd + 2);
            self.asm.store(store, rd + 1, rd + 2);
        }
        if self.random.one_in(3) {
            // Copy the middle of the structure to a new one.
            self.asm.setx(16, rd + 1);
            self.asm.two(Allocs, rd + 1, rd + 1);
            let (from, size) = (self.random.below(8) as u64, self.random.below(9) as u64);
            self.asm.setx(from, rd + 2);
            self.asm.three(Add, rd, rd + 2, rd);
            self.asm.setx(size, rd + 2);
            if self.random.one_in(2) {
                self.asm.three(Copys, rd, rd + 2, rd + 1);
                self.asm.mov(rd + 1, rd);
            } else {
                self.asm.mov(rd + 1, rd + 3);
                self.asm.plain(Flushts);
                [rd, rd + 1, rd + 2].iter().for_each(|register| self.asm.push_value(*register));
                self.asm.call(Subr::Bcopy, rd);
                self.asm.mov(rd + 3, rd);
            }
        }
    }

    /// rd = a part of a structure, sign-extended or not.
    fn member(&mut self, rd: Reg, depth: usize) {
        use Opcode::*;
        self.bytes(rd, depth.saturating_sub(1));
        let loads = [
            (Ldsb, 1),
            (Ldsh, 2),
            (Ldsw, 4),
            (Ldub, 1),
            (Lduh, 2),
            (Lduw, 4),
            (Ldx, 8),
            (Rldsw, 4),
            (Rldx, 8),
        ];
        let (load, size) = self.random.pick(&loads);
        if depth > 0 && self.random.one_in(2) {
            self.index(rd + 1, size);
        } else {
            let offset = self.random.below(16 / size) as u64 * size as u64;
            self.asm.setx(offset, rd + 1);
        }
        self.asm.three(Add, rd, rd + 1, rd);
        self.asm.load(load, rd, rd);
    }

    /// rd = the offset of an element of 16 bytes by an index that is known at run time, and mostly within bounds.
    fn index(&mut self, rd: Reg, size: usize) {
        use Opcode::*;
        self.number(rd, 1);
        if !self.random.one_in(8) {
            self.asm.setx(16 / size as u64 - 1, rd + 1);
            self.asm.three(And, rd, rd + 1, rd);
        }
        self.asm.setx(16 / size as u64, rd + 1);
        self.asm.compare(Bound, rd, rd + 1);
        self.asm.setx(size.trailing_zeros().into(), rd + 1);
        self.asm.three(Sll, rd, rd + 1, rd);
    }

    fn number_call(&mut self, rd: Reg, depth: usize) {
        use Subr::*;
        match self.random.below(6) {
            5 => {
                self.number(rd, depth - 1);
                self.number(rd + 1, depth - 1);
                self.call(Memref, rd, "nn");
                let offset = self.random.below(2) as u64 * 8;
                self.asm.setx(offset, rd + 1);
                self.asm.three(Opcode::Add, rd, rd + 1, rd);
                self.asm.load(Opcode::Ldx, rd, rd);
            }
            0 => {
                self.string(rd, depth - 1);
                self.call(Strlen, rd, "s");
            }
            1 => {
                let subr = self.random.pick(&[Index, Rindex]);
                self.string(rd, depth - 1);
                self.string(rd + 1, depth - 1);
                if self.random.one_in(2) {
                    return self.call(subr, rd, "ss");
                }
                let start = (self.random.below(40) as u64).wrapping_sub(10);
                self.asm.setx(start, rd + 2);
                self.call(subr, rd, "ssn");
            }
            2 => {
                self.string(rd, depth - 1);
                let base = self.random.pick(&[2, 8, 10, 16, 36]);
                self.asm.setx(base, rd + 1);
                self.call(Strtoll, rd, "sn");
            }
            _ => {
                let subr =
                    self.random.pick(&[Htons, Htonl, Htonll, Ntohs, Ntohl, Ntohll, Getmajor, Getminor]);
                self.number(rd, depth - 1);
                self.call(subr, rd, "n");
            }
        }
    }

    /// rd = an element of one of these arrays; a missing string becomes a constant.
    fn element(&mut self, rd: Reg, arrays: &[usize]) {
        let array = self.random.pick(arrays);
        self.keys(rd);
        self.asm.load_element(&self.variables[array], rd);
        if array == 3 {
            self.or_constant(rd);
        }
    }

    /// Pushes a number and a short string, in registers from rd on; they have few different values, so that elements
    /// recur.
    fn keys(&mut self, rd: Reg) {
        let key = self.random.below(3) as u64;
        self.asm.setx(key, rd);
        // With a strsize of 8 the longer ones are equal, with 16 the two longest. The size is unknown, or the string's.
        let text = self.random.pick(&[&b"x"[..], b"y", b"longer ", b"longer than eig", b"longer than eight"]);
        self.asm.sets(text, rd + 1);
        let size = if self.random.one_in(2) { rd + 2 } else { 0 };
        if size != 0 {
            self.asm.setx(text.len() as u64 + 1, size);
        }
        self.asm.plain(Opcode::Flushts);
        self.asm.push_value(rd);
        self.asm.push_ref(PUSH_STRING, size, rd + 1);
    }

    fn call(&mut self, subr: Subr, rd: Reg, arguments: &str) {
        self.asm.plain(Opcode::Flushts);
        for (register, kind) in (rd..).zip(arguments.chars()) {
            match kind {
                's' => self.asm.push_ref(PUSH_STRING, 0, register),
                _ => self.asm.push_value(register),
            }
        }
        self.asm.call(subr, rd);
    }

    /// Assigns a number, or a part of a structure, to a part of a structure in a variable, created if necessary.
    fn assign_member(&mut self) {
        use Opcode::*;
        let variable = self.variables[self.random.pick(&[9, 10, 10, 11, 11])].clone();
        let keyed = variable.kind == VariableKind::Array;
        let copies = self.random.one_in(3);
        if copies {
            self.bytes(1, 1)
        } else {
            self.number(1, 2)
        }
        let load = |asm: &mut Assembler| match keyed {
            true => asm.load_element(&variable, 2),
            false => asm.load_scalar(&variable, 2),
        };
        if keyed {
            self.keys(2);
        }
        load(&mut self.asm);
        let there = self.asm.label();
        self.asm.tst(2);
        self.asm.branch(Bne, there);
        self.asm.setx(16, 3);
        self.asm.two(Allocs, 3, 3);
        if keyed {
            self.asm.store_element(3, &variable);
        } else {
            self.asm.store_scalar(3, &variable);
        }
        load(&mut self.asm);
        self.asm.bind(there);
        self.asm.plain(Nop);
        let (store, size) = self.random.pick(&[(Stb, 1), (Sth, 2), (Stw, 4), (Stx, 8)]);
        let beyond = u64::from(self.random.one_in(30)) * 16;
        let offset = self.random.below(16 / size) as u64 * size as u64 + beyond;
        self.asm.setx(offset, 3);
        self.asm.three(Add, 2, 3, 2);
        if copies {
            let size = self.random.below(17 - offset.min(16) as usize) as u64;
            self.asm.setx(size, 3);
            self.asm.three(Copys, 1, 3, 2);
        } else {
            self.asm.store(store, 1, 2);
        }
    }

    fn assign(&mut self, index: usize) {
        let variable = self.variables[index].clone();
        let clears = self.random.one_in(8);
        match (clears, variable.ty.by_ref) {
            (true, _) => self.asm.mov(0, 1),
            (false, true) if index > 8 => self.bytes(1, 2),
            (false, true) => self.string(1, 3),
            (false, false) => self.number(1, 3),
        }
        if variable.kind == VariableKind::Array {
            self.keys(2);
            self.asm.store_element(1, &variable);
        } else {
            self.asm.store_scalar(1, &variable);
        }
    }
}
