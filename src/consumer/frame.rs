//! consumer/frame.rs: symbolic addresses and stacks: the functions at each address, including inlined ones.

use super::symbols::{KernelSymbol, Symbols, UserPlace};
use kinst_sites::listing::Place;
use std::fmt;
use std::rc::Rc;

/// A function that contains an address, or an unknown address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// In a stack, the return address; for the first frame, usually the place itself.
    pub address: u64,
    /// The process; `None` in the kernel.
    pub pid: Option<u64>,
    /// The kernel module, or the last component of a user program's path.
    pub module: Option<String>,
    pub function: Option<String>,
    /// The offset from the function's symbol, in bytes; 0 if the function is inlined.
    pub offset: u64,
    /// Whether the function is inlined into the function of the next frame.
    pub inlined: bool,
    pub place: Option<Place>,
}

/// `` module`function+0xoff ``, `` module`function (inlined) ``, `` module`0xaddress `` or `0xaddress`.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(module) = &self.module {
            write!(f, "{module}`")?;
        }
        match &self.function {
            Some(function) if self.inlined => write!(f, "{function} (inlined)"),
            Some(function) if self.offset > 0 => write!(f, "{function}+{:#x}", self.offset),
            Some(function) => f.write_str(function),
            None => write!(f, "{:#x}", self.address),
        }
    }
}

/// The meaning of the first address of a stack. All others are return addresses, just after the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum First {
    #[default]
    Return,
    /// The address of an instruction: interrupted by a timer, or the place of an inlined copy.
    Place {
        /// The inlined functions around the copy, the innermost first, without the out-of-line function; `None` if the
        /// address determines them.
        around: Option<Vec<String>>,
    },
}

/// The parameters for naming addresses and printing stacks.
#[derive(Clone, Copy)]
pub struct Naming<'a> {
    pub symbols: &'a dyn Symbols,
    /// The indentation of each frame, in columns.
    pub indent: usize,
    /// Returns the meaning of the first address of a stack.
    pub first: &'a dyn Fn(u64) -> First,
    pub source: Source,
}

/// The source information in a stack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// Whether inlined functions are frames.
    pub inlined: bool,
    /// Whether each frame has a file and line.
    pub lines: bool,
}

/// Returns the frames of a kernel stack, the innermost first; the first zero in the record ends it.
pub(crate) fn kernel_stack(record: &[u8], naming: Naming<'_>) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (depth, pc) in words(record).take_while(|pc| *pc != 0).enumerate() {
        match if depth == 0 { (naming.first)(pc) } else { First::Return } {
            First::Return => {
                add(&mut frames, pc.wrapping_sub(1), return_address(pc, naming.symbols), None, naming);
            }
            First::Place { around } => {
                add(&mut frames, pc, address(pc, naming.symbols), around.as_deref(), naming);
            }
        }
    }
    frames
}

/// Adds the functions at an address: the inlined ones, then `own`, the place in the out-of-line function.
/// `around`: the inlined ones, if the address does not determine them.
fn add(frames: &mut Vec<Frame>, pc: u64, own: Frame, around: Option<&[String]>, naming: Naming<'_>) {
    let Source { inlined, lines } = naming.source;
    let known = match lines || (inlined && around.is_none()) {
        true => naming.symbols.frames(pc, lines),
        false => Rc::default(),
    };
    let (last, copies) = known.split_last().map_or((None, &[][..]), |(last, copies)| (Some(last), copies));
    let names: Vec<&str> = match around {
        _ if !inlined => Vec::new(),
        Some(around) => around.iter().map(String::as_str).collect(),
        None => copies.iter().map(|copy| &*copy.function).collect(),
    };
    // The functions around a copy contain its address too.
    let outer = copies.len().checked_sub(names.len()).map_or(&[][..], |inside| &copies[inside..]);
    let outer = if outer.iter().map(|copy| &*copy.function).eq(names.iter().copied()) { outer } else { &[] };
    let shown = |place: &Option<Place>| place.clone().filter(|_| lines);
    let place = |depth: usize| outer.get(depth).and_then(|copy| shown(&copy.place));
    frames.extend(names.iter().enumerate().map(|(depth, function)| copied(&own, function, place(depth))));
    frames.push(Frame { place: last.and_then(|last| shown(&last.place)), ..own });
}

