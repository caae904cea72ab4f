//! bpf/program/lanes.rs: the values of the CPUs' memory, for hits that preempt one another.

/// The values of the CPUs' memory: one for each CPU, then as many for each further lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Number of possible CPUs.
    pub cpus: u32,
    /// Number of values of each CPU; 1 if no place is in a program.
    pub each: u32,
}

/// Bytes that all lanes together may have, and how many there are at least and at most, without the first one.
const MOST_BYTES: u32 = 32 << 20;
const FEWEST: u32 = 4;
const MOST: u32 = 16;

impl Lanes {
    /// Chooses the number of lanes for a session with places in programs; `size` is that of a CPU's value.
    pub fn of_programs(cpus: u32, size: u32) -> Lanes {
        let cpus = cpus.max(1);
        let others = MOST_BYTES / size.max(1) / cpus;
        Lanes { cpus, each: 1 + others.clamp(FEWEST, MOST) }
    }

    /// One value for each CPU.
    pub fn one(cpus: u32) -> Lanes {
        Lanes { cpus: cpus.max(1), each: 1 }
    }

    /// The CPU of a value.
    pub fn cpu(self, value: u32) -> u32 {
        value % self.cpus.max(1)
    }

    /// The number of all values.
    pub fn values(self) -> u32 {
        self.cpus.saturating_mul(self.each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_take_little_memory() {
        assert_eq!(Lanes::of_programs(2, 80 << 10), Lanes { cpus: 2, each: 17 });
        assert_eq!(Lanes::of_programs(512, 80 << 10), Lanes { cpus: 512, each: 5 });
        assert_eq!((Lanes::of_programs(0, 0).values(), Lanes::one(3).values()), (17, 3));
    }
}
