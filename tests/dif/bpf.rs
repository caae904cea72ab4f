//! bpf.rs: DIFOs as BPF, run by a third-party machine, compared with the reference interpreter.

use crate::machine::Quiet;
use crate::numbers::Random;
use crate::program;
use kinst::bpf::asm::Assembler;
use kinst::bpf::insn::{Helper, Insn, Reg, Wide};
use kinst::bpf::library::Functions;
use kinst::bpf::memory::{Map, Memory, SCRATCH, Sizes, cpu};
use kinst::bpf::object::{Object, ProbeKind, Shared};
use kinst::dif::{Difo, Options, Program, TypeKind, dump};
use kinst_oracle::interp::{self, State};
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

thread_local! {
    /// The memory that a program may read: its own.
    static READABLE: RefCell<Vec<Range<u64>>> = const { RefCell::new(Vec::new()) };
    static MAPS: RefCell<Maps> = RefCell::new(Maps::default());
}

/// The maps of variables, whose values are in memory that the machine is given at the start.
#[derive(Default)]
struct Maps {
    /// The value of this CPU.
    cpu: u64,
    /// By map: the sizes of its keys and values.
    sizes: HashMap<u64, (usize, usize)>,
    values: HashMap<(u64, Vec<u8>), u64>,
    /// The free memory.
    free: Range<u64>,
}

fn readable(address: u64, size: u64) -> bool {
    let inside = |range: &Range<u64>| range.contains(&address) && size <= range.end - address;
    READABLE.with_borrow(|ranges| ranges.iter().any(inside))
}

const EFAULT: u64 = -14i64 as u64;

/// bpf_probe_read_kernel()
fn read(to: u64, size: u64, from: u64, _: u64, _: u64) -> u64 {
    if size == 0 {
        return 0;
    }
    if !readable(from, size) {
        return EFAULT;
    }
    // SAFETY: the program's memory is readable, and it passes a buffer of this size.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size as usize) };
    0
}

/// bpf_probe_read_kernel_str()
fn read_text(to: u64, size: u64, from: u64, _: u64, _: u64) -> u64 {
    for at in 0..size {
        if !readable(from + at, 1) {
            return EFAULT;
        }
        // SAFETY: as above.
        let byte = unsafe { *((from + at) as *const u8) };
        let byte = if at + 1 == size { 0 } else { byte };
        // SAFETY: as above.
        unsafe { *((to + at) as *mut u8) = byte };
        if byte == 0 {
            return at + 1;
        }
    }
    0
}

fn refuse(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    EFAULT
}

/// The task, the process and the CPU are number 0.
fn nothing(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}

fn bytes_at(address: u64, size: usize) -> Vec<u8> {
    // SAFETY: a program passes the address of a key or a value, which are as large as in its map's definition.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }.to_vec()
}

/// bpf_map_lookup_elem()
fn lookup(map: u64, key: u64, _: u64, _: u64, _: u64) -> u64 {
    MAPS.with_borrow(|maps| {
        if map == Map::Cpus as u64 {
            return maps.cpu;
        }
        let (size, _) = maps.sizes[&map];
        maps.values.get(&(map, bytes_at(key, size))).copied().unwrap_or(0)
    })
}

/// bpf_map_update_elem()
fn update(map: u64, key: u64, value: u64, _: u64, _: u64) -> u64 {
    MAPS.with_borrow_mut(|maps| {
        let (size, value_size) = maps.sizes[&map];
        let free = maps.free.start;
        let to = *maps.values.entry((map, bytes_at(key, size))).or_insert_with(|| free);
        if to == free {
            maps.free.start += value_size as u64;
            assert!(maps.free.start <= maps.free.end);
        }
        // SAFETY: the values are in the memory reserved for them, or at the address that the program passes.
        unsafe { std::ptr::copy(value as *const u8, to as *mut u8, value_size) };
        0
    })
}

/// bpf_map_delete_elem()
fn delete(map: u64, key: u64, _: u64, _: u64, _: u64) -> u64 {
    MAPS.with_borrow_mut(|maps| {
        let (size, _) = maps.sizes[&map];
        if maps.values.remove(&(map, bytes_at(key, size))).is_some() { 0 } else { EFAULT }
    })
}