/// Returns the frames of a user stack. The record begins with the pid; the first address is the interrupted one.
pub(crate) fn user_stack(record: &[u8], naming: Naming<'_>) -> Vec<Frame> {
    let mut words = words(record);
    let pid = words.next().unwrap_or(0);
    let Source { inlined, lines } = naming.source;
    let mut frames = Vec::new();
    for (depth, pc) in words.take_while(|pc| *pc != 0).enumerate() {
        let (at, own) = match depth {
            0 => (pc, user_address(pid, pc, naming.symbols)),
            _ => (pc.wrapping_sub(1), user_return_address(pid, pc, naming.symbols)),
        };
        let known = if inlined || lines { naming.symbols.user_frames(pid, at, lines) } else { Rc::default() };
        let (last, copies) =
            known.split_last().map_or((None, &[][..]), |(last, copies)| (Some(last), copies));
        let shown = |place: &Option<Place>| place.clone().filter(|_| lines);
        frames.extend(
            copies.iter().filter(|_| inlined).map(|copy| copied(&own, &copy.function, shown(&copy.place))),
        );
        frames.push(Frame { place: last.and_then(|last| shown(&last.place)), ..own });
    }
    frames
}

/// Returns the frame of a function that is inlined at `own`.
fn copied(own: &Frame, function: &str, place: Option<Place>) -> Frame {
    Frame { function: Some(function.to_owned()), offset: 0, inlined: true, place, ..own.clone() }
}

/// Returns the place of the D variable `caller`, which is the first address of the stack.
pub(crate) fn caller(pc: u64, naming: Naming<'_>) -> Frame {
    match (naming.first)(pc) {
        First::Return => return_address(pc, naming.symbols),
        First::Place { .. } => address(pc, naming.symbols),
    }
}

/// Returns the place of an address. An address just past the end of a function is taken for the return address of a
/// noreturn call.
pub(crate) fn address(pc: u64, symbols: &dyn Symbols) -> Frame {
    named(pc, symbols.kernel(pc).or_else(|| symbols.kernel(pc.wrapping_sub(1))))
}

/// Returns the place of a return address. The preceding byte determines the function: a noreturn call may be the last
/// instruction of its function.
fn return_address(pc: u64, symbols: &dyn Symbols) -> Frame {
    named(pc, symbols.kernel(pc.wrapping_sub(1)).or_else(|| symbols.kernel(pc)))
}

fn named(address: u64, found: Option<KernelSymbol>) -> Frame {
    let unknown = Frame { address, ..Frame::default() };
    match found {
        Some(KernelSymbol { module, name, start }) => Frame {
            module: Some(module),
            function: Some(name),
            offset: address.saturating_sub(start),
            ..unknown
        },
        None => unknown,
    }
}

/// Returns the innermost function of an address, including inlined ones, without the offset.
/// `called`: whether it is the first address of a stack.
pub(crate) fn function(pc: u64, called: bool, naming: Naming<'_>) -> Frame {
    let first = if called { (naming.first)(pc) } else { First::Place { around: None } };
    let (at, own, around) = match first {
        First::Return => (pc.wrapping_sub(1), return_address(pc, naming.symbols), None),
        First::Place { around } => (pc, named(pc, naming.symbols.kernel(pc)), around),
    };
    // A function may begin with an inlined copy, but its first address names the function itself.
    let begins = !called && own.offset == 0;
    let copy = match around {
        _ if !naming.source.inlined || begins => None,
        Some(around) => around.into_iter().next(),
        None => match &*naming.symbols.frames(at, false) {
            [innermost, _, ..] => Some(innermost.function.clone()),
            _ => None,
        },
    };
    let inlined = copy.is_some();
    Frame { function: copy.or(own.function.clone()), offset: 0, inlined, ..own }
}

/// Returns the module of an address, or the address.
pub(crate) fn module(pc: u64, symbols: &dyn Symbols) -> String {
    symbols.kernel(pc).map_or_else(|| format!("{pc:#x}"), |found| found.module)
}

