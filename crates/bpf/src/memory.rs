//! bpf/memory.rs: the memory of translated programs: the maps, and the layout of their values.
//!
//! A program has pointers only into its maps. A DIF address is a number here, and the kernel checks it when
//! it copies the bytes at it. Only stores need to determine the memory that an address belongs to.

use super::kernel::Layout;
use super::machine::Machine;
use super::missing::Missing;
pub use super::offsets::{LINE, cpu, globals, wrapper};
use super::tuple;
use kinst_base::uapi;
use kinst_dif::insn::{Insn, Opcode, Subr};
use kinst_dif::layout::type_size;
use kinst_dif::{ActionKind, Options, Program, Scope, TypeKind, VariableKind};
use std::collections::{BTreeMap, HashMap};

/// The maps, by index; those of aggregations follow, and then those of variables with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Map {
    /// An array with one value for each possible CPU, and as many for each further lane; see [`cpu`].
    Cpus,
    /// An array with one value: the string tables, and zeros.
    Constants,
    /// An array with one value: global variables.
    Globals,
    /// A ring for records.
    Records,
    /// A hash of the probes' places.
    Places,
    /// An array with one value: the processes whose end has been reported, by hash.
    Ended,
    /// An array of perf events, one for each CPU, that measure how long they were enabled by the scheduler's clock.
    Clocks,
    /// An array with one value: the places that do not share their program, one after the other.
    Alone,
}

impl Map {
    /// The number of maps that every program has.
    pub const COUNT: u32 = 8;
}

/// The number of zero bytes at the beginning of the constants, and the maximum size of an allocation.
pub const SCRATCH: u32 = 32 << 10;
/// Offset of the only zone's name in the constants.
pub const ZONE: u32 = SCRATCH;
/// The maximum size of a string: the kernel verifies a byte-by-byte loop over one.
pub const STRSIZE: u32 = 4096;
/// The maximum size of the global variables and of the local ones.
const VARIABLES: u32 = 1 << 20;

/// The memory that a variable is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldIn {
    /// The value of [`Map::Globals`].
    Globals,
    /// The CPU's value in [`Map::Cpus`].
    Cpu,
}

/// Size of a variable's value by reference, and whether it is a string.
pub type Held = Option<(u32, bool)>;

/// A variable with a fixed place. The word before a value by reference is not 0 if 0 was assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Static {
    /// Memory of the variable.
    pub held_in: HeldIn,
    /// The offset in that memory in bytes.
    pub at: u32,
    /// The value by reference; `None` for a number.
    pub copy: Held,
}

/// A thread-local variable or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dynamic {
    /// Index of its map.
    pub map: u32,
    /// Size of its key.
    pub key: u32,
    /// The offset of the thread in the key; `None` for a global array.
    pub thread: Option<u32>,
    /// The value by reference; `None` for a number.
    pub copy: Held,
    /// For a structure whose members are assigned: offsets where addresses loaded by an object are noted,
    /// each with its key.
    pub noted: Vec<u32>,
}

impl Dynamic {
    fn holds_members(&self) -> bool {
        self.copy.is_some_and(|(_, string)| !string)
    }

    /// Returns the size of its value.
    pub fn size(&self) -> u32 {
        self.copy.map_or(8, |(size, _)| size.next_multiple_of(8))
    }

    /// Returns the size of the value in its map: twice the size if members are assigned, as for the globals.
    pub fn value(&self) -> u32 {
        if self.noted.is_empty() { self.size() } else { 2 * self.size() }
    }
}

