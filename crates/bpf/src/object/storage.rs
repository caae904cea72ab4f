//! bpf/object/storage.rs: variables of D programs, with a fixed place or in a map with keys.
//!
//! A value by reference is copied when it is assigned; the variable's value is the address of the copy.

use super::function::{COPY, Object};
use crate::asm::Label;
use crate::insn::Reg::{self, Frame, R0, R1, R2, R3, R4, R7, R8};
use crate::insn::{Cond, Helper, Width};
use crate::memory::{Dynamic, HeldIn, Map, Static, cpu};
use crate::missing::Missing;
use crate::tuple::{Key, Pushed};
use kinst_base::uapi::Flt;
use kinst_dif::Scope;

impl Object<'_, '_> {
    /// Points R1 at the place of a variable.
    fn place(&mut self, variable: Static) {
        match variable.held_in {
            HeldIn::Globals => self.asm.map_value(R1, Map::Globals as u32, variable.at),
            HeldIn::Cpu => {
                self.asm.point(R1, variable.at);
            }
        }
    }

    /// Converts the pointer in a register to a number.
    fn number(&mut self, pointer: Reg) {
        self.asm.store(Width::Double, R7, cpu::ADDRESS, pointer);
        self.asm.load(Width::Double, pointer, R7, cpu::ADDRESS);
    }

    /// Loads a variable into R1. The word before a copy says whether the variable is 0 instead.
    pub(super) fn load_static(&mut self, scope: Scope, id: u32) -> Result<(), Missing> {
        let variable = self.shared.memory.variable(scope, id).ok_or(Missing::Invalid)?;
        self.place(variable);
        if variable.copy.is_none() {
            self.asm.load(Width::Double, R1, R1, 0);
            return Ok(());
        }
        let (null, done) = (self.asm.label(), self.asm.label());
        self.asm.load(Width::Double, R2, R1, 0);
        self.asm.branch(Cond::Ne, R2, 0, null);
        self.asm.add(R1, 8);
        self.number(R1);
        self.asm.jump(done);
        self.asm.bind(null);
        self.asm.mov(R1, 0);
        self.asm.bind(done);
        Ok(())
    }

    pub(super) fn store_static(&mut self, scope: Scope, id: u32, rs: u8) -> Result<(), Missing> {
        let variable = self.shared.memory.variable(scope, id).ok_or(Missing::Invalid)?;
        let Some((size, string)) = variable.copy else {
            self.place(variable);
            self.get(R2, rs);
            self.asm.store(Width::Double, R1, 0, R2);
            return Ok(());
        };
        let (null, done) = (self.asm.label(), self.asm.label());
        self.get(R8, rs);
        self.place(variable);
        self.asm.branch(Cond::Eq, R8, 0, null);
        self.asm.store(Width::Double, R1, 0, 0);
        self.asm.add(R1, 8);
        self.fetch(size, string);
        self.asm.jump(done);
        self.asm.bind(null);
        self.asm.store(Width::Double, R1, 0, 1);
        self.asm.bind(done);
        Ok(())
    }

    /// Copies `size` bytes or a string from R8 to the address in R1.
    fn fetch(&mut self, size: u32, string: bool) {
        self.asm.mov(R2, size as i32);
        self.asm.mov(R3, R8);
        self.asm.call(if string { Helper::ProbeReadKernelStr } else { Helper::ProbeReadKernel });
        let bad = self.fault(Flt::BADADDR);
        self.asm.mov(R1, R8);
        self.asm.branch(Cond::SignedLt, R0, 0, bad);
    }

    /// Points R1 at an offset of the key under construction.
    fn key_place(&mut self, at: u32) {
        self.asm.point(R1, self.shared.memory.dynamic_key + at);
    }

    /// Appends the pushed value in R1 to the key of an array.
    pub(super) fn push_key(&mut self, entry: Pushed) -> Result<(), Missing> {
        let strsize = self.shared.memory.strsize;
        let entries: Vec<Pushed> = self.tuple.iter().copied().chain([entry]).collect();
        let key = Key::new(&entries, strsize)?;
        let (at, size) = key.places.last().copied().ok_or(Missing::Invalid)?;
        self.asm.mov(R8, R1);
        match entry {
            Pushed::Number => {
                self.key_place(at);
                self.asm.store(Width::Double, R1, 0, R8);
            }
            Pushed::String(limit) => {
                self.asm.clear(self.shared.memory.dynamic_key + at, size.next_multiple_of(8));
                let limit = if limit == 0 { size } else { size.min(limit.try_into().unwrap_or(size)) };
                self.key_place(at);
                self.fetch(limit, true);
            }
            Pushed::Bytes(_) => {
                self.asm.clear(self.shared.memory.dynamic_key + at, size.next_multiple_of(8));
                self.key_place(at);
                self.fetch(size, false);
            }
        }
        Ok(())
    }

