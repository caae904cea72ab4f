//! consumer/unwind.rs: unwinds user stacks that were recorded with a copy of the stack, to plain address records.

use super::symbols::Symbols;
use kinst_base::uapi::{self, Plain as _};
use kinst_dif::action::Ustack;
use kinst_dif::layout;
use kinst_sites::user_stack::Copied;

/// Returns the payload with each stack converted to the format without a copy: the process, then the addresses.
pub(super) fn payload(
    recorded: &[u8],
    stacks: &[(layout::Record, Ustack)],
    symbols: &dyn Symbols,
) -> Vec<u8> {
    let mut payload = recorded.to_vec();
    for (place, ustack) in stacks {
        let record = recorded.get(place.offset as usize..).and_then(|rest| rest.get(..place.size as usize));
        let Some(record) = record else { continue };
        let plain = record_of(record, *ustack, symbols);
        payload[place.offset as usize..][..plain.len()].copy_from_slice(&plain);
    }
    payload
}

/// Returns the process and the addresses of one stack: from its copy and, if that walk is incomplete and shorter than the
/// one by frame pointers, from there on by these.
pub(super) fn record_of(record: &[u8], ustack: Ustack, symbols: &dyn Symbols) -> Box<[u8]> {
    let plain = ustack.plain() as usize;
    let Some((addresses, rest)) = record.split_at_checked(plain) else { return record.into() };
    let (Some((pid, addresses)), Some(state)) =
        (addresses.split_first_chunk::<8>(), uapi::Ustack::read(rest))
    else {
        return addresses.into();
    };
    let copy = &rest[uapi::Ustack::SIZE..];
    let read = usize::try_from(state.bytes).map_or(copy.len(), |read| read.min(copy.len()));
    let copied = Copied { registers: &registers(&state), bytes: &copy[..read] };
    let walk = symbols.unwind(u64::from_ne_bytes(*pid), &copied, ustack.frames as usize);
    let pointed = addresses.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
    let pointed: Vec<u64> = pointed.take_while(|address| *address != 0).collect();
    let whole = match walk.complete || walk.addresses.len() >= pointed.len() {
        true => walk.addresses,
        false => joined(&walk.addresses, &pointed),
    };
    let mut plain = pid.to_vec();
    plain.extend(whole.iter().take(ustack.frames as usize).flat_map(|address| address.to_ne_bytes()));
    plain.resize(ustack.plain() as usize, 0);
    plain.into()
}

/// Continues one stack by another that lacks some of its functions: from the last address on that both have. A recursive
/// function has the same address many times, so the addresses before it decide.
fn joined(begin: &[u64], other: &[u64]) -> Vec<u64> {
    let alike = |from: usize, to: usize| {
        begin[..from]
            .iter()
            .rev()
            .zip(other[..to].iter().rev())
            .take_while(|(one, other)| one == other)
            .count()
    };
    for from in (1..=begin.len()).rev() {
        let to = (1..=other.len()).rev().max_by_key(|to| alike(from, *to));
        if let Some(to) = to.filter(|to| alike(from, *to) > 0) {
            return [&begin[..from], &other[to..]].concat();
        }
    }
    other.to_vec()
}

