//! random.rs: properties of random programs: they verify, survive encoding, list, and never panic.

use crate::machine::{self, Quiet};
use crate::numbers::Random;
use crate::program;
use kinst::dif::asm::Assembler;
use kinst::dif::insn::{Insn, Opcode};
use kinst::dif::{CtfKind, Difo, Options, Type, disasm, dump, layout, object};
use kinst::uapi::Flt;
use kinst_oracle::interp::{self, State};
use kinst_oracle::verify::{Limits, verify, verify_program};
use proptest::prelude::*;

const LIMITS: Limits = Limits { max_probes: 1000, max_insns: 1 << 20 };

fn image_of(seed: u64) -> Vec<u8> {
    let program = program::program(&mut Random(seed));
    let ecbs: Vec<_> = (0..program.clauses.len() as u32).map(|clause| (0, clause).into()).collect();
    object::encode(&program, &[machine::probe()], &ecbs, &Options::default()).unwrap()
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -3..3i64, Just(i64::MIN), Just(i64::MAX)]
}

proptest! {
    #[test]
    fn programs_verify_and_list(seed: u64) {
        let program = program::program(&mut Random(seed));
        prop_assert_eq!(verify_program(&program, &Options::default()), Ok(()));
        let listing = disasm::program(&program);
        let words: usize = program.difos.iter().map(|difo| difo.insns.len()).sum();
        let lines = listing.lines().filter(|line| line.as_bytes().get(2) == Some(&b':') || line.as_bytes().get(3) == Some(&b':'));
        prop_assert_eq!(lines.count(), words);
        prop_assert!(dump::dump(&program).ends_with(&listing));
    }

    #[test]
    fn the_wire_form_comes_back(seed: u64) {
        let program = program::program(&mut Random(seed));
        let bytes = image_of(seed);
        let image = verify(&bytes, &LIMITS).unwrap();
        prop_assert_eq!(image.to_bytes().unwrap(), bytes);
        for (index, difo) in (0u32..).zip(&program.difos) {
            let decoded = image.difo(index).unwrap();
            prop_assert_eq!(&Difo { variables: Vec::new(), ..difo.clone() }, &decoded);
        }
        for clause in &program.clauses {
            layout::clause_layout(&program, clause, &Options::default()).unwrap();
        }
    }

    /// A mutated image is refused, or terminates.
    #[test]
    fn damaged_images_do_no_harm(seed: u64, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = image_of(seed);
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let Ok(image) = verify(&bytes, &LIMITS) else { return Ok(()) };
        let options = Options { strsize: image.header.strsize, ..Options::default() };
        let mut state = State::new(&program::variables(), &options);
        for index in 0..image.difos.len() as u32 {
            let difo = image.difo(index).unwrap();
            let _ = interp::run(&difo, &mut state, &mut Quiet);
            disasm::difo(index, &difo);
        }
    }

    #[test]
    fn any_words_at_all_list_and_end(words in prop::collection::vec(any::<u32>(), 0..20)) {
        let difo = Difo { insns: words, ..Difo::default() };
        disasm::difo(0, &difo);
        let _ = interp::run(&difo, &mut State::new(&[], &Options::default()), &mut Quiet);
    }

    #[test]
    fn any_bytes_at_all_decode_or_not(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = verify(&bytes, &LIMITS);
    }

    /// Arithmetic agrees with Rust's.
    #[test]
    fn arithmetic_is_that_of_the_machine(a: u64, b: u64) {
        let run = |op: Opcode| {
            let mut asm = Assembler::new();
            asm.setx(a, 1);
            asm.setx(b, 2);
            asm.three(op, 1, 2, 3);
            asm.ret(3);
            let difo = asm.finish(Type::by_value(CtfKind::Integer, 8)).unwrap();
            interp::run(&difo, &mut State::new(&[], &Options::default()), &mut Quiet)
        };
        prop_assert_eq!(run(Opcode::Add), Ok(a.wrapping_add(b)));
        prop_assert_eq!(run(Opcode::Sub), Ok(a.wrapping_sub(b)));
        prop_assert_eq!(run(Opcode::Mul), Ok(a.wrapping_mul(b)));
        prop_assert_eq!(run(Opcode::Xor), Ok(a ^ b));
        prop_assert_eq!(run(Opcode::Sra), Ok((a as i64 >> (b & 63)) as u64));
        let quotient = (a as i64).checked_div(b as i64);
        let expected = if b == 0 { Err(Flt::DIVZERO) } else { Ok(quotient.unwrap_or(i64::MIN) as u64) };
        prop_assert_eq!(run(Opcode::Sdiv).map_err(|fault| fault.code), expected);
    }

    /// Comparisons agree with Rust's, even where the difference overflows.
    #[test]
    fn branches_order_numbers(a in number(), b in number()) {
        let run = |op: Opcode| {
            let mut asm = Assembler::new();
            asm.setx(a as u64, 1);
            asm.setx(b as u64, 2);
            asm.compare(Opcode::Cmp, 1, 2);
            let yes = asm.label();
            asm.branch(op, yes);
            asm.ret(0);
            asm.bind(yes);
            asm.emit(Insn::Int { index: 0, rd: 3 });
            asm.tst(3);
            asm.setx(1, 3);
            asm.ret(3);
            let difo = asm.finish(Type::by_value(CtfKind::Integer, 8)).unwrap();
            interp::run(&difo, &mut State::new(&[], &Options::default()), &mut Quiet) == Ok(1)
        };
        let (x, y) = (a as u64, b as u64);
        let expected = [
            (Opcode::Be, a == b), (Opcode::Bne, a != b), (Opcode::Bl, a < b), (Opcode::Ble, a <= b),
            (Opcode::Bg, a > b), (Opcode::Bge, a >= b), (Opcode::Blu, x < y), (Opcode::Bleu, x <= y),
            (Opcode::Bgu, x > y), (Opcode::Bgeu, x >= y), (Opcode::Ba, true),
        ];
        for (op, holds) in expected {
            prop_assert_eq!(run(op), holds, "{:?}", op);
        }
    }
}
