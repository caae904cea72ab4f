//! bpf_load.rs: random programs as BPF, which a kernel has to take. It needs root, and loads them into the kernel that runs.

use crate::numbers::Random;
use crate::{machine, program};
use kinst::dif::Options;
use kinst::dif::enabled::Enabled;
use kinst::driver::bpf::{EnableError, Session};
use kinst::driver::session::Plan;
use kinst::probe::{Fields, Place, Probe, Spot, When};
use kinst::sites::{Spots, Symbols};
use std::collections::BTreeMap;

/// One instruction for each place, and variables that are nowhere.
struct Here;

impl Symbols for Here {
    fn symbol(&self, _: &str) -> Option<(u64, u64)> {
        Some((8, 8))
    }

    fn bytes(&self, _: u64, len: usize) -> Option<Vec<u8>> {
        Some(vec![0; len])
    }
}

impl Spots for Here {
    fn spots(&self, place: &Place) -> Result<Vec<Spot>, String> {
        let Place::Insn { func, offset, .. } = place else { return Ok(Vec::new()) };
        let address = func + u64::from(*offset);
        Ok(vec![Spot { address, exit: 0, when: When::Always, keys: Vec::new() }])
    }
}

#[test]
#[ignore = "it needs root and loads programs into the running kernel"]
fn a_kernel_takes_random_programs() {
    let cases = std::env::var("KINST_DIF_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let first = std::env::var("KINST_DIF_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let strsize = std::env::var("KINST_DIF_STRSIZE").ok().and_then(|text| text.parse().ok()).unwrap_or(256);
    let options = Options { bufsize: 4096, aggsize: 4096, dynvarsize: 4096, strsize, ..Options::default() };
    let begin = Probe { id: 1, place: Place::Begin, name: Fields::new("dtrace", "", "", "BEGIN") };
    let (mut loaded, mut refused) = (0, BTreeMap::<String, u32>::new());
    for seed in first..first + cases {
        let program = program::program(&mut Random(seed));
        let probes = vec![machine::probe(), begin.clone()];
        let clauses = 0..program.clauses.len() as u32;
        let ecbs = clauses.flat_map(|clause| [(0, clause).into(), (1, clause).into()]).collect();
        let plan = Plan { enabled: Enabled { probes, ecbs }, descriptions: Vec::new() };
        match Session::try_load(&program, &plan, &options, &Here) {
            Ok(programs) => loaded += programs,
            Err(EnableError::Unable { why, .. } | EnableError::Layout(why)) => {
                *refused.entry(why).or_insert(0) += 1
            }
            Err(error @ EnableError::Strings) => *refused.entry(error.to_string()).or_insert(0) += 1,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    println!("{cases} random programs: {loaded} of BPF were loaded, refused by name: {refused:?}");
    assert!(loaded > cases as usize / 2);
}