/// The memory layout of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The maximum size of a string, including its NUL.
    pub strsize: u32,
    /// The string table of each object, as an offset in the constants.
    pub strings: Vec<u32>,
    /// By object, the first object with equal code, which is written for both.
    pub alike: Vec<u32>,
    /// Contents of the constants after the zeros.
    pub constants: Vec<u8>,
    /// Offsets from the beginning of the globals or of a CPU's value.
    statics: HashMap<(Scope, u32), Static>,
    /// In the order of their maps.
    dynamics: Vec<((Scope, u32), Dynamic)>,
    /// Size of the globals. Padding of the same size follows the variables, so that ends need no check.
    pub globals: u32,
    /// Offset of a CPU's clause-local variables. Padding follows, as after the globals.
    pub locals: u32,
    /// Size of the clause-local variables.
    pub locals_size: u32,
    /// Offset of the speculations in the globals: for each whether it is active, and its generation; 16 bytes.
    pub speculations: u32,
    /// The maximum number of concurrent speculations; 0 in a program without them.
    pub nspec: u32,
    /// Addresses of a stack, or the pair for printm().
    pub frames: u32,
    /// The record being written, with its header. The space before it is for a speculation's header.
    pub record: u32,
    /// Key of a variable.
    pub dynamic_key: u32,
    /// Value that goes with the key.
    pub dynamic_value: u32,
    /// Two strings in work.
    pub texts: [u32; 2],
    /// Scratch memory; padding follows, as after the globals.
    pub scratch: u32,
    /// Size of one CPU's value.
    pub size: u32,
    /// Layout of the kernel's structures.
    pub kernel: Layout,
    /// The machine that code is generated for.
    pub machine: &'static dyn Machine,
    /// Address ranges of the code that runs programs.
    pub own: Vec<(u64, u64)>,
}

/// The maximum number of addresses in a stack: the default of kernel.perf_event_max_stack.
pub const FRAMES: u32 = 127;

/// The number of addresses at the top of a stack that may belong to the code that runs the program; a power of two.
pub const OWN_FRAMES: u32 = 16;

/// Size of a record's header: the enabling, the CPU, and the time.
pub const HEADER: u32 = 16;

/// Sizes of the data that a program writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// Size of the largest record.
    pub record: u32,
    /// Size of the largest aggregation key, without the CPU's id that precedes it.
    pub key: u32,
    /// Number of aggregating actions. Each has two maps; one is written while the other is read.
    pub aggregations: u32,
}

impl Memory {
    /// Lays out the memory of a program.
    pub fn new(program: &Program, options: &Options, sizes: Sizes) -> Result<Memory, Missing> {
        let strsize = options.strsize.max(1);
        if strsize > STRSIZE {
            return Err(Missing::Strsize(STRSIZE));
        }
        let Tables { strings, alike, constants, keys } = tables(program, strsize)?;
        let locals = cpu::KEY + sizes.key.next_multiple_of(8);
        let Variables { statics, mut dynamics, globals, mut at } =
            variables(program, options, &keys, sizes, locals);
        let locals_size = at - locals;
        if globals > VARIABLES || locals_size > VARIABLES {
            return Err(Missing::Other("this much memory for variables"));
        }
        note(&mut dynamics, &loads(program)?, &mut at);
        let most = |size: fn(&Dynamic) -> u32| {
            dynamics.iter().map(|(_, dynamic)| size(dynamic)).max().unwrap_or_default()
        };
        let (largest_key, largest_value) = (most(|dynamic| dynamic.key), most(Dynamic::value));
        let mut place = |bytes: u32| {
            let here = at;
            at += bytes.next_multiple_of(8);
            here
        };
        let frames = place(8 * (FRAMES + OWN_FRAMES));
        let before = place(wrapper::SIZE);
        let record = before + wrapper::SIZE;
        place(HEADER + sizes.record.max(size_of::<uapi::Fault>() as u32));
        let (dynamic_key, dynamic_value) = (place(largest_key), place(largest_value));
        let text = 2 * text_size(strsize);
        let texts = [place(text), place(text)];
        let scratch = place(2 * SCRATCH);
        // An end that is checked too late for the verifier is still inside.
        let size = at.max(locals + 2 * locals_size).next_multiple_of(LINE);
        let globals = globals::FIRST + 2 * (globals - globals::FIRST);
        let nspec = if speculates(program) { options.nspec.clamp(1, uapi::MAX_NSPEC) } else { 0 };
        Ok(Memory {
            strsize,
            strings,
            alike,
            constants,
            statics,
            dynamics,
            globals,
            speculations: globals,
            nspec,
            frames,
            locals,
            locals_size,
            record,
            dynamic_key,
            dynamic_value,
            texts,
            scratch,
            size,
            kernel: Layout::default(),
            machine: Default::default(),
            own: Vec::new(),
        })
    }

