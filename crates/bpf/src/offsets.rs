//! bpf/offsets.rs: offsets in the values of the maps.

/// Size of a cache line: data that only one CPU writes is on separate lines.
pub const LINE: u32 = 64;

/// Offsets in one CPU's value that do not depend on the program.
pub mod cpu {
    /// The value's own address.
    pub const SELF: i16 = 0;
    /// The address of the constants.
    pub const CONSTANTS: i16 = 8;
    /// The fault: its code in 4 bytes, 0 if none; the offset in the object in 4; and the value in 8.
    pub const FAULT: i16 = 16;
    /// Offset of the faulting instruction in bytes; −1 without one.
    pub const FAULT_OFFSET: i16 = 20;
    /// The faulting address or number.
    pub const FAULT_VALUE: i16 = 24;
    /// Bytes of scratch memory in use.
    pub const USED: i16 = 32;
    /// Whether a program runs on this CPU.
    pub const BUSY: i16 = 40;
    /// Records dropped because the ring was full; a counter of 8 bytes, like the four after it.
    pub const DROPS: i16 = 48;
    /// Values dropped because an aggregation was full.
    pub const AGGREGATION_DROPS: i16 = 56;
    /// Assignments dropped because a map of variables was full.
    pub const VARIABLE_DROPS: i16 = 64;
    /// Hits lost because a program was running on this CPU.
    pub const NESTED: i16 = 72;
    /// Hits whose clauses ran.
    pub const HITS: i16 = 80;
    /// The firing probe: the part of its place's entry that begins with the address of the provider's name.
    pub const PROBE: i16 = 88;
    /// The time of the hit: nanoseconds of CLOCK_MONOTONIC.
    pub const TIMESTAMP: i16 = 128;
    /// Id of the running enabling.
    pub const EPID: i16 = 136;
    /// The address of the globals.
    pub const GLOBALS: i16 = 144;
    /// The string with which strtok() continues.
    pub const TOKEN: i16 = 152;
    /// Number of bytes left at [`TOKEN`].
    pub const TOKEN_LIMIT: i16 = 160;
    /// Scratch space to convert a pointer to a number.
    pub const ADDRESS: i16 = 168;
    /// Words for the library functions.
    pub const WORDS: i16 = 176;
    /// Name of the inlined function whose copy the enabling is at, as an offset in the constants, or 0.
    pub const INLINED: i16 = 256;
    /// Speculation that the clause's record belongs to.
    pub const SPECULATION: i16 = 264;
    /// Number of bytes for tracemem() to record.
    pub const LENGTH: i16 = 272;
    /// Failed calls of speculation().
    pub const UNAVAILABLE: i16 = 280;
    /// Faults in clauses of ERROR.
    pub const DOUBLE_FAULTS: i16 = 288;
    /// Arguments of ERROR.
    pub const ERROR: i16 = 296;
    /// Arguments of a probe whose context does not have them, or the caller's registers.
    pub const ARGUMENTS: i16 = 344;
    /// Number of words at [`ARGUMENTS`], 8 bytes each.
    pub const ARGUMENT_WORDS: u32 = 9;
    /// Runs of programs at kprobes, whatever their outcome.
    pub const RUNS: i16 = 416;
    /// The interrupted context: 0 a thread, 1 a soft interrupt, 2 an interrupt.
    pub const LEVEL: i16 = 424;
    /// The half of the aggregations' maps that this run uses.
    pub const HALF: i16 = 432;
    /// Address of this CPU's count of interrupts, or 0.
    pub const INTERRUPTS: i16 = 440;
    /// Address of this CPU's time in interrupts in nanoseconds, or 0.
    pub const IRQ_TIME: i16 = 448;
    /// Offset of the scheduler's clock from the event's clock in [`crate::memory::Map::Clocks`].
    pub const CLOCK: i16 = 456;
    /// The CPU's id.
    pub const CPU: i16 = 464;
    /// The number of this value, which is the first part of an aggregation's keys.
    pub const NUMBER: i16 = 472;
    /// Rest of the key being written.
    pub const KEY: u32 = 480;
}

/// Header of a record for a speculation: a record's header, what to do, the speculation, and its generation.
pub mod wrapper {
    /// Size of the header in bytes.
    pub const SIZE: u32 = 32;
    /// Replaces the id of an enabling.
    pub const EPID: u32 = u32::MAX - 1;
    /// A record follows, and is held back.
    pub const ADD: i32 = 0;
    /// The held records go to the consumer.
    pub const COMMIT: i32 = 1;
    /// The held records are dropped.
    pub const DISCARD: i32 = 2;
}

/// Offsets in the globals that do not depend on the program.
pub mod globals {
    /// State of the session, as in `enum kinst_state`, and the status of exit(); 8 bytes each.
    pub const STATE: u32 = 0;
    /// Argument of exit().
    pub const STATUS: u32 = 8;
    /// Offset of atomic time (TAI) from the wall clock.
    pub const AHEAD: u32 = 16;
    /// The half of the aggregations' maps to be written.
    pub const HALF: u32 = 24;
    /// Variables of the program, on separate cache lines from these words.
    pub const FIRST: u32 = super::LINE;
    /// The state in which clauses run.
    pub const ACTIVE: i32 = kinst_base::uapi::State::ACTIVE.0 as i32;
    /// The state after exit(): only END runs.
    pub const DRAINING: i32 = kinst_base::uapi::State::DRAINING.0 as i32;
}
