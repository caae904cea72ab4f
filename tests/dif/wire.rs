//! wire.rs: the wire format and the verifier: each rule refuses violations, and large images are verified quickly.

use crate::machine;
use kinst::dif::action::Ustack;
use kinst::dif::asm::Assembler;
use kinst::dif::insn::{FIRST_USER_VARIABLE, Insn, Opcode};
use kinst::dif::object::{self, Ecb, EncodeError, Image};
use kinst::dif::{
    Action, ActionKind, Clause, CtfKind, Options, Program, Scope, Type, Variable, VariableKind,
};
use kinst::image::FileId;
use kinst::probe::{Fields, InProgram, Passing, Place, Probe};
use kinst::uapi::{self, Verify};
use kinst_oracle::verify::{Limits, Refusal, verify};

const LIMITS: Limits = Limits { max_probes: 50_000, max_insns: 1000 };

fn number() -> Type {
    Type::by_value(CtfKind::Integer, 8)
}

/// Makes a program: DIFO 0 reads and writes a variable and calls; DIFO 1 is a constant string.
fn program() -> Program {
    let variable = Variable {
        name: "x".to_string(),
        id: FIRST_USER_VARIABLE,
        kind: VariableKind::Scalar,
        scope: Scope::Global,
        read: true,
        written: true,
        ty: number(),
    };
    let mut asm = Assembler::new();
    asm.load_scalar(&variable, 1);
    asm.setx(5, 2);
    asm.three(Opcode::Add, 1, 2, 1);
    asm.store_scalar(1, &variable);
    asm.ret(1);
    let mut text = Assembler::new();
    text.sets(b"hello", 1);
    text.ret(1);
    let action = |kind, difo, ntuple, agg| Action { kind, difo, ntuple, incr: None, agg, arg: 0 };
    let clause = Clause {
        probes: Vec::new(),
        predicate: Some(0),
        actions: vec![
            action(ActionKind::Printf, Some(1), 0, 0),
            action(ActionKind::DifExpr, Some(0), 0, 0),
            action(ActionKind::Count, None, 1, 1),
        ],
        statements: Vec::new(),
        record: false,
        part: false,
    };
    Program {
        difos: vec![asm.finish(number()).unwrap(), text.finish(Type::string(0)).unwrap()],
        variables: vec![variable],
        clauses: vec![clause],
        ..Program::default()
    }
}

fn image() -> Image {
    let bytes =
        object::encode(&program(), &[machine::probe()], &[(0, 0).into()], &Options::default()).unwrap();
    verify(&bytes, &LIMITS).unwrap()
}

/// Returns the verifier's verdict on the image after a change.
fn verdict(change: impl FnOnce(&mut Image)) -> Refusal {
    let mut image = image();
    change(&mut image);
    verify(&image.to_bytes().unwrap(), &LIMITS).unwrap_err()
}

fn code(change: impl FnOnce(&mut Image)) -> Verify {
    verdict(change).code
}

fn word(at: usize, insn: Insn) -> Verify {
    code(|image| image.insns[at] = insn.encode())
}

#[test]
fn the_header_and_options() {
    assert_eq!(code(|image| image.header.magic += 1), Verify::HEADER);
    assert_eq!(code(|image| image.header.version += 1), Verify::HEADER);
    assert_eq!(code(|image| image.header.flags = 16), Verify::RESERVED);
    assert_eq!(code(|image| image.header.reserved = 1), Verify::RESERVED);
    assert_eq!(code(|image| image.header.strsize = 7), Verify::OPTION);
    assert_eq!(code(|image| image.header.bufsize = 1), Verify::OPTION);
    assert_eq!(code(|image| image.header.aggsize = 0), Verify::OPTION);
    assert_eq!(code(|image| image.header.nspec = 1025), Verify::OPTION);
    assert_eq!(code(|image| image.header.clean_us = 60_000_001), Verify::OPTION);
    assert_eq!(code(|image| image.strtab[0] = b'x'), Verify::STRTAB);
    assert_eq!(verify(b"short", &LIMITS).unwrap_err().code, Verify::HEADER);
    let mut bytes = image().to_bytes().unwrap();
    let table = std::mem::offset_of!(uapi::Image, vars);
    bytes[table] += 4;
    assert_eq!(verify(&bytes, &LIMITS).unwrap_err().code, Verify::TABLE);
    let few = Limits { max_insns: 3, ..LIMITS };
    assert_eq!(verify(&image().to_bytes().unwrap(), &few).unwrap_err().code, Verify::LIMIT);
}

