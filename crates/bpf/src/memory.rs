//! bpf/memory.rs: the memory of translated programs: which maps there are, and what is where in them.
//!
//! A program knows no pointers but to its own maps: what DIF calls an address is a number here, and the bytes at it are
//! copied by the kernel, which checks it. Only stores have to know whose memory an address is.

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

/// The maps, by number; those of aggregations follow, and then those of variables that are found by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Map {
    /// An array with one value for each possible CPU: [`cpu`].
    Cpus,
    /// An array with one value: the string tables, and zeros.
    Constants,
    /// An array with one value: global variables.
    Globals,
    /// A ring for records.
    Records,
    /// A hash of the places of probes.
    Places,
    /// An array with one value: the processes whose end was reported, by hash.
    Ended,
    /// An array of events of perf, one for each CPU, that tell how long they were enabled by the scheduler's clock.
    Clocks,
    /// An array with one value: the places that share their programs with none, one after the other.
    Alone,
}

impl Map {
    /// The maps that are there in any program.
    pub const COUNT: u32 = 8;
}

/// The bytes of zeros that the constants begin with, and the most bytes of one allocation.
pub const SCRATCH: u32 = 32 << 10;
/// Where the only name of a zone is in the constants.
pub const ZONE: u32 = SCRATCH;
/// The most bytes of a string, as the kernel looks at a loop over one byte by byte.
pub const STRSIZE: u32 = 4096;
/// The most bytes of global and of local variables.
const VARIABLES: u32 = 1 << 20;

/// What has the place of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldIn {
    /// The value of [`Map::Globals`].
    Globals,
    /// The CPU's value in [`Map::Cpus`].
    Cpu,
}

/// The size of what a variable holds by reference, and whether it is a string.
pub type Held = Option<(u32, bool)>;

/// A variable with a place of its own. Before what it holds by reference is a word that is not 0 if 0 was assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Static {
    /// The memory that it is in.
    pub held_in: HeldIn,
    /// The offset in that memory in bytes.
    pub at: u32,
    /// The value by reference; `None` for a number.
    pub copy: Held,
}

/// A variable of a thread, or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dynamic {
    /// The index of its map.
    pub map: u32,
    /// The size of its key, and where the thread is in that.
    pub key: u32,
    /// The offset of the thread in the key; `None` for a global array.
    pub thread: Option<u32>,
    /// The value by reference; `None` for a number.
    pub copy: Held,
    /// Of a structure whose members are assigned: where its addresses are noted that an object has, each with its key.
    pub noted: Vec<u32>,
}

impl Dynamic {
    fn holds_members(&self) -> bool {
        self.copy.is_some_and(|(_, string)| !string)
    }

    /// The size of what it holds.
    pub fn size(&self) -> u32 {
        self.copy.map_or(8, |(size, _)| size.next_multiple_of(8))
    }

    /// The size of the value in its map: as much again follows what members are assigned to, as after the globals.
    pub fn value(&self) -> u32 {
        if self.noted.is_empty() { self.size() } else { 2 * self.size() }
    }
}

