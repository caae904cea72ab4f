//! bpf/library/system.rs: locks, paths, a thread's run time, and memory and registers of its process.

use super::function::{Function, Lib};
use crate::asm::Label;
use crate::insn::Reg::{Frame, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use crate::insn::{Alu, Cond, Helper, Width};
use crate::memory::{Map, OWN_FRAMES, cpu};
use kinst_base::uapi::Flt;

/// Mask of an owner word: its lowest bits are flags, not address.
const OWNER: i32 = -8;
/// The lowest bit of a semaphore's count marks a writer; above these bits is the number of readers.
const WRITTEN: i32 = 1;
const READERS: i32 = 8;

/// The maximum number of path components, mounts included, that d_path() examines.
const COMPONENTS: u32 = 256;
/// Words of a path: the parent directory, the parent mount, the name's length, the name, where the text
/// begins, and whether it is complete.
const ABOVE: i16 = 0;
const MOUNT: i16 = 1;
const LENGTH: i16 = 2;
const NAME: i16 = 3;
const BEGIN: i16 = 4;
const WHOLE: i16 = 5;

/// Words of a thread's time: the accounted time, and since when. They are read at most `READINGS` times.
const SUM: i16 = 0;
const START: i16 = 1;
const READINGS: u32 = 4;
/// Slot of an event's count: its value, and the times it was enabled and running.
const COUNTED: i16 = -88;
/// A flag of [`Helper::PerfEventReadValue`]: this CPU's event.
const THIS_CPU: u64 = 0xffff_ffff;

impl Lib<'_> {
    pub(super) fn mutex_owner(&mut self) {
        self.argument(R6, 0);
        self.load_member(R0, R6, self.memory.kernel.locks.mutex_owner, Width::Double);
        self.asm.alu(Alu::And, R0, OWNER);
        self.asm.exit();
    }

    pub(super) fn mutex_owned(&mut self) {
        self.argument(R1, 0);
        self.call(Function::MutexOwner);
        self.asm.mov(R6, R0);
        self.asm.call(Helper::GetCurrentTask);
        self.branch(Cond::Ne, R0, R6, self.none);
        self.asm.mov(R0, 1);
        self.asm.exit();
    }

    /// Loads the count of the semaphore in the first argument into R9; `None` with PREEMPT_RT.
    fn rwsem(&mut self) -> Option<u16> {
        let (count, owner) = self.memory.kernel.locks.rwsem?;
        self.argument(R6, 0);
        self.load_member(R9, R6, count, Width::Double);
        Some(owner)
    }

    /// The count is a number of readers unless it is negative.
    pub(super) fn rw_read_held(&mut self) {
        if self.rwsem().is_some() {
            self.branch(Cond::SignedLt, R9, 0, self.none);
            self.asm.alu(Alu::Rsh, R9, READERS);
            self.branch(Cond::Eq, R9, 0, self.none);
            self.asm.mov(R0, 1);
            self.asm.exit();
        }
    }

    pub(super) fn rw_write_held(&mut self) {
        if self.rwsem().is_some() {
            self.asm.alu(Alu::And, R9, WRITTEN);
            self.give(R9);
        }
    }

    pub(super) fn rw_iswriter(&mut self) {
        if let Some(owner) = self.rwsem() {
            self.asm.alu(Alu::And, R9, WRITTEN);
            self.branch(Cond::Eq, R9, 0, self.none);
            self.load_member(R9, R6, owner, Width::Double);
            self.asm.alu(Alu::And, R9, OWNER);
            self.asm.call(Helper::GetCurrentTask);
            self.branch(Cond::Ne, R0, R9, self.none);
            self.asm.mov(R0, 1);
            self.asm.exit();
        }
    }

    /// The time accounted by the scheduler plus the time since, without interrupts. It is read again if the
    /// scheduler accounts in between. For an idle thread, nothing is accounted since Linux 6.12: its time is the clock.
    pub(super) fn vtimestamp(&mut self) {
        let (task, since) = (self.asm.label(), self.asm.label());
        let times = self.memory.kernel.times;
        self.asm.call(Helper::GetCurrentTask);
        self.asm.mov(R6, R0);
        self.repeat(READINGS, |lib, _, end| {
            lib.load_member(R1, R6, times.sum_exec_runtime, Width::Double);
            lib.set_word(SUM, R1);
            lib.load_member(R1, R6, times.exec_start, Width::Double);
            lib.set_word(START, R1);
            lib.scheduler_clock();
            lib.load_member(R1, R6, times.sum_exec_runtime, Width::Double);
            lib.word(R2, SUM);
            lib.branch(Cond::Eq, R1, R2, end);
        });
        self.asm.call(Helper::GetCurrentPidTgid);
        self.branch(Cond::Ne, R0, 0, task);
        self.asm.mov(R0, R9);
        self.asm.exit();
        self.asm.bind(task);
        self.branch(Cond::Eq, R9, 0, since);
        self.word(R1, START);
        self.asm.alu(Alu::Sub, R9, R1);
        self.branch(Cond::SignedGe, R9, 0, since);
        self.asm.mov(R9, 0);
        self.asm.bind(since);
        self.word(R0, SUM);
        self.asm.add(R0, R9);
        self.asm.exit();
    }

    /// Loads this CPU's scheduler clock into R9, without time in interrupts; 0 if there is none.
    fn scheduler_clock(&mut self) {
        let known = self.asm.label();
        self.asm.mov(R9, 0);
        self.asm.map(R1, Map::Clocks as u32);
        self.asm.number(R2, THIS_CPU);
        self.asm.mov(R3, Frame);
        self.asm.add(R3, i32::from(COUNTED));
        self.asm.mov(R4, 24);
        self.asm.call(Helper::PerfEventReadValue);
        self.branch(Cond::Ne, R0, 0, known);
        self.asm.load(Width::Double, R9, Frame, COUNTED + 8);
        self.asm.load(Width::Double, R1, R7, cpu::CLOCK);
        self.asm.add(R9, R1);
        self.asm.load(Width::Double, R3, R7, cpu::IRQ_TIME);
        self.branch(Cond::Eq, R3, 0, known);
        self.asm.read(COUNTED, 8, known);
        self.asm.load(Width::Double, R1, Frame, COUNTED);
        self.asm.alu(Alu::Sub, R9, R1);
        self.asm.bind(known);
    }

    /// Returns the number of addresses at the top, up to the last one in code that runs programs.
    pub(super) fn own_frames(&mut self) {
        const COUNT: i16 = 0;
        self.set_word(COUNT, 0);
        self.repeat(OWN_FRAMES, |lib, next, _| {
            let own = lib.asm.label();
            lib.asm.mov(R2, R8);
            lib.asm.alu(Alu::Lsh, R2, 3);
            lib.asm.point(R1, lib.memory.frames);
            lib.asm.add(R1, R2);
            lib.asm.load(Width::Double, R1, R1, 0);
            for (start, end) in &lib.memory.own {
                let other = lib.asm.label();
                lib.asm.number(R2, *start);
                lib.branch(Cond::Lt, R1, R2, other);
                lib.asm.number(R2, *end);
                lib.branch(Cond::Lt, R1, R2, own);
                lib.asm.bind(other);
            }
            lib.asm.jump(next);
            lib.asm.bind(own);
            if !lib.memory.own.is_empty() {
                lib.asm.mov(R2, R8);
                lib.asm.add(R2, 1);
                lib.set_word(COUNT, R2);
            }
        });
        self.word(R0, COUNT);
        self.asm.exit();
    }

    /// Loads a register of the process by its offset in `struct pt_regs`; 0 for a kernel thread.
    pub(super) fn user_register(&mut self) {
        self.asm.call(Helper::GetCurrentTask);
        self.asm.mov(R6, R0);
        self.load_member(R9, R6, self.memory.kernel.mm, Width::Double);
        self.branch(Cond::Eq, R9, 0, self.none);
        self.asm.user_registers(R6);
        self.argument(R9, 0);
        self.asm.add(R6, R9);
        self.load_member(R0, R6, 0, Width::Double);
        self.asm.exit();
    }

    /// Writes the R6 bytes at offset R9 of the scratch memory to the process's memory, and frees them.
    fn write_out(&mut self) {
        let bad = self.fault(Flt::BADADDR);
        self.asm.store(Width::Double, R7, cpu::USED, R9);
        self.argument(R1, 1);
        self.scratch(R2);
        self.asm.mov(R3, R6);
        self.asm.call(Helper::ProbeWriteUser);
        self.argument(R1, 1);
        self.branch(Cond::Ne, R0, 0, bad);
        self.asm.jump(self.none);
    }

    pub(super) fn copyout(&mut self) {
        self.argument(R6, 2);
        self.branch(Cond::Lt, R6, 1, self.none);
        self.room();
        self.fill(Helper::ProbeReadKernel, 0);
        self.write_out();
    }

    /// The string ends with a NUL even if it is cut off.
    pub(super) fn copyoutstr(&mut self) {
        let bad = self.fault(Flt::BADADDR);
        let limited = self.asm.label();
        let strsize = self.memory.strsize as i32;
        self.argument(R6, 2);
        self.branch(Cond::Lt, R6, 1, self.none);
        self.branch(Cond::Le, R6, strsize, limited);
        self.asm.mov(R6, strsize);
        self.asm.bind(limited);
        self.room();
        self.scratch(R1);
        self.asm.mov(R2, R6);
        self.argument(R3, 0);
        self.asm.call(Helper::ProbeReadKernelStr);
        self.argument(R1, 0);
        self.branch(Cond::SignedLe, R0, 0, bad);
        self.asm.mov(R6, R0);
        self.write_out();
    }

    /// Builds the name of a struct path backwards, up to the topmost mount; a name that is too long begins
    /// with "...".
    pub(super) fn d_path(&mut self) {
        let paths = self.memory.kernel.paths;
        let last = self.memory.strsize as i32 - 1;
        let (whole, absent) = (self.asm.label(), self.asm.label());
        self.set_word(BEGIN, last);
        self.set_word(WHOLE, 0);
        self.argument(R8, 0);
        self.load_member(R9, R8, paths.path_mnt, Width::Double);
        self.load_member(R6, R8, paths.path_dentry, Width::Double);
        self.repeat(COMPONENTS, |lib, next, end| {
            let (top, component) = (lib.asm.label(), lib.asm.label());
            lib.load_member(R1, R6, paths.parent, Width::Double);
            lib.set_word(ABOVE, R1);
            lib.load_member(R2, R9, paths.mnt_root, Width::Double);
            lib.word(R1, ABOVE);
            lib.branch(Cond::Eq, R6, R2, top);
            lib.branch(Cond::Ne, R6, R1, component);
            lib.asm.bind(top);
            lib.asm.add(R9, -i32::from(paths.mnt));
            lib.load_member(R1, R9, paths.mount_parent, Width::Double);
            lib.set_word(MOUNT, R1);
            lib.branch(Cond::Eq, R1, R9, whole);
            lib.load_member(R6, R9, paths.mountpoint, Width::Double);
            lib.word(R9, MOUNT);
            lib.asm.add(R9, i32::from(paths.mnt));
            lib.asm.jump(next);
            lib.asm.bind(component);
            lib.prepend(end);
            lib.word(R6, ABOVE);
        });
        self.asm.jump(absent);
        self.asm.bind(whole);
        self.set_word(WHOLE, 1);
        self.asm.bind(absent);
        self.give_path(last);
    }

    /// Prepends a slash and the name of the dentry in R6; jumps to `full` if it does not fit.
    fn prepend(&mut self, full: Label) {
        let paths = self.memory.kernel.paths;
        let bad = self.fault(Flt::BADADDR);
        self.load_member(R1, R6, paths.name_len, Width::Word);
        self.set_word(LENGTH, R1);
        self.load_member(R1, R6, paths.name, Width::Double);
        self.set_word(NAME, R1);
        self.word(R2, BEGIN);
        self.word(R4, LENGTH);
        self.branch(Cond::Ge, R4, R2, full);
        self.branch(Cond::Gt, R4, self.memory.strsize as i32, full);
        self.asm.alu(Alu::Sub, R2, R4);
        self.set_word(BEGIN, R2);
        self.point(R1, 0, R2);
        self.asm.mov(R2, R4);
        self.word(R3, NAME);
        self.asm.call(Helper::ProbeReadKernel);
        self.word(R1, NAME);
        self.branch(Cond::Ne, R0, 0, bad);
        self.before(b'/');
    }

    /// Prepends a character.
    fn before(&mut self, character: u8) {
        self.add_word(BEGIN, -1);
        self.point(R2, 0, R1);
        self.asm.store(Width::Byte, R2, 0, i32::from(character));
    }

    /// Returns the text, which ends at `last`.
    fn give_path(&mut self, last: i32) {
        let (known, text) = (self.asm.label(), self.asm.label());
        self.word(R1, WHOLE);
        self.branch(Cond::Ne, R1, 0, known);
        for _ in 0..3 {
            let none = self.asm.label();
            self.word(R1, BEGIN);
            self.branch(Cond::Eq, R1, 0, none);
            self.before(b'.');
            self.asm.bind(none);
        }
        self.asm.bind(known);
        self.word(R1, BEGIN);
        self.branch(Cond::Ne, R1, last, text);
        self.give_character(b'/');
        self.asm.bind(text);
        self.asm.mov(R2, last);
        self.asm.alu(Alu::Sub, R2, R1);
        self.give_text(0);
    }
}
