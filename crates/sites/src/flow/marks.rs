//! sites/flow/marks.rs: a kernel's tables that affect its control flow: static keys, faults, WARN(), rewritten text.

use std::borrow::Cow;
use std::ops::Range;

use super::part::Marks;
use crate::code::decode::{self, Control, IndirectJump};
use kinst_base::machine::Machine;
use kinst_debuginfo::{ElfFile, Loaded};

/// Kernel functions called from others that do not return, according to their declarations.
const ENDLESS: [&str; 46] = [
    "__fortify_panic",
    "__ghes_panic",
    "__invalid_creds",
    "__module_put_and_kthread_exit",
    "__stack_chk_fail",
    "__tdx_hypercall_failed",
    "__ubsan_handle_builtin_unreachable",
    "__x64_sys_exit",
    "__x64_sys_exit_group",
    "abort",
    "arch_cpu_idle_dead",
    "bch2_trans_in_restart_error",
    "bch2_trans_restart_error",
    "bch2_trans_unlocked_error",
    "cpu_bringup_and_idle",
    "cpu_startup_entry",
    "do_exit",
    "do_group_exit",
    "do_task_dead",
    "ex_handler_msr_mce",
    "fortify_panic",
    "handle_stack_overflow",
    "hlt_play_dead",
    "hv_ghcb_terminate",
    "kthread_complete_and_exit",
    "kthread_exit",
    "kunit_try_catch_throw",
    "machine_real_restart",
    "make_task_dead",
    "mpt_halt_firmware",
    "nmi_panic_self_stop",
    "panic",
    "panic_smp_self_stop",
    "paravirt_BUG",
    "play_dead",
    "rest_init",
    "rewind_stack_and_make_dead",
    "sev_es_terminate",
    "skb_panic",
    "snp_abort",
    "start_kernel",
    "stop_this_cpu",
    "usercopy_abort",
    "vpanic",
    "x86_64_start_kernel",
    "x86_64_start_reservations",
];

/// C library functions that do not return.
const ENDLESS_IN_PROGRAMS: [&str; 24] = [
    "_Exit",
    "_Unwind_Resume",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__cxa_rethrow",
    "__cxa_throw",
    "__fortify_fail",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "thrd_exit",
    "verr",
    "verrx",
    "xabort",
];

/// C library functions that return again, in a program.
const AGAIN: [&str; 7] =
    ["__sigsetjmp", "_setjmp", "getcontext", "setjmp", "sigsetjmp", "swapcontext", "vfork"];

/// Base of the invented addresses of imported functions in a module's linked text, far from all of it.
const IMPORT: u64 = 0x7000_0000;
const ENDLESS_IMPORT: u64 = 0x7000_1000;

/// The linked code of a kernel or module, and the marks from its tables.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    /// Executable sections: address, size, and the bytes if they differ from the file's.
    sections: Vec<(u64, usize, Option<Vec<u8>>)>,
    pub marks: Marks,
}

impl Linked {
    /// `layout` is the file with the debug information, whose addresses are used.
    pub(crate) fn new(binary: &ElfFile, layout: &ElfFile) -> Linked {
        let (code, marks) = of_kernel(binary, layout);
        Linked::with(code, marks)
    }

    fn with(code: Vec<Loaded<'_>>, marks: Marks) -> Linked {
        let mut sections: Vec<_> = code
            .into_iter()
            .map(|(address, bytes)| match bytes {
                Cow::Borrowed(bytes) => (address, bytes.len(), None),
                Cow::Owned(bytes) => (address, bytes.len(), Some(bytes)),
            })
            .collect();
        sections.sort_by_key(|(address, ..)| *address);
        Linked { sections, marks }
    }

    /// Returns the executable sections, by address.
    pub(crate) fn code<'a>(&'a self, binary: &'a ElfFile) -> Vec<(u64, &'a [u8])> {
        let sections = self.sections.iter();
        sections
            .filter_map(|(address, size, bytes)| match bytes {
                Some(bytes) => Some((*address, &bytes[..])),
                None => Some((*address, binary.code_at(*address)?.get(..*size)?)),
            })
            .collect()
    }
}