#[test]
fn instructions() {
    assert_eq!(code(|image| image.insns[0] = 0), Verify::OPCODE);
    assert_eq!(word(0, Insn::Xlate { op: Opcode::Xlate, index: 0, rd: 1 }), Verify::OPCODE);
    assert_eq!(word(0, Insn::Ret { rd: 8 }), Verify::REGISTER);
    assert_eq!(word(0, Insn::Two { op: Opcode::Mov, r1: 1, rd: 0 }), Verify::DEST_R0);
    assert_eq!(code(|image| image.insns[0] = 0x2400_0001), Verify::RESERVED);
    assert_eq!(word(0, Insn::Branch { op: Opcode::Ba, label: 0 }), Verify::BRANCH);
    assert_eq!(word(0, Insn::Branch { op: Opcode::Ba, label: 5 }), Verify::BRANCH);
    assert_eq!(word(0, Insn::Int { index: 1, rd: 1 }), Verify::INT);
    assert_eq!(word(0, Insn::Str { offset: 0, rd: 1 }), Verify::STR);
    assert_eq!(word(0, Insn::LoadVar { op: Opcode::Ldgs, var: 0x501, rd: 1 }), Verify::VARIABLE);
    assert_eq!(word(0, Insn::LoadVar { op: Opcode::Ldts, var: 0x500, rd: 1 }), Verify::VARIABLE);
    assert_eq!(word(0, Insn::StoreVar { op: Opcode::Stgs, var: 0x101, rs: 1 }), Verify::VARIABLE);
    assert_eq!(word(0, Insn::Call { subr: 56, rd: 1 }), Verify::SUBR);
    assert_eq!(word(0, Insn::Call { subr: 13, rd: 1 }), Verify::DESTRUCTIVE);
    assert_eq!(word(0, Insn::PushRef { ty: 2, size: 0, rs: 1 }), Verify::TYPE);
    let refusal = verdict(|image| image.insns[4] = 0x2400_0000);
    assert_eq!(refusal, Refusal { code: Verify::NO_RET, difo: Some(0), index: Some(4) });
}

#[test]
fn variables_and_types() {
    assert_eq!(code(|image| image.vars[0].id = 0x4ff), Verify::VARIABLE);
    assert_eq!(code(|image| image.vars[0].scope = 3), Verify::VARIABLE);
    assert_eq!(code(|image| image.vars.push(image.vars[0])), Verify::VARIABLE);
    assert_eq!(code(|image| image.vars[0].ty.size = 3), Verify::TYPE);
    assert_eq!(code(|image| image.difos[0].rtype.size = 3), Verify::TYPE);
    assert_eq!(code(|image| image.difos[0].rtype.reserved = 1), Verify::TYPE);
    assert_eq!(code(|image| image.difos[1].strlen -= 1), Verify::STR);
    assert_eq!(code(|image| image.difos[0].ninsns = 0), Verify::NO_RET);
    assert_eq!(code(|image| image.difos[0].insn = 9), Verify::INDEX);
}

#[test]
fn actions_probes_and_enablings() {
    assert_eq!(code(|image| image.actions[0].kind = 0x0303), Verify::ACTION);
    assert_eq!(code(|image| image.actions[0].kind = 0x0501), Verify::DESTRUCTIVE);
    assert_eq!(code(|image| image.actions[0].kind = 0x0602), Verify::ACTION);
    assert_eq!(code(|image| image.actions[0].kind = 0x0203), Verify::DESTRUCTIVE);
    assert_eq!(code(|image| image.actions[0].difo = 2), Verify::INDEX);
    assert_eq!(code(|image| image.actions[0].agg = 1), Verify::RESERVED);
    assert_eq!(code(|image| image.actions[2].ntuple = 3), Verify::TUPLE);
    assert_eq!(code(|image| image.actions[2].ntuple = 2), Verify::TUPLE);
    assert_eq!(code(|image| image.actions[2].arg = 1), Verify::ACTION);
    let ustack = |frames, copied| {
        move |image: &mut Image| {
            (image.actions[0].kind, image.actions[0].difo) = (uapi::ACT_USTACK as u16, uapi::NONE);
            image.actions[0].arg = Ustack { frames, copied }.pack();
        }
    };
    assert_eq!(code(ustack(0, 8)), Verify::ACTION);
    assert_eq!(code(ustack(uapi::MAX_FRAMES + 1, 0)), Verify::ACTION);
    assert_eq!(code(ustack(1, 4)), Verify::ACTION);
    assert_eq!(code(ustack(1, uapi::MAX_USTACK + 8)), Verify::ACTION);
    let mut copies = image();
    ustack(uapi::MAX_FRAMES, uapi::MAX_USTACK)(&mut copies);
    assert!(verify(&copies.to_bytes().unwrap(), &LIMITS).is_ok());
    assert_eq!(code(|image| image.clauses[0].predicate = 1), Verify::TYPE);
    assert_eq!(code(|image| image.clauses[0].flags = 2), Verify::RESERVED);
    assert_eq!(code(|image| image.clauses[0].nactions = 2), Verify::INDEX);
    assert_eq!(code(|image| image.probes[0].kind = uapi::P_KINDS), Verify::PROBE);
    let timer = |interval| {
        move |image: &mut Image| {
            (image.probes[0].kind, image.probes[0].func) = (uapi::P_TICK, interval);
        }
    };
    assert_eq!(code(timer(u64::from(uapi::MIN_INTERVAL) - 1)), Verify::PROBE);
    assert_eq!(code(timer(uapi::MAX_INTERVAL + 1)), Verify::PROBE);
    let call = |image: &mut Image| {
        (image.probes[0].kind, image.probes[0].func) = (uapi::P_SYSCALL_RETURN, uapi::MAX_SYSCALLS.into());
    };
    assert_eq!(code(call), Verify::PROBE);
    assert_eq!(code(|image| image.probes[0].nbytes = 17), Verify::PROBE);
    assert_eq!(code(|image| image.probes[0].reserved[6] = 1), Verify::RESERVED);
    assert_eq!(code(|image| image.ecbs[0].clause = 1), Verify::INDEX);
    assert_eq!(code(|image| image.ecbs[0].inlined = image.strtab.len() as u32), Verify::INDEX);
    let text = verdict(|image| image.ecbs[0].clause = 1).to_string();
    assert_eq!(text, "a reference to an entry that does not exist (kinst_v_index, entry 0)");
}

