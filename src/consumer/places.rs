//! consumer/places.rs: decides whether the first address of a stack is a return address or the place of the probe.

use super::frame::First;
use super::symbols::Symbols;
use kinst_base::probe::{Place, Probe};
use kinst_dif::enabled::Enabled;
use kinst_dif::object::Ecb;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The probes whose own place is the first address of a stack: timers, and inlined copies.
pub(crate) struct Places<'p> {
    enabled: &'p Enabled,
    /// The enablings at copies, by run-time address.
    copies: OnceCell<HashMap<u64, Vec<&'p Ecb>>>,
    timers: OnceCell<bool>,
}

impl<'p> Places<'p> {
    pub(crate) fn new(enabled: &'p Enabled) -> Places<'p> {
        Places { enabled, copies: OnceCell::new(), timers: OnceCell::new() }
    }

    /// Returns the meaning of the first address in a record of the enabling.
    pub(crate) fn of_record(&self, epid: u32, symbols: &dyn Symbols) -> First {
        match self.enabled.ecb(epid) {
            Some(ecb) if ecb.inlined.is_some() => First::Place { around: Some(self.around(ecb, symbols)) },
            _ if self.enabled.probe(epid).is_some_and(is_timer) => First::Place { around: None },
            _ => First::Return,
        }
    }

    /// Returns the meaning of the first address in an aggregation key, which does not name the enabling. If copies of
    /// several functions are entered at the address, only the functions around all of them are certain.
    pub(crate) fn of_key(&self, address: u64, symbols: &dyn Symbols) -> First {
        let copies = self.copies.get_or_init(|| by_address(self.enabled));
        if let Some(ecbs) = copies.get(&address) {
            let chains = ecbs.iter().map(|ecb| self.around(ecb, symbols));
            let common = chains.reduce(|a, b| {
                let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
                a[a.len() - same..].to_vec()
            });
            return First::Place { around: Some(common.unwrap_or_default()) };
        }
        // The difference matters only for an address at which a function begins.
        match self.timers.get_or_init(|| self.enabled.probes.iter().any(is_timer)) {
            true => First::Place { around: None },
            false => First::Return,
        }
    }

    fn around(&self, ecb: &Ecb, symbols: &dyn Symbols) -> Vec<String> {
        let probe = self.enabled.probes.get(ecb.probe as usize);
        let known = probe.zip(ecb.inlined.as_deref()).map(|(probe, copy)| symbols.around(probe, copy));
        known.unwrap_or_default()
    }
}

fn is_timer(probe: &Probe) -> bool {
    matches!(probe.place, Place::Profile { .. } | Place::Tick { .. })
}

fn by_address(enabled: &Enabled) -> HashMap<u64, Vec<&Ecb>> {
    let mut copies: HashMap<u64, Vec<&Ecb>> = HashMap::new();
    for ecb in enabled.ecbs.iter().filter(|ecb| ecb.inlined.is_some()) {
        let place = enabled.probes.get(ecb.probe as usize).map(|probe| &probe.place);
        if let Some((func, offset)) = place.and_then(|place| place.func().zip(place.offset())) {
            copies.entry(func.wrapping_add(offset.into())).or_default().push(ecb);
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::symbols::{KernelSymbol, UserPlace};
    use kinst_base::probe::Fields;

    /// `f` is inlined into `g`, and `g` into `h`.
    struct Nested;
    impl Symbols for Nested {
        fn kernel(&self, _: u64) -> Option<KernelSymbol> {
            None
        }
        fn user(&self, _: u64, _: u64) -> Option<UserPlace> {
            None
        }
        fn around(&self, _: &Probe, copy: &str) -> Vec<String> {
            let chain: &[&str] = if copy == "f" { &["g", "h"] } else { &["h"] };
            chain.iter().map(|name| (*name).to_owned()).collect()
        }
    }

    fn enabled(places: Vec<Place>, ecbs: &[(u32, Option<&str>)]) -> Enabled {
        let probe = |place| Probe { id: 1, name: Fields::default(), place };
        let ecb = |(probe, inlined): &(u32, Option<&str>)| Ecb {
            probe: *probe,
            clause: 0,
            inlined: inlined.map(Into::into),
            end: None,
        };
        Enabled { probes: places.into_iter().map(probe).collect(), ecbs: ecbs.iter().map(ecb).collect() }
    }

    #[test]
    fn a_copy_is_at_its_place() {
        let insn = |offset| Place::Insn { func: 0x1000, offset, bytes: Vec::new() };
        let enabled =
            enabled(vec![insn(4), insn(8)], &[(0, Some("f")), (0, Some("g")), (1, None), (1, Some("f"))]);
        let places = Places::new(&enabled);
        let around = |names: &[&str]| First::Place {
            around: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        };
        assert_eq!(places.of_record(1, &Nested), around(&["g", "h"]));
        assert_eq!(places.of_record(2, &Nested), around(&["h"]));
        assert_eq!(places.of_record(3, &Nested), First::Return);
        // An aggregation key has only the address.
        assert_eq!(places.of_key(0x1004, &Nested), around(&["h"]));
        assert_eq!(places.of_key(0x1008, &Nested), around(&["g", "h"]));
        assert_eq!(places.of_key(0x1009, &Nested), First::Return);
    }

    #[test]
    fn a_timer_interrupts_a_place() {
        let enabled = enabled(
            vec![Place::Profile { interval: 1 }, Place::FbtEntry { func: 1 }],
            &[(0, None), (1, None)],
        );
        let places = Places::new(&enabled);
        assert_eq!(places.of_record(1, &Nested), First::Place { around: None });
        assert_eq!(places.of_record(2, &Nested), First::Return);
    }
}
