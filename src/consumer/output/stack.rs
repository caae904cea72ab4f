//! consumer/output/stack.rs: addresses and stacks.

use super::Text;
use crate::consumer::symbols::{KernelSymbol, Symbols, UserPlace};

/// The meaning of the first address of a stack. All others are return addresses: the call is just before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum First {
    #[default]
    Return,
    /// An instruction: that which a timer interrupted, or the place of an inlined copy.
    Place {
        /// The inlined functions around the copy, the innermost first, without the function that has the code.
        around: Vec<String>,
    },
}

/// How addresses are named, and stacks laid out.
#[derive(Clone, Copy)]
pub struct Naming<'a> {
    pub symbols: &'a dyn Symbols,
    /// The columns before each frame.
    pub indent: usize,
    /// Returns the meaning of an address that is the first one of a stack.
    pub first: &'a dyn Fn(u64) -> First,
}

/// Prints a line break, then one frame per line; the first zero ends the stack.
pub fn kernel(out: &mut Text, record: &[u8], naming: Naming<'_>) {
    out.str("\n");
    let mut line = |text: &str| {
        out.pad(naming.indent);
        out.str(text);
        out.str("\n");
    };
    for (depth, pc) in words(record).take_while(|pc| *pc != 0).enumerate() {
        match if depth == 0 { (naming.first)(pc) } else { First::Return } {
            First::Return => line(&return_address(pc, naming.symbols)),
            First::Place { around } => {
                let module = module(pc, naming.symbols);
                around.iter().for_each(|function| line(&format!("{module}`{function} (inlined)")));
                line(&address(pc, naming.symbols));
            }
        }
    }
}

/// Prints a user stack, whose record begins with the pid. Its first address is where the program was.
pub fn user(out: &mut Text, record: &[u8], naming: Naming<'_>) {
    out.str("\n");
    let mut words = words(record);
    let pid = words.next().unwrap_or(0);
    for (depth, pc) in words.take_while(|pc| *pc != 0).enumerate() {
        let text = match depth {
            0 => user_address(pid, pc, naming.symbols),
            _ => user_return_address(pid, pc, naming.symbols),
        };
        out.pad(naming.indent);
        out.str(&text);
        out.str("\n");
    }
}

/// `` module`symbol+0xoff `` of `caller`, which is the first address of the stack.
pub fn caller(pc: u64, naming: Naming<'_>) -> String {
    match (naming.first)(pc) {
        First::Return => return_address(pc, naming.symbols),
        First::Place { .. } => address(pc, naming.symbols),
    }
}

/// `` module`symbol+0xoff ``. Just after a function's end it is where a call returns that does not return.
pub fn address(pc: u64, symbols: &dyn Symbols) -> String {
    named(pc, symbols.kernel(pc).or_else(|| symbols.kernel(pc.wrapping_sub(1))))
}

/// `` module`symbol+0xoff `` of a return address. The call is in the function of the byte before: a call that does not
/// return may be the last instruction of its function.
fn return_address(pc: u64, symbols: &dyn Symbols) -> String {
    named(pc, symbols.kernel(pc.wrapping_sub(1)).or_else(|| symbols.kernel(pc)))
}

fn named(pc: u64, found: Option<KernelSymbol>) -> String {
    match found {
        Some(found) if pc > found.start => {
            format!("{}`{}+{:#x}", found.module, found.name, pc - found.start)
        }
        Some(found) => format!("{}`{}", found.module, found.name),
        None => format!("{pc:#x}"),
    }
}

/// `` module`symbol ``
pub fn function(pc: u64, symbols: &dyn Symbols) -> String {
    match symbols.kernel(pc) {
        Some(found) => format!("{}`{}", found.module, found.name),
        None => format!("{pc:#x}"),
    }
}

pub fn module(pc: u64, symbols: &dyn Symbols) -> String {
    symbols.kernel(pc).map_or_else(|| format!("{pc:#x}"), |found| found.module)
}