#[test]
fn what_cannot_be_encoded_says_why() {
    let encode = |program: &Program, probes: &[Probe], ecbs: &[(u32, u32)]| {
        let ecbs: Vec<Ecb> = ecbs.iter().copied().map(Ecb::from).collect();
        object::encode(program, probes, &ecbs, &Options::default())
    };
    let probe = machine::probe();
    assert_eq!(encode(&program(), &[], &[(0, 0)]), Err(EncodeError::Probe { index: 0, probe: 0, count: 0 }));
    assert_eq!(
        encode(&program(), std::slice::from_ref(&probe), &[(0, 1)]),
        Err(EncodeError::Clause { index: 0, clause: 1, count: 1 })
    );
    let nul = Probe { name: Fields::new("kinst", "", "a\0b", "4"), ..probe.clone() };
    assert_eq!(encode(&program(), &[nul], &[]), Err(EncodeError::NulInName("a\0b".to_string())));
    let long = Probe { place: Place::Insn { func: 1, offset: 0, bytes: vec![0; 17] }, ..probe.clone() };
    assert_eq!(encode(&program(), &[long], &[]), Err(EncodeError::InsnBytes(0)));
    let place = InProgram {
        file: FileId(0),
        process: None,
        end: None,
        passing: Passing::C,
        spots: Vec::new(),
        semaphore: None,
    };
    let place = Place::Program(Box::new(place));
    assert_eq!(encode(&program(), &[Probe { place, ..probe }], &[]), Err(EncodeError::NotKernel(0)));
    let mut bad = program();
    bad.clauses[0].actions[0].difo = Some(9);
    assert_eq!(encode(&bad, &[], &[]), Err(EncodeError::Difo { clause: 0, difo: 9, count: 2 }));
}

#[test]
fn twenty_thousand_probes_share_their_names() {
    let probes: Vec<Probe> = (0..20_000)
        .map(|index| Probe {
            id: index,
            place: Place::Insn {
                func: 0xffff_ffff_8100_0000 + u64::from(index) * 64,
                offset: 13,
                bytes: vec![0x90],
            },
            name: Fields::new("kinst", "vmlinux", &format!("function_{}", index % 5000), "13"),
        })
        .collect();
    let ecbs: Vec<Ecb> = (0..20_000).map(|probe| (probe, 0).into()).collect();
    let start = std::time::Instant::now();
    let bytes = object::encode(&program(), &probes, &ecbs, &Options::default()).unwrap();
    let image = verify(&bytes, &LIMITS).unwrap();
    // Takes about 20 ms optimised, and well under a second even unoptimised on a busy machine.
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    assert_eq!(image.probes.len(), 20_000);
    assert!(image.strtab.len() < 5000 * 15 + 100);
    let last = image.probes.last().unwrap();
    assert_eq!(image.string(last.name_func), Some(&b"function_4999"[..]));
    assert_eq!(image.string(last.name), Some(&b"13"[..]));
    eprintln!("{:?}", start.elapsed());
}