    /// Returns the place of a variable, if it is fixed.
    pub fn variable(&self, scope: Scope, id: u32) -> Option<Static> {
        self.statics.get(&(scope, id)).copied()
    }

    /// Returns a variable with keys.
    pub fn dynamic(&self, scope: Scope, id: u32) -> Option<&Dynamic> {
        self.dynamics.iter().find(|(name, _)| *name == (scope, id)).map(|(_, dynamic)| dynamic)
    }

    /// Returns the variables with keys, in the order of their maps.
    pub fn dynamics(&self) -> impl Iterator<Item = &Dynamic> {
        self.dynamics.iter().map(|(_, dynamic)| dynamic)
    }

    /// Returns the size of the globals with their padding; never 0, because the kernel also verifies code
    /// that never points there.
    pub fn globals_end(&self) -> u32 {
        (self.speculations + 16 * self.nspec).max(globals::FIRST + 8)
    }

    /// Returns the size of the global variables.
    pub fn globals_size(&self) -> u32 {
        (self.globals - globals::FIRST) / 2
    }

    /// Returns a mask that keeps a position inside a string's buffer.
    pub fn text_mask(&self) -> i32 {
        text_size(self.strsize) as i32 - 1
    }
}

/// Returns the size of a string's buffer: a power of two that holds two strings, and a number as text.
fn text_size(strsize: u32) -> u32 {
    (strsize + 1).next_power_of_two().max(128)
}

/// Data from the objects: their string tables, one after the other, and the keys of arrays.
struct Tables {
    strings: Vec<u32>,
    alike: Vec<u32>,
    constants: Vec<u8>,
    keys: BTreeMap<(Scope, u32), tuple::Key>,
}

fn tables(program: &Program, strsize: u32) -> Result<Tables, Missing> {
    let constants = b"global\0\0".to_vec();
    let (strings, alike) = (Vec::new(), Vec::new());
    let mut tables = Tables { strings, alike, constants, keys: BTreeMap::new() };
    let mut known = HashMap::new();
    for (index, difo) in (0..).zip(&program.difos) {
        let first = *known.entry((&difo.insns, &difo.ints, &difo.strings)).or_insert(index);
        tables.alike.push(first);
        tables.strings.push(tables.strings.get(first as usize).copied().unwrap_or_else(|| {
            let at = SCRATCH + tables.constants.len() as u32;
            tables.constants.extend(&difo.strings);
            at
        }));
        tuple::keys(difo, strsize, &mut tables.keys)?;
    }
    Ok(tables)
}

/// Variables, and the ends so far of the globals and of a CPU's value.
struct Variables {
    statics: HashMap<(Scope, u32), Static>,
    dynamics: Vec<((Scope, u32), Dynamic)>,
    globals: u32,
    at: u32,
}