/// `` object`symbol+0xoff ``, or `` object`0xaddress `` if the file has no symbol for the function there.
pub fn user_address(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    user_named(pc, symbols.user(pid, pc), 0)
}

fn user_return_address(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    match symbols.user(pid, pc.wrapping_sub(1)) {
        Some(found) => user_named(pc, Some(found), 1),
        None => user_address(pid, pc, symbols),
    }
}

/// `before`: the bytes from what was looked up to the address.
fn user_named(pc: u64, found: Option<UserPlace>, before: u64) -> String {
    let Some(found) = found else { return format!("{pc:#x}") };
    match found.function {
        Some(function) if function.offset + before > 0 => {
            format!("{}`{}+{:#x}", found.object, function.name, function.offset + before)
        }
        Some(function) => format!("{}`{}", found.object, function.name),
        None => format!("{}`{pc:#x}", found.object),
    }
}

/// `` object`symbol ``
pub fn user_function(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    let Some(found) = symbols.user(pid, pc) else { return format!("{pc:#x}") };
    match found.function {
        Some(function) => format!("{}`{}", found.object, function.name),
        None => format!("{}`{pc:#x}", found.object),
    }
}

pub fn user_module(pid: u64, pc: u64, symbols: &dyn Symbols) -> String {
    symbols.user(pid, pc).map_or_else(|| format!("{pc:#x}"), |found| found.object)
}

/// Returns the pid and address of a usym-like record.
pub fn user_pair(record: &[u8]) -> (u64, u64) {
    let mut words = words(record);
    (words.next().unwrap_or(0), words.next().unwrap_or(0))
}

pub fn words(record: &[u8]) -> impl Iterator<Item = u64> {
    record.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::InFunction;

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
        fn user(&self, _: u64, address: u64) -> Option<UserPlace> {
            let found = self.kernel(address)?;
            let function = Some(InFunction { name: found.name, offset: address - found.start });
            Some(UserPlace { object: "a.out".into(), base: 0, function })
        }
    }

    fn shown(print: fn(&mut Text, &[u8], Naming<'_>), record: &[u64], first: First) -> String {
        let bytes: Vec<u8> = record.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut out = Text::new();
        print(&mut out, &bytes, Naming { symbols: &Two, indent: 1, first: &|_| first.clone() });
        String::from_utf8_lossy(out.as_bytes()).into_owned()
    }

    #[test]
    fn a_return_address_is_in_the_function_of_its_call() {
        let stack = [0x1010, 0x1010, 0x1020, 0x1004, 0, 0x1000];
        let called = "\n vmlinux`die+0x10\n vmlinux`die+0x10\n vmlinux`next+0x10\n vmlinux`die+0x4\n";
        assert_eq!(shown(kernel, &stack, First::Return), called);
        let place = First::Place { around: Vec::new() };
        assert!(shown(kernel, &stack, place).starts_with("\n vmlinux`next\n vmlinux`die+0x10\n"));
        let user_stack = [7, 0x1010, 0x1010, 0x1020];
        assert_eq!(
            shown(user, &user_stack, First::Return),
            "\n a.out`next\n a.out`die+0x10\n a.out`next+0x10\n"
        );
    }

    #[test]
    fn a_copy_has_the_functions_around_it_before_the_place() {
        let place = First::Place { around: vec!["inner".into(), "outer".into()] };
        let stack =
            "\n vmlinux`inner (inlined)\n vmlinux`outer (inlined)\n vmlinux`die+0x4\n vmlinux`next+0x2\n";
        assert_eq!(shown(kernel, &[0x1004, 0x1012], place), stack);
    }

    #[test]
    fn an_address_after_all_functions_is_of_the_last_one() {
        assert_eq!(address(0x1020, &Two), "vmlinux`next+0x10");
        assert_eq!(address(0x1021, &Two), "0x1021");
    }
}
