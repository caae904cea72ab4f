//! fuzz/src/stapsdt.rs: the notes of static probes in programs, in the format of <sys/sdt.h>.

use kinst::machine::Machine;
use kinst::sites::StaticNotes;

/// Reads the section from the input, after the kind of machine and the address of the base.
pub fn stapsdt(data: &[u8]) {
    let Some((&[kind, base], section)) = data.split_first_chunk() else { return };
    let machine = if kind & 1 == 0 { Machine::X86_64 } else { Machine::Aarch64 };
    let base = (kind & 2 != 0).then_some(u64::from(base) << 12);
    let symbol = |name: &str| (name.len() < 4).then_some(0x4010);
    let probes = StaticNotes { section, machine, base, symbol: &symbol }.probes();
    for probe in &probes {
        assert!(!probe.name.is_empty() && !probe.name.contains(['*', '?', ':']), "{probe:?}");
        for argument in &probe.arguments {
            assert!(matches!(argument.bytes, 1 | 2 | 4 | 8), "{argument:?}");
            if let Ok(term) = &argument.value {
                assert!(term.size() <= 32, "{argument:?}");
            }
        }
    }
}