    /// Completes the key with the thread, if the variable is thread-local.
    fn finish_key(&mut self, dynamic: &Dynamic) {
        let Some(at) = dynamic.thread else { return };
        self.asm.call(Helper::GetCurrentTask);
        // Interrupt handlers have separate variables from the thread that they interrupt. Tasks are aligned,
        // so the level fits into the low bits.
        self.asm.load(Width::Double, R1, R7, cpu::LEVEL);
        self.asm.add(R0, R1);
        self.key_place(at);
        self.asm.store(Width::Double, R1, 0, R0);
        self.asm.call(Helper::GetCurrentPidTgid);
        self.key_place(at);
        self.asm.store(Width::Double, R1, 8, R0);
    }

    /// Loads a variable into R1; 0 if it has no entry.
    pub(super) fn load_dynamic(&mut self, scope: Scope, id: u32) -> Result<(), Missing> {
        let memory = self.shared.memory;
        let dynamic = memory.dynamic(scope, id).ok_or(Missing::Invalid)?;
        self.finish_key(dynamic);
        self.asm.map(R1, dynamic.map);
        self.key_pointer();
        self.asm.call(Helper::MapLookupElem);
        let done = self.asm.label();
        self.asm.mov(R1, 0);
        self.asm.branch(Cond::Eq, R0, 0, done);
        if dynamic.copy.is_some() {
            self.number(R0);
            self.asm.mov(R8, R0);
            self.note(dynamic);
            self.asm.mov(R1, R8);
        } else {
            self.asm.load(Width::Double, R1, R0, 0);
        }
        self.asm.bind(done);
        Ok(())
    }

    /// Notes the address in R8 with the key, so that a store through the address finds the value again.
    fn note(&mut self, dynamic: &Dynamic) {
        let loaded = self.loaded.entry(dynamic.map).or_default();
        let Some(at) = dynamic.noted.get(*loaded) else { return };
        *loaded += 1;
        self.asm.point(R1, *at);
        self.asm.store(Width::Double, R1, 0, R8);
        self.asm.add(R1, 8);
        self.asm.mov(R2, dynamic.key as i32);
        self.asm.load(Width::Double, R3, R7, cpu::SELF);
        self.asm.add(R3, self.shared.memory.dynamic_key as i32);
        self.asm.call(Helper::ProbeReadKernel);
    }

    fn key_pointer(&mut self) {
        self.asm.point(R2, self.shared.memory.dynamic_key);
    }

    /// Sets a variable. Assigning 0 deletes the entry.
    pub(super) fn store_dynamic(&mut self, scope: Scope, id: u32, rs: u8) -> Result<(), Missing> {
        let memory = self.shared.memory;
        let dynamic = memory.dynamic(scope, id).ok_or(Missing::Invalid)?;
        self.finish_key(dynamic);
        let (free, done) = (self.asm.label(), self.asm.label());
        self.get(R8, rs);
        self.asm.branch(Cond::Eq, R8, 0, free);
        match dynamic.copy {
            None => self.asm.store(Width::Double, Frame, COPY, R8),
            Some((size, string)) => {
                self.value_pointer(R1);
                self.fetch(size, string);
            }
        }
        if !dynamic.noted.is_empty() {
            self.assign_in_place(dynamic, done);
        }
        self.asm.map(R1, dynamic.map);
        self.key_pointer();
        if dynamic.copy.is_some() {
            self.value_pointer(R3);
        } else {
            self.asm.mov(R3, Frame);
            self.asm.add(R3, i32::from(COPY));
        }
        self.update(done);
        self.asm.bind(free);
        self.asm.map(R1, dynamic.map);
        self.key_pointer();
        self.asm.call(Helper::MapDeleteElem);
        self.asm.bind(done);
        Ok(())
    }

    /// Jumps to `done` if the variable has an entry whose value could be assigned in place.
    fn assign_in_place(&mut self, dynamic: &Dynamic, done: Label) {
        let absent = self.asm.label();
        self.asm.map(R1, dynamic.map);
        self.key_pointer();
        self.asm.call(Helper::MapLookupElem);
        self.asm.branch(Cond::Eq, R0, 0, absent);
        self.asm.mov(R1, R0);
        self.asm.mov(R2, dynamic.size() as i32);
        self.asm.load(Width::Double, R3, R7, cpu::SELF);
        self.asm.add(R3, self.shared.memory.dynamic_value as i32);
        self.asm.call(Helper::ProbeReadKernel);
        self.asm.jump(done);
        self.asm.bind(absent);
    }

    fn value_pointer(&mut self, into: Reg) {
        self.asm.point(into, self.shared.memory.dynamic_value);
    }

    /// Updates the map in R1, and counts the assignment as dropped if the map is full.
    fn update(&mut self, done: Label) {
        self.asm.mov(R4, 0);
        self.asm.call(Helper::MapUpdateElem);
        self.asm.branch(Cond::Eq, R0, 0, done);
        self.asm.count(R7, cpu::VARIABLE_DROPS);
        self.asm.jump(done);
    }
}