impl Linked {
    /// Reads a program or an object file.
    pub(crate) fn of_program(binary: &ElfFile, layout: &ElfFile) -> Linked {
        let is_endless = |name: &[u8]| ENDLESS_IN_PROGRAMS.iter().any(|known| known.as_bytes() == name);
        let import = |name: &[u8]| if is_endless(name) { ENDLESS_IMPORT } else { IMPORT };
        let code = binary.loaded(None, layout, import).unwrap_or_default();
        let mut endless = vec![ENDLESS_IMPORT];
        endless.extend(layout.addresses_of(is_endless).iter().map(|(_, address)| *address));
        let stubs = binary.stubs();
        endless.extend(stubs.iter().filter(|(_, name)| is_endless(name)).map(|(address, _)| *address));
        endless.sort_unstable();
        let returns_again = |name: &[u8]| AGAIN.iter().any(|known| known.as_bytes() == name);
        let mut again: Vec<u64> =
            layout.addresses_of(returns_again).iter().map(|(_, address)| *address).collect();
        again.extend(stubs.iter().filter(|(_, name)| returns_again(name)).map(|(address, _)| *address));
        again.sort_unstable();
        let machine = binary.machine().unwrap_or_default();
        let mut marks = Marks { machine, endless, again, ..Marks::default() };
        marks.indirect = indirect(marks.machine, binary, layout, &code);
        // All other indirect jumps leave their function.
        marks.without_tables = true;
        Linked::with(code, marks)
    }
}

fn of_kernel<'a>(binary: &'a ElfFile, layout: &ElfFile) -> (Vec<Loaded<'a>>, Marks) {
    let tables = Tables { binary, layout };
    let code = binary.loaded(None, layout, import).unwrap_or_default();
    let machine = binary.machine().unwrap_or_default();
    let endless = vec![ENDLESS_IMPORT];
    let mut marks = Marks { machine, without_tables: true, endless, ..Marks::default() };
    let symbols = tables.symbols();
    marks.endless.extend(symbols.endless.iter().copied());
    let jump_table = tables.bytes("__jump_table", symbols.jump_table);
    marks.jump_labels = rows(&jump_table, 16, |row| Some((row.place(0)?, row.place(4)?)));
    for (label, _) in &marks.jump_labels {
        marks.patched.push((*label, *label + 1));
    }
    marks.faults = rows(&tables.bytes("__ex_table", None), 12, |row| Some((row.place(0)?, row.place(4)?)));
    marks.warnings = warnings(marks.machine, &tables.bytes("__bug_table", None), &code);
    let static_calls = tables.bytes(".static_call_sites", symbols.static_calls);
    marks.patched.extend(rows(&static_calls, 8, |row| Some((row.place(0)?, row.place(0)? + 5))));
    let alternatives = alternatives(&tables.bytes(".altinstructions", None), &code);
    // Only the start of a replaced range is certain to be the start of an instruction.
    marks.patched.extend(alternatives.iter().map(|one| (one.address + 1, one.address + one.len)));
    marks.switches =
        switches(machine, &alternatives, &code, binary.section(AUXILIARY).map(|aux| aux.range()));
    if machine.facts().has_jump_tables {
        marks.indirect = indirect(machine, binary, layout, &code);
    }
    marks.jump_labels.sort_unstable();
    marks.faults.sort_unstable();
    marks.warnings.sort_unstable();
    marks.patched.extend(marks.warnings.iter().map(|trap| (*trap, *trap + 1)));
    marks.patched.sort_unstable();
    marks.endless.sort_unstable();
    (code, marks)
}

/// Symbols around two of the tables of vmlinux.
const BOUNDS: [&[u8]; 4] = [
    b"__start___jump_table",
    b"__stop___jump_table",
    b"__start_static_call_sites",
    b"__stop_static_call_sites",
];

/// Whether the marks need a symbol of this name.
pub(crate) fn is_needed(name: &[u8]) -> bool {
    BOUNDS.contains(&name) || is_endless(name)
}

fn import(name: &[u8]) -> u64 {
    if is_endless(name) { ENDLESS_IMPORT } else { IMPORT }
}

fn is_endless(name: &[u8]) -> bool {
    ENDLESS.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
}

/// The two addresses of a range.
type Span = Option<(u64, u64)>;

#[derive(Default)]
struct Named {
    jump_table: Span,
    static_calls: Span,
    endless: Vec<u64>,
}

struct Tables<'a> {
    binary: &'a ElfFile,
    layout: &'a ElfFile,
}