/// Returns the registers by DWARF number, the instruction pointer last; none if the process is not a 64-bit program.
fn registers(state: &uapi::Ustack) -> Vec<u64> {
    let known = usize::try_from(state.nregs).ok().and_then(|known| state.regs.get(..known));
    match known {
        Some([]) | None => Vec::new(),
        Some(known) => [known, &[state.ip]].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::spaces::Spaces;
    use crate::consumer::symbols::{KernelSymbol, UserPlace};
    use kinst_sites::user_stack::{Walk, walk};
    use std::arch::asm;
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    #[test]
    fn stacks_are_joined_at_their_last_common_address() {
        // The second lacks the caller of a function without a frame.
        assert_eq!(joined(&[1, 2, 3, 4], &[1, 3, 4, 5, 6]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(joined(&[1, 2, 7, 7], &[1, 7, 7, 7, 7, 9]), [1, 2, 7, 7, 7, 7, 9]);
        // The first ends at an address that the second does not have.
        assert_eq!(joined(&[1, 2, 3, 8], &[1, 3, 4, 5, 6]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(joined(&[], &[1, 3]), [1, 3]);
        assert_eq!(joined(&[2], &[1, 3]), [1, 3]);
    }

    /// The address space of this process.
    #[derive(Default)]
    struct Own(Spaces);

    impl Symbols for Own {
        fn kernel(&self, _: u64) -> Option<KernelSymbol> {
            None
        }
        fn user(&self, pid: u64, address: u64) -> Option<UserPlace> {
            let found = self.0.at(pid, address)?;
            let function = found.file?.program.symbolize(found.offset);
            Some(UserPlace { object: found.path.to_string(), base: found.base, function })
        }
        fn unwind(&self, pid: u64, copied: &Copied<'_>, most: usize) -> Walk {
            walk(copied, most, &|address| self.0.code_at(pid, address))
        }
    }

    thread_local! {
        /// Shared by many walks, so that each file is opened once.
        static OWN: Own = Own::default();
    }

    const FRAMES: u32 = 64;

    /// Makes the record that the module would make of this thread here, with `pointed` as the frame-pointer walk.
    #[inline(never)]
    fn recorded(pointed: &[u64], copied: u32) -> Vec<u8> {
        let mut regs = [0u64; 32];
        // SAFETY: the code stores registers to the 17 words at the address in rax, and changes only rcx.
        unsafe {
            asm!(
                "lea rcx, [rip]",
                "mov [rax + 8*3], rbx",
                "mov [rax + 8*6], rbp",
                "mov [rax + 8*7], rsp",
                "mov [rax + 8*12], r12",
                "mov [rax + 8*13], r13",
                "mov [rax + 8*14], r14",
                "mov [rax + 8*15], r15",
                "mov [rax + 8*16], rcx",
                in("rax") regs.as_mut_ptr(),
                out("rcx") _,
                options(nostack),
            );
        }
        let mut copy = vec![0; copied as usize];
        let read = File::open("/proc/self/mem").unwrap().read_at(&mut copy, regs[7]).unwrap();
        let mut record = u64::from(std::process::id()).to_ne_bytes().to_vec();
        for frame in 0..FRAMES as usize {
            record.extend(pointed.get(frame).unwrap_or(&0).to_ne_bytes());
        }
        let ip = std::mem::take(&mut regs[16]);
        uapi::Ustack { bytes: read as u64, nregs: 16, ip, regs }.write(&mut record);
        record.extend(copy);
        record
    }

    #[inline(never)]
    fn outer(pointed: &[u64], copied: u32) -> Vec<u8> {
        let record = middle(std::hint::black_box(pointed), copied);
        std::hint::black_box(record)
    }

    #[inline(never)]
    fn middle(pointed: &[u64], copied: u32) -> Vec<u8> {
        let record = recorded(std::hint::black_box(pointed), copied);
        std::hint::black_box(record)
    }

    /// The outermost caller, separate from the test: a compiler may inline a test function into its caller.
    #[inline(never)]
    fn outermost(pointed: &[u64], copied: u32) -> Vec<u8> {
        let record = outer(std::hint::black_box(pointed), copied);
        std::hint::black_box(record)
    }

    /// Returns the addresses of a stack of this process.
    fn addresses(record: &[u8], copied: u32, own: &Own) -> Vec<u64> {
        let plain = record_of(record, Ustack { frames: FRAMES, copied }, own);
        assert_eq!(plain.len(), 8 + 8 * FRAMES as usize);
        let words = plain.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
        let words: Vec<u64> = words.collect();
        assert_eq!(words[0], u64::from(std::process::id()));
        words.into_iter().skip(1).take_while(|address| *address != 0).collect()
    }

    fn names(addresses: &[u64], own: &Own) -> Vec<String> {
        let pid = u64::from(std::process::id());
        let name = |address: &u64| Some(own.user(pid, address - 1)?.function?.name);
        addresses.iter().map(|address| name(address).unwrap_or_default()).collect()
    }

    #[test]
    fn a_stack_of_this_thread() {
        let own = Own::default();
        let copied = 1 << 16;
        let record = outermost(&[], copied);
        let found = addresses(&record, copied, &own);
        let names = names(&found, &own);
        let at = |wanted: &str| names.iter().position(|name| name.ends_with(wanted));
        assert_eq!(at("tests::recorded"), Some(0), "{names:?}");
        assert_eq!((at("tests::middle"), at("tests::outer")), (Some(1), Some(2)), "{names:?}");
        assert!(at("tests::outermost").is_some_and(|depth| depth == 3), "{names:?}");
        // A thread starts in the C library, in functions that are not exported.
        let last = own.0.at(std::process::id().into(), *found.last().unwrap());
        assert!(last.is_some_and(|last| last.path.contains("libc")), "{names:?}");
        let stack = uapi::Ustack::read(&record[8 + 8 * FRAMES as usize..]).unwrap();
        let bytes = &record[record.len() - copied as usize..][..stack.bytes as usize];
        let copied = Copied { registers: &registers(&stack), bytes };
        assert!(own.unwind(std::process::id().into(), &copied, 64).complete);
        let few = own.unwind(std::process::id().into(), &copied, 3);
        assert_eq!((few.addresses.as_slice(), few.complete), (&found[..3], false));
    }

    /// The walk over a truncated copy yields a prefix of the whole walk.
    #[test]
    fn short_copies() {
        let own = Own::default();
        let whole = addresses(&outer(&[], 1 << 16), 1 << 16, &own);
        let mut last = 0;
        for copied in (8..2048).step_by(8) {
            let found = addresses(&outer(&[], copied), copied, &own);
            // The caller's own address differs between the two calls.
            let same = found.iter().zip(&whole).skip(3).filter(|(a, b)| a == b).count();
            assert_eq!(same, found.len().saturating_sub(4), "{found:x?} {whole:x?}");
            assert!(found.len() >= last);
            last = found.len();
        }
        assert!(last > 3);
    }

    #[test]
    fn frame_pointers_count_where_they_tell_more() {
        let own = Own::default();
        let pointed: Vec<u64> = (1..10).collect();
        assert_eq!(addresses(&outer(&pointed, 8), 8, &own), pointed);
        assert_ne!(addresses(&outer(&pointed, 1 << 16), 1 << 16, &own), pointed);
    }

    proptest::proptest! {
        #[test]
        fn any_registers_and_any_stack(
            registers in proptest::collection::vec(proptest::num::u64::ANY, 17),
            near in proptest::collection::vec(0u64..4096, 512),
            at in 0usize..4,
        ) {
            let record = outer(&[], 4096);
            let stack = uapi::Ustack::read(&record[8 + 8 * FRAMES as usize..]).unwrap();
            let mut regs: [u64; 17] = registers.try_into().unwrap();
            // Registers inside and outside known code; words that are addresses of code and of the stack.
            regs[16] = if at == 0 { regs[16] } else { stack.ip.wrapping_add(near[0]) };
            regs[7] = if at == 1 { regs[7] } else { stack.regs[7] };
            regs[6] = if at == 2 { regs[6] } else { stack.regs[7] + near[1] };
            let word = |(index, near): (usize, &u64)| match index % 3 {
                0 => stack.ip.wrapping_add(*near),
                1 => stack.regs[7] + near,
                _ => near.rotate_right(12),
            };
            let bytes: Vec<u8> = near.iter().enumerate().flat_map(|item| word(item).to_le_bytes()).collect();
            let copied = Copied { registers: &regs, bytes: &bytes };
            let walk = OWN.with(|own| own.unwind(std::process::id().into(), &copied, 64));
            assert!(walk.addresses.len() <= 64);
        }

        #[test]
        fn any_record(record in proptest::collection::vec(proptest::num::u8::ANY, 0..400), frames in 1u32..9) {
            let plain = OWN.with(|own| record_of(&record, Ustack { frames, copied: 64 }, own));
            assert!(plain.len() <= 8 + 8 * frames as usize || plain.len() == record.len());
        }
    }
}