fn variables(
    program: &Program,
    options: &Options,
    keys: &BTreeMap<(Scope, u32), tuple::Key>,
    sizes: Sizes,
    locals: u32,
) -> Variables {
    let (statics, dynamics) = (HashMap::new(), Vec::new());
    let mut all = Variables { statics, dynamics, globals: globals::FIRST, at: locals };
    for variable in &program.variables {
        let name = (variable.scope, variable.id);
        let bytes = type_size(&variable.ty, options).max(1);
        let copy = variable.ty.by_ref.then_some((bytes, variable.ty.kind == TypeKind::String));
        if variable.scope == Scope::Thread || variable.kind == VariableKind::Array {
            let key = match variable.kind {
                VariableKind::Scalar => 0,
                // An unused array has no key.
                VariableKind::Array => match keys.get(&name) {
                    Some(key) => key.size,
                    None => continue,
                },
            };
            let thread = (variable.scope == Scope::Thread).then_some(key);
            let key = (key + if thread.is_some() { 16 } else { 0 }).max(8);
            let map = Map::COUNT + 2 * sizes.aggregations + all.dynamics.len() as u32;
            all.dynamics.push((name, Dynamic { map, key, thread, copy, noted: Vec::new() }));
            continue;
        }
        let (held_in, next) = match variable.scope {
            Scope::Global => (HeldIn::Globals, &mut all.globals),
            Scope::Thread | Scope::Local => (HeldIn::Cpu, &mut all.at),
        };
        all.statics.insert(name, Static { held_in, at: *next, copy });
        *next += 8 + copy.map_or(0, |(size, _)| size.next_multiple_of(8));
    }
    all
}

/// Assigns places to the noted addresses of structures.
fn note(dynamics: &mut [((Scope, u32), Dynamic)], loads: &HashMap<(Scope, u32), usize>, at: &mut u32) {
    for (name, dynamic) in dynamics.iter_mut().filter(|(_, dynamic)| dynamic.holds_members()) {
        for _ in 0..loads.get(name).copied().unwrap_or_default() {
            dynamic.noted.push(*at);
            *at += 8 + dynamic.key;
        }
    }
}

/// Returns for each variable with keys the maximum number of loads in one object; nothing if the program
/// assigns nothing through an address.
fn loads(program: &Program) -> Result<HashMap<(Scope, u32), usize>, Missing> {
    let mut most: HashMap<(Scope, u32), usize> = HashMap::new();
    let mut stores = false;
    for difo in &program.difos {
        let mut here: HashMap<(Scope, u32), usize> = HashMap::new();
        for word in &difo.insns {
            let (scope, id) = match Insn::decode(*word).map_err(|_| Missing::Invalid)? {
                Insn::LoadVar { op: Opcode::Ldts | Opcode::Ldtaa, var, .. } => (Scope::Thread, var),
                Insn::LoadVar { op: Opcode::Ldgaa, var, .. } => (Scope::Global, var),
                Insn::Store { .. } | Insn::Three { op: Opcode::Copys, .. } => {
                    stores = true;
                    continue;
                }
                Insn::Call { subr, .. } => {
                    stores |= [Subr::Copyinto as u16, Subr::Bcopy as u16].contains(&subr);
                    continue;
                }
                Insn::Three { .. }
                | Insn::Two { .. }
                | Insn::Compare { .. }
                | Insn::Test { .. }
                | Insn::Branch { .. }
                | Insn::Load { .. }
                | Insn::Ret { .. }
                | Insn::Plain { .. }
                | Insn::Int { .. }
                | Insn::Str { .. }
                | Insn::Array { .. }
                | Insn::LoadVar { .. }
                | Insn::StoreVar { .. }
                | Insn::PushRef { .. }
                | Insn::PushVal { .. }
                | Insn::Xlate { .. } => continue,
            };
            *here.entry((scope, id.into())).or_default() += 1;
        }
        for (name, count) in here {
            let known = most.entry(name).or_default();
            *known = count.max(*known);
        }
    }
    Ok(if stores { most } else { HashMap::new() })
}

fn speculates(program: &Program) -> bool {
    let kinds = [ActionKind::Speculate, ActionKind::Commit, ActionKind::Discard];
    let calls = |word: &u32| {
        let call = Insn::Call { subr: Subr::Speculation as u16, rd: 0 };
        word >> 8 == call.encode() >> 8
    };
    let actions = program.clauses.iter().flat_map(|clause| &clause.actions);
    actions.into_iter().any(|action| kinds.contains(&action.kind))
        || program.difos.iter().any(|difo| difo.insns.iter().any(calls))
}