impl<'a> Tables<'a> {
    /// Returns the contents of a table: a section in a module, a range of the read-only data in vmlinux.
    fn bytes(&self, section: &str, span: Span) -> Loaded<'a> {
        let mut found = self.binary.loaded(Some(section), self.layout, import).unwrap_or_default();
        if let Some(table) = found.pop() {
            return table;
        }
        let bytes = span.and_then(|(start, end)| {
            self.binary.code_at(start)?.get(..usize::try_from(end.checked_sub(start)?).ok()?)
        });
        (span.map_or(0, |span| span.0), Cow::Borrowed(bytes.unwrap_or_default()))
    }

    fn symbols(&self) -> Named {
        let found = self.layout.addresses_of(is_needed);
        let bound =
            |wanted: &[u8]| found.iter().find(|(name, _)| *name == wanted).map(|(_, address)| *address);
        Named {
            jump_table: bound(BOUNDS[0]).zip(bound(BOUNDS[1])),
            static_calls: bound(BOUNDS[2]).zip(bound(BOUNDS[3])),
            endless: found.iter().filter(|(name, _)| is_endless(name)).map(|(_, address)| *address).collect(),
        }
    }
}

/// A row of a table whose fields are distances from their own addresses.
struct Row<'t> {
    address: u64,
    bytes: &'t [u8],
}

impl Row<'_> {
    fn place(&self, at: usize) -> Option<u64> {
        let field = self.bytes.get(at..at + 4)?.try_into().ok()?;
        let distance = i64::from(i32::from_le_bytes(field));
        Some(self.address.wrapping_add(at as u64).wrapping_add_signed(distance))
    }
}

fn rows<T>(table: &Loaded<'_>, size: usize, read: impl Fn(&Row<'_>) -> Option<T>) -> Vec<T> {
    let rows = table.1.chunks_exact(size).enumerate();
    rows.filter_map(|(index, bytes)| read(&Row { address: table.0 + (index * size) as u64, bytes })).collect()
}

/// Returns the traps of `__bug_table` that are a WARN(). A row has 12 bytes, 16 since Linux 6.19, or 8
/// without file names; the last two are the flags. The correct size is the one with which most rows point to
/// traps: since 6.19 a WARN() with a format is a static call, and its row points before it.
fn warnings(machine: Machine, table: &Loaded<'_>, code: &[Loaded<'_>]) -> Vec<u64> {
    const WARNING: u16 = 1;
    let is_trap = |at: &[u8]| decode::of(machine).is_trap(at);
    for size in [8, 12, 16] {
        let traps = rows(table, size, |row| {
            let flags = row.bytes.get(size - 2..)?.try_into().ok().map(u16::from_le_bytes)?;
            let trap = row.place(0).filter(|trap| bytes(code, *trap).is_some_and(is_trap))?;
            Some((trap, flags))
        });
        // Exactly half of the rows match if the true size is twice as large.
        if table.1.len().is_multiple_of(size) && traps.len() * size * 2 > table.1.len() {
            return traps.iter().filter(|(_, flags)| flags & WARNING != 0).map(|(trap, _)| *trap).collect();
        }
    }
    Vec::new()
}

/// A row of `.altinstructions`: instructions that are replaced at boot if the processor has a feature.
struct Alternative {
    address: u64,
    len: u64,
    replacement: u64,
    replacement_len: u64,
}

/// Section of code that executes in place of an alternative until the kernel has chosen, and is then freed.
const AUXILIARY: &str = ".altinstr_aux";

/// Parses rows of 12 bytes, 14 since Linux 6.3; each ends with the two lengths.
fn alternatives(table: &Loaded<'_>, code: &[Loaded<'_>]) -> Vec<Alternative> {
    for size in [12, 14] {
        let rows = rows(table, size, |row| {
            let [.., len, replacement_len] = row.bytes else { return None };
            Some(Alternative {
                address: row.place(0)?,
                len: u64::from(*len),
                replacement: row.place(4)?,
                replacement_len: u64::from(*replacement_len),
            })
        });
        let fits = |row: &Alternative| row.len > 0 && bytes(code, row.address).is_some();
        if table.1.len().is_multiple_of(size) && rows.iter().all(fits) {
            return rows;
        }
    }
    Vec::new()
}