/// The frame of a DIFO, which comes first here, and the frame of a library function.
fn stack_usage(_: &[u8], at: usize, _: &mut dyn Any) -> u16 {
    if at == 0 { 256 } else { 64 }
}

type Function = fn(u64, u64, u64, u64, u64) -> u64;

const HELPERS: [(Helper, Function); 10] = [
    (Helper::ProbeReadKernel, read),
    (Helper::ProbeReadKernelStr, read_text),
    (Helper::ProbeReadUser, refuse),
    (Helper::ProbeReadUserStr, refuse),
    (Helper::GetCurrentTask, nothing),
    (Helper::GetCurrentPidTgid, nothing),
    (Helper::GetSmpProcessorId, nothing),
    (Helper::MapLookupElem, lookup),
    (Helper::MapUpdateElem, update),
    (Helper::MapDeleteElem, delete),
];

/// The memory of a program.
struct Session<'a> {
    program: &'a Program,
    memory: Memory,
    constants: Vec<u8>,
    globals: Vec<u8>,
    cpu: Vec<u8>,
    values: Vec<u8>,
}

impl<'a> Session<'a> {
    /// `None` if the program is refused.
    fn new(program: &'a Program, options: &Options) -> Option<Session<'a>> {
        let memory = Memory::new(program, options, Sizes::default()).ok()?;
        let mut constants = vec![0u8; SCRATCH as usize];
        constants.extend(&memory.constants);
        let globals = vec![0u8; memory.globals as usize];
        let cpu = vec![0u8; memory.size as usize];
        let values = vec![0u8; 1 << 16];
        let mut session = Session { program, memory, constants, globals, cpu, values };
        let base = session.cpu.as_ptr() as u64;
        session.put(cpu::SELF, base);
        session.put(cpu::CONSTANTS, session.constants.as_ptr() as u64);
        session.put(cpu::GLOBALS, session.globals.as_ptr() as u64);
        let sizes = |dynamic: &kinst::bpf::memory::Dynamic| {
            (u64::from(dynamic.map), (dynamic.key as usize, dynamic.value() as usize))
        };
        let free = session.values.as_ptr_range();
        MAPS.set(Maps {
            cpu: base,
            sizes: session.memory.dynamics().map(sizes).collect(),
            values: HashMap::new(),
            free: free.start as u64..free.end as u64,
        });
        READABLE.set(session.ranges().to_vec());
        Some(session)
    }

    fn ranges(&self) -> [Range<u64>; 4] {
        [&self.constants, &self.globals, &self.cpu, &self.values].map(|memory| {
            let range = memory.as_ptr_range();
            range.start as u64..range.end as u64
        })
    }

    fn put(&mut self, at: i16, value: u64) {
        self.cpu[at as usize..at as usize + 8].copy_from_slice(&value.to_ne_bytes());
    }

    fn word(&self, at: i16) -> i32 {
        i32::from_ne_bytes(self.cpu[at as usize..at as usize + 4].try_into().unwrap())
    }

    /// Runs a DIFO: its value, or the code and the place of its fault. `None` if it cannot be translated.
    fn run(&mut self, index: usize) -> Option<Result<u64, (i32, i32)>> {
        let mut asm = Assembler::default();
        let start = asm.label();
        let functions = Functions::default();
        let (probe, context) = (ProbeKind::Entry, ProbeKind::Entry);
        let shared = Shared { memory: &self.memory, probe, context, functions: &functions };
        asm.number(Reg::R2, self.cpu.as_ptr() as u64);
        Object::write(&mut asm, &shared, start, index, &self.program.difos[index]).ok()?;
        // This machine does not support these instructions.
        if functions.has(kinst::bpf::library::Function::Speculation) {
            return None;
        }
        functions.write(&mut asm, &self.memory);
        let mut code = asm.finish().unwrap();
        for insn in &mut code.insns {
            if let Insn::Wide { kind: kind @ Wide::MapValue, value, .. } = insn {
                assert_eq!(*value as u32, Map::Globals as u32);
                *value = self.globals.as_ptr() as u64 + (*value >> 32);
                *kind = Wide::Number;
            }
        }
        let mut bytes = code.bytes(|map| map);
        // This machine refers to a map by a number.
        for insn in bytes.chunks_exact_mut(8).filter(|insn| insn[0] == 0x18) {
            insn[1] &= 0x0f;
        }
        let registers = 22;
        let mut context = vec![0u8; registers * 8];
        for (argument, at) in [14, 13, 12, 11, 9, 8].into_iter().enumerate() {
            context[at * 8..at * 8 + 8].copy_from_slice(&(1000 + argument as u64).to_ne_bytes());
        }
        self.put(cpu::FAULT, 0);
        self.put(cpu::USED, 0);
        let mut vm = rbpf::EbpfVmRaw::new(Some(&bytes)).unwrap();
        self.ranges().into_iter().for_each(|range| vm.register_allowed_memory(range));
        for (helper, function) in HELPERS {
            vm.register_helper(helper as u32, function).unwrap();
        }
        vm.set_stack_usage_calculator(stack_usage, Box::new(())).unwrap();
        let value = vm.execute_program(&mut context).unwrap();
        Some(match self.word(cpu::FAULT) {
            0 => Ok(value),
            code => Err((code, self.word(cpu::FAULT_OFFSET))),
        })
    }

    /// Returns the bytes that would be recorded for a value.
    fn recorded(&self, difo: &Difo, value: u64, options: &Options) -> Option<Vec<u8>> {
        let size = kinst::dif::layout::type_size(&difo.rtype, options) as usize;
        if !difo.rtype.by_ref {
            return Some(value.to_ne_bytes().into_iter().take(size).collect());
        }
        let mut bytes = vec![0; size];
        let to = bytes.as_mut_ptr() as u64;
        match difo.rtype.kind {
            TypeKind::D => (read(to, size as u64, value, 0, 0) == 0).then_some(bytes),
            TypeKind::String => ((read_text(to, size as u64, value, 0, 0) as i64) >= 0).then_some(bytes),
        }
    }
}

/// Counts over all programs.
#[derive(Debug, Default)]
struct Seen {
    programs: u64,
    objects: u64,
    translated: u64,
    faults: u64,
}

fn compare(seed: u64, program: &Program, options: &Options, seen: &mut Seen) {
    let Some(mut session) = Session::new(program, options) else { return };
    seen.programs += 1;
    let mut state = State::new(&program.variables, options);
    for (index, difo) in program.difos.iter().enumerate() {
        seen.objects += 1;
        let Some(value) = session.run(index) else { continue };
        seen.translated += 1;
        state.enable();
        let expected = interp::run(difo, &mut state, &mut Quiet);
        let text = || {
            let one = Program { difos: vec![difo.clone()], ..Program::default() };
            format!("seed {seed}, object {index}\n{}", dump::dump(&one))
        };
        match (value, expected) {
            (Ok(value), Ok(expected)) => {
                let expected = interp::recorded(&difo.rtype, expected, &mut state, &mut Quiet).ok();
                assert_eq!(session.recorded(difo, value, options), expected, "{}", text());
            }
            (value, expected) => {
                // An unreadable string faults where it is used, not where it is pushed.
                let value = value.map_err(|(code, _)| code);
                assert_eq!(value, expected.map_err(|fault| fault.code.0 as i32), "{}", text());
                seen.faults += 1;
                // Changes made before a fault may differ.
                return;
            }
        }
    }
}

fn cases(default: u64) -> u64 {
    std::env::var("KINST_DIF_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn objects_have_the_same_value() {
    let options = Options::default();
    let mut seen = Seen::default();
    for seed in 0..cases(5_000) {
        let random = &mut Random(seed);
        let difo = match seed % 2 {
            0 => program::number_object(random, 8),
            _ => program::string_object(random),
        };
        let program = Program { difos: vec![difo], variables: program::variables(), ..Program::default() };
        compare(seed, &program, &options, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.translated > seen.objects * 9 / 10 && seen.faults > 0);
}

#[test]
fn variables_have_the_same_values() {
    let options = Options::default();
    let mut seen = Seen::default();
    for seed in 0..cases(2_000) {
        compare(seed, &program::program(&mut Random(seed)), &options, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.translated > seen.objects / 2 && seen.faults > 0);
}