pub(crate) fn user_address(pid: u64, pc: u64, symbols: &dyn Symbols) -> Frame {
    user_named(pid, pc, symbols.user(pid, pc), 0)
}

fn user_return_address(pid: u64, pc: u64, symbols: &dyn Symbols) -> Frame {
    match symbols.user(pid, pc.wrapping_sub(1)) {
        Some(found) => user_named(pid, pc, Some(found), 1),
        None => user_address(pid, pc, symbols),
    }
}

/// `before`: the distance in bytes from the looked-up address to `address`.
fn user_named(pid: u64, address: u64, found: Option<UserPlace>, before: u64) -> Frame {
    let unknown = Frame { address, pid: Some(pid), ..Frame::default() };
    let Some(found) = found else { return unknown };
    let (function, offset) =
        found.function.map_or((None, 0), |function| (Some(function.name), function.offset + before));
    Frame { module: Some(found.object), function, offset, ..unknown }
}

/// Returns the function of an address in a process, without the offset.
pub(crate) fn user_function(pid: u64, pc: u64, symbols: &dyn Symbols) -> Frame {
    Frame { offset: 0, ..user_address(pid, pc, symbols) }
}

/// Returns the file of an address in a process, or the address.
pub(crate) fn user_module(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    symbols.user(pid, pc).map_or_else(|| format!("{pc:#x}"), |found| found.object)
}

/// Returns the pid and address of a usym-like record.
pub(crate) fn user_pair(record: &[u8]) -> (u64, u64) {
    let mut words = words(record);
    (words.next().unwrap_or(0), words.next().unwrap_or(0))
}

