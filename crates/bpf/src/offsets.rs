//! bpf/offsets.rs: the offsets of what is in the values of the maps.

/// What processors write one at a time: what one CPU writes and another does not is in lines of its own.
pub const LINE: u32 = 64;

/// The places in the value of one CPU that do not depend on the program.
pub mod cpu {
    /// Its own address.
    pub const SELF: i16 = 0;
    /// The address of the constants.
    pub const CONSTANTS: i16 = 8;
    /// The fault: its code in 4 bytes, 0 if there is none, the offset in the object in 4, and the value in 8.
    pub const FAULT: i16 = 16;
    /// The offset of the faulting instruction in bytes; −1 without one.
    pub const FAULT_OFFSET: i16 = 20;
    /// The address or number that is at fault.
    pub const FAULT_VALUE: i16 = 24;
    /// The bytes of scratch memory in use.
    pub const USED: i16 = 32;
    /// Whether a program runs on this CPU.
    pub const BUSY: i16 = 40;
    /// Records that the ring had no room for; a counter of 8 bytes, like the four after it.
    pub const DROPS: i16 = 48;
    /// Values that an aggregation had no room for.
    pub const AGGREGATION_DROPS: i16 = 56;
    /// Assignments that a map of variables had no room for.
    pub const VARIABLE_DROPS: i16 = 64;
    /// Hits while a program ran on this CPU, which are lost.
    pub const NESTED: i16 = 72;
    /// Hits whose clauses were run.
    pub const HITS: i16 = 80;
    /// Of the probe that fires: its place's entry, from the address of the provider's name on.
    pub const PROBE: i16 = 88;
    /// The time of the hit: nanoseconds of CLOCK_MONOTONIC.
    pub const TIMESTAMP: i16 = 128;
    /// The number of the enabling that runs.
    pub const EPID: i16 = 136;
    /// The address of the globals.
    pub const GLOBALS: i16 = 144;
    /// What strtok() goes on at, and the bytes that are left there.
    pub const TOKEN: i16 = 152;
    /// The bytes that are left at [`TOKEN`].
    pub const TOKEN_LIMIT: i16 = 160;
    /// An address on its way from a pointer to a number.
    pub const ADDRESS: i16 = 168;
    /// Words of the functions of the library.
    pub const WORDS: i16 = 176;
    /// The name of the inlined function whose copy the enabling means, from the beginning of the constants, or 0.
    pub const INLINED: i16 = 256;
    /// The speculation that the clause's record is for.
    pub const SPECULATION: i16 = 264;
    /// How many bytes tracemem() is to record.
    pub const LENGTH: i16 = 272;
    /// The calls of speculation() that found none.
    pub const UNAVAILABLE: i16 = 280;
    /// The faults in clauses of ERROR.
    pub const DOUBLE_FAULTS: i16 = 288;
    /// The arguments of ERROR.
    pub const ERROR: i16 = 296;
    /// The arguments of a probe that does not have them in its context, or the caller's registers.
    pub const ARGUMENTS: i16 = 344;
    /// The words at [`ARGUMENTS`], 8 bytes each.
    pub const ARGUMENT_WORDS: u32 = 9;
    /// The runs of programs at kprobes, whatever came of them.
    pub const RUNS: i16 = 416;
    /// What the hit has interrupted: 0 a thread, 1 a soft interrupt, 2 an interrupt.
    pub const LEVEL: i16 = 424;
    /// Which half of the aggregations' maps this run has.
    pub const HALF: i16 = 432;
    /// The addresses of this CPU's count of interrupts, and of the time that they took, or 0.
    pub const INTERRUPTS: i16 = 440;
    /// The address of the nanoseconds that interrupts took on this CPU, or 0.
    pub const IRQ_TIME: i16 = 448;
    /// What the scheduler's clock is ahead of that of the event in [`crate::memory::Map::Clocks`].
    pub const CLOCK: i16 = 456;
    /// The CPU's number, with which the key of each entry of an aggregation begins.
    pub const NUMBER: i16 = 464;
    /// The rest of the key that is being written.
    pub const KEY: u32 = 472;
}

/// What is before a record that is for a speculation: a header as of a record, what to do, the speculation, and its generation.
pub mod wrapper {
    /// The bytes before the record.
    pub const SIZE: u32 = 32;
    /// In the place of the number of an enabling.
    pub const EPID: u32 = u32::MAX - 1;
    /// A record follows, and waits.
    pub const ADD: i32 = 0;
    /// The records that wait go to the consumer.
    pub const COMMIT: i32 = 1;
    /// The records that wait are dropped.
    pub const DISCARD: i32 = 2;
}

/// The places in the globals that do not depend on the program.
pub mod globals {
    /// The state of the session, as `enum kinst_state` has it, and the status of exit(); 8 bytes each.
    pub const STATE: u32 = 0;
    /// The argument of exit().
    pub const STATUS: u32 = 8;
    /// What the clock of atomic time is ahead of the wall clock.
    pub const AHEAD: u32 = 16;
    /// Which half of the aggregations' maps is written.
    pub const HALF: u32 = 24;
    /// Those of the program, in lines that do not have these words.
    pub const FIRST: u32 = super::LINE;
    /// The state in which clauses run.
    pub const ACTIVE: i32 = kinst_base::uapi::State::ACTIVE.0 as i32;
    /// The state after exit(): only END runs.
    pub const DRAINING: i32 = kinst_base::uapi::State::DRAINING.0 as i32;
}