/// Returns the successors that alternatives add. The first instruction of each gets all of them: the targets
/// of the replacement, the instruction after it if the replacement falls through, and the targets of the
/// auxiliary code, which decides until the kernel has chosen.
fn switches(
    machine: Machine,
    alternatives: &[Alternative],
    code: &[Loaded<'_>],
    auxiliary: Option<Range<u64>>,
) -> Vec<(u64, u64)> {
    let mut switches = Vec::new();
    for one in alternatives {
        let mut ways = Vec::new();
        let mut goes_on = true;
        let own = one.replacement..one.replacement + one.replacement_len;
        let replacement =
            bytes(code, one.replacement).and_then(|bytes| bytes.get(..one.replacement_len as usize));
        for step in decode::of(machine).steps(replacement.unwrap_or_default(), one.replacement) {
            goes_on = !matches!(step.control, Control::Jump(_) | Control::Return | Control::Trap);
            ways.extend(target(&step).filter(|to| !own.contains(to)));
        }
        let original = bytes(code, one.address).and_then(|code| decode::step(machine, code, one.address));
        let aside = original.and_then(|step| target(&step));
        if let (Some(aside), Some(within)) = (aside, &auxiliary)
            && within.contains(&aside)
        {
            let steps = decode::of(machine).steps(bytes(code, aside).unwrap_or_default(), aside).take(8);
            for step in steps {
                ways.extend(target(&step));
                if matches!(step.control, Control::Jump(_) | Control::Return) {
                    break;
                }
            }
        }
        // A jump replaced by a nop, for which the table has no code.
        let is_nop = machine.facts().has_empty_alternatives && one.replacement_len == 0;
        let jumps = |step: &decode::Step| matches!(step.control, Control::Jump(_));
        if !ways.is_empty() || is_nop && original.as_ref().is_some_and(jumps) {
            ways.extend(goes_on.then_some(one.address + one.len));
            switches.extend(ways.into_iter().map(|to| (one.address, to)));
        }
    }
    switches.sort_unstable();
    switches.dedup();
    switches
}

/// Returns the jumps through tables.
fn indirect(machine: Machine, binary: &ElfFile, layout: &ElfFile, code: &[Loaded<'_>]) -> Vec<IndirectJump> {
    let data = |address: u64, len: usize| {
        let section = layout.section_at(address)?;
        let (start, bytes) = binary.loaded(Some(&section.name), layout, import).ok()?.pop()?;
        let at = usize::try_from(address.checked_sub(start)?).ok()?;
        Some(bytes.get(at..at.checked_add(len)?)?.to_vec())
    };
    let found =
        code.iter().flat_map(|(address, bytes)| decode::of(machine).indirect_jumps(bytes, *address, &data));
    let mut jumps: Vec<IndirectJump> = found.collect();
    jumps.sort_unstable_by_key(|jump| jump.at);
    jumps
}

fn target(step: &decode::Step) -> Option<u64> {
    match step.control {
        Control::Jump(to) | Control::Branch(to) => Some(to),
        _ => None,
    }
}

fn bytes<'c>(code: &'c [Loaded<'_>], address: u64) -> Option<&'c [u8]> {
    code.iter().find_map(|(start, bytes)| bytes.get(usize::try_from(address.checked_sub(*start)?).ok()?..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(ENDLESS.is_sorted());
    }

    const CODE: u64 = 0x1000;
    const TABLE: u64 = 0x8000;

    /// Makes a table with a row of this size for each address and its flags.
    fn bug_table(size: usize, traps: &[(u64, u16)]) -> Vec<u8> {
        let row = |(index, (trap, flags)): (usize, &(u64, u16))| {
            let distance = trap.wrapping_sub(TABLE + (index * size) as u64) as u32;
            let mut row = distance.to_le_bytes().to_vec();
            row.resize(size - 2, 0x5a);
            row.extend(flags.to_le_bytes());
            row
        };
        traps.iter().enumerate().flat_map(row).collect()
    }

    fn warnings_of(size: usize) -> Vec<u64> {
        // nop; ud2 (BUG); ud2 (WARN); lea and call (WARN with a format); ud1 (WARN).
        let code = [
            0x90, 0x0f, 0x0b, 0x0f, 0x0b, 0x48, 0x8d, 4, 0x24, 0xe8, 1, 2, 3, 4, 0x67, 0x48, 0x0f, 0xb9, 0x3a,
        ];
        let table = bug_table(size, &[(CODE + 1, 0), (CODE + 3, 1), (CODE + 5, 0x0901), (CODE + 14, 0x0901)]);
        warnings(Machine::X86_64, &(TABLE, table.into()), &[(CODE, code[..].into())])
    }

    #[test]
    fn warnings_are_found_in_rows_of_every_size() {
        for size in [8, 12, 16] {
            assert_eq!(warnings_of(size), [CODE + 3, CODE + 14], "{size}");
        }
    }
}