pub(crate) fn words(record: &[u8]) -> impl Iterator<Item = u64> {
    record.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinst_sites::InFunction;
    use kinst_sites::listing::frames::{SourceFrame, SourceFrames};

    /// Two functions without a gap: `die` from 0x1000, which ends with a call, and `next` from 0x1010 to 0x1020.
    struct Two;
    impl Symbols for Two {
        fn kernel(&self, address: u64) -> Option<KernelSymbol> {
            let (name, start) = match address {
                0x1000..0x1010 => ("die", 0x1000),
                0x1010..0x1020 => ("next", 0x1010),
                _ => return None,
            };
            Some(KernelSymbol { module: "vmlinux".into(), name: name.into(), start })
        }
        /// From 0x1008 on, `die` contains a copy of `outer`, which contains a copy of `inner`.
        fn frames(&self, address: u64, _: bool) -> SourceFrames {
            let frame = |function: &str, line| SourceFrame {
                function: function.into(),
                place: Some(Place { file: "a.c".into(), line }),
            };
            match address {
                0x1000..0x1008 => Rc::new([frame("die", 10)]),
                0x1008..0x1010 => Rc::new([frame("inner", 1), frame("outer", 2), frame("die", 11)]),
                _ => Rc::default(),
            }
        }
        fn user(&self, _: u64, address: u64) -> Option<UserPlace> {
            let found = self.kernel(address)?;
            let function = Some(InFunction { name: found.name, offset: address - found.start });
            Some(UserPlace { object: "a.out".into(), base: 0, function })
        }
    }

    fn text(
        named: fn(&[u8], Naming<'_>) -> Vec<Frame>,
        record: &[u64],
        first: First,
        source: Source,
    ) -> Vec<String> {
        let bytes: Vec<u8> = record.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let frames = named(&bytes, Naming { symbols: &Two, indent: 0, first: &|_| first.clone(), source });
        let text = frames.iter().map(|frame| match &frame.place {
            Some(place) => format!("{frame} {}:{}", place.file, place.line),
            None => frame.to_string(),
        });
        text.collect()
    }

    fn stack(record: &[u64], first: First, source: Source) -> Vec<String> {
        text(kernel_stack, record, first, source)
    }

    #[test]
    fn a_return_address_is_in_the_function_of_its_call() {
        let plain = Source::default();
        let record = [0x1010, 0x1010, 0x1020, 0x1004, 0, 0x1000];
        let called = ["vmlinux`die+0x10", "vmlinux`die+0x10", "vmlinux`next+0x10", "vmlinux`die+0x4"];
        assert_eq!(stack(&record, First::Return, plain), called);
        let place = First::Place { around: None };
        assert_eq!(stack(&record, place, plain)[..2], ["vmlinux`next", "vmlinux`die+0x10"]);
        let shown = text(user_stack, &[7, 0x1010, 0x1010, 0x1020], First::Return, plain);
        assert_eq!(shown, ["a.out`next", "a.out`die+0x10", "a.out`next+0x10"]);
    }

    #[test]
    fn a_copy_has_the_functions_around_it_before_the_place() {
        let place = First::Place { around: Some(vec!["inner".into(), "outer".into()]) };
        let source = Source { inlined: true, lines: false };
        let shown =
            ["vmlinux`inner (inlined)", "vmlinux`outer (inlined)", "vmlinux`die+0x4", "vmlinux`next+0x2"];
        assert_eq!(stack(&[0x1004, 0x1012], place, source), shown);
    }

    #[test]
    fn inlined_functions_are_frames() {
        let (plain, inlined) = (Source::default(), Source { inlined: true, lines: false });
        let lines = Source { inlined: true, lines: true };
        // A call precedes its return address; an interrupted instruction is at the address itself.
        let record = [0x1008, 0x1010, 0x1012];
        assert_eq!(
            stack(&record, First::Return, plain),
            ["vmlinux`die+0x8", "vmlinux`die+0x10", "vmlinux`next+0x2"]
        );
        let timer = || First::Place { around: None };
        let copies = ["vmlinux`inner (inlined)", "vmlinux`outer (inlined)"];
        let shown = stack(&record, timer(), inlined);
        assert_eq!(shown[..3], [copies[0], copies[1], "vmlinux`die+0x8"]);
        assert_eq!(shown[3..], [copies[0], copies[1], "vmlinux`die+0x10", "vmlinux`next+0x2"]);
        let shown = stack(&[0x1008], First::Return, lines);
        assert_eq!(shown, ["vmlinux`die+0x8 a.c:10"]);
        let shown = stack(&[0x1008], timer(), lines);
        let all =
            ["vmlinux`inner (inlined) a.c:1", "vmlinux`outer (inlined) a.c:2", "vmlinux`die+0x8 a.c:11"];
        assert_eq!(shown, all);
        // The stack of a probe at the copy of `inner` begins with `outer`.
        let copy =
            |around: &[&str]| First::Place { around: Some(around.iter().map(|n| (*n).into()).collect()) };
        assert_eq!(stack(&[0x1008], copy(&["outer"]), lines), all[1..]);
        assert_eq!(stack(&[0x1008], copy(&[]), lines), all[2..]);
        assert_eq!(stack(&[0x1008], copy(&["other"]), lines), ["vmlinux`other (inlined)", all[2]]);
    }

    #[test]
    fn a_function_may_be_inlined() {
        let named = |pc, called, first: First, inlined| {
            let source = Source { inlined, lines: false };
            let naming = Naming { symbols: &Two, indent: 0, first: &|_| first.clone(), source };
            function(pc, called, naming).to_string()
        };
        let return_to = || First::Return;
        assert_eq!(named(0x1009, false, return_to(), true), "vmlinux`inner (inlined)");
        assert_eq!(named(0x1009, false, return_to(), false), "vmlinux`die");
        // The address names `next`, not the end of the preceding function.
        assert_eq!(named(0x1010, false, return_to(), true), "vmlinux`next");
        // The call precedes the address.
        assert_eq!(named(0x1010, true, return_to(), true), "vmlinux`inner (inlined)");
        assert_eq!(named(0x1008, true, return_to(), true), "vmlinux`die");
        let copy =
            |around: &[&str]| First::Place { around: Some(around.iter().map(|n| (*n).into()).collect()) };
        assert_eq!(named(0x1009, true, copy(&["outer"]), true), "vmlinux`outer (inlined)");
        assert_eq!(named(0x1009, true, copy(&[]), true), "vmlinux`die");
    }

    #[test]
    fn an_address_after_all_functions_is_of_the_last_one() {
        assert_eq!(address(0x1020, &Two).to_string(), "vmlinux`next+0x10");
        assert_eq!(address(0x1021, &Two).to_string(), "0x1021");
    }
}