/// Where things are in the memory of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The most bytes of a string, its NUL included.
    pub strsize: u32,
    /// The string table of each object, from the beginning of the constants.
    pub strings: Vec<u32>,
    /// By object, the first one that is like it, and is written for both.
    pub alike: Vec<u32>,
    /// The contents of the constants after the zeros.
    pub constants: Vec<u8>,
    /// From the beginning of the globals or of a CPU's value.
    statics: HashMap<(Scope, u32), Static>,
    /// In the order of their maps.
    dynamics: Vec<((Scope, u32), Dynamic)>,
    /// The size of the globals. As much again follows the variables, so that an end needs no check of its own.
    pub globals: u32,
    /// The clause-local variables of a CPU, and their size. As much again follows, as after the globals.
    pub locals: u32,
    /// The bytes of the clause-local variables.
    pub locals_size: u32,
    /// Where speculations are in the globals: whether each is active, and how often it was; 16 bytes.
    pub speculations: u32,
    /// The most speculations at a time; 0 in a program without them.
    pub nspec: u32,
    /// Addresses of a stack, or the pair that printm() is given.
    pub frames: u32,
    /// The record that is being written, with its header. Before it is room for what a speculation needs.
    pub record: u32,
    /// The key and the value of a variable.
    pub dynamic_key: u32,
    /// The value that comes with the key.
    pub dynamic_value: u32,
    /// Two strings that are worked on.
    pub texts: [u32; 2],
    /// Scratch memory; as much again follows, as after the globals.
    pub scratch: u32,
    /// The size of one CPU's value.
    pub size: u32,
    /// What is known of the kernel's structures, and of its machine.
    pub kernel: Layout,
    /// The machine that code is written for.
    pub machine: &'static dyn Machine,
    /// Where the code is that runs programs: from an address up to another.
    pub own: Vec<(u64, u64)>,
}

/// The most addresses of a stack, as kernel.perf_event_max_stack is.
pub const FRAMES: u32 = 127;

/// The first addresses of a stack that may be those of what has run the program, a power of two.
pub const OWN_FRAMES: u32 = 16;

/// The header of a record: the enabling, the CPU, and the time.
pub const HEADER: u32 = 16;

/// The sizes of what a program writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes {
    /// The largest record, and the largest key of an aggregation, which follows the CPU's number.
    pub record: u32,
    /// The bytes of that key.
    pub key: u32,
    /// The number of actions that aggregate. Each has two maps, of which one is written while the other is read.
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
            return Err(Missing::Other("so much memory of variables"));
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
        // An end that is checked too late for the kernel is still inside.
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

    /// Returns the place of a variable that has one of its own.
    pub fn variable(&self, scope: Scope, id: u32) -> Option<Static> {
        self.statics.get(&(scope, id)).copied()
    }

    /// Returns a variable that is found by its key.
    pub fn dynamic(&self, scope: Scope, id: u32) -> Option<&Dynamic> {
        self.dynamics.iter().find(|(name, _)| *name == (scope, id)).map(|(_, dynamic)| dynamic)
    }

    /// Returns the variables that are found by a key, in the order of their maps.
    pub fn dynamics(&self) -> impl Iterator<Item = &Dynamic> {
        self.dynamics.iter().map(|(_, dynamic)| dynamic)
    }

    /// The size of the globals, and of what follows them; of something at least, as the kernel verifies what never points
    /// there, too.
    pub fn globals_end(&self) -> u32 {
        (self.speculations + 16 * self.nspec).max(globals::FIRST + 8)
    }

    /// Returns the size of the variables that are global.
    pub fn globals_size(&self) -> u32 {
        (self.globals - globals::FIRST) / 2
    }

    /// Returns what keeps a position inside of a string's buffer.
    pub fn text_mask(&self) -> i32 {
        text_size(self.strsize) as i32 - 1
    }
}

/// The size of a string's buffer, a power of two, of which there is room for two; the text of a number fits, too.
fn text_size(strsize: u32) -> u32 {
    (strsize + 1).next_power_of_two().max(128)
}

/// What objects bring along: their strings, one table after the other, and the keys of arrays.
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

/// Variables, with the ends of the globals and of a CPU's value so far.
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
                // One that nothing uses has no key.
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

/// Gives the addresses of structures that are noted their places.
fn note(dynamics: &mut [((Scope, u32), Dynamic)], loads: &HashMap<(Scope, u32), usize>, at: &mut u32) {
    for (name, dynamic) in dynamics.iter_mut().filter(|(_, dynamic)| dynamic.holds_members()) {
        for _ in 0..loads.get(name).copied().unwrap_or_default() {
            dynamic.noted.push(*at);
            *at += 8 + dynamic.key;
        }
    }
}

/// By variable that is found by its key, how often the object loads it that does so most; nothing in a program that
/// assigns to nothing through an address.
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
