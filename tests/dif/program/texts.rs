//! program/texts.rs: expressions whose value is a string.

use super::Writer;
use kinst::dif::insn::{Opcode, Reg, Subr};

impl Writer<'_> {
    pub(super) fn string(&mut self, rd: Reg, depth: usize) {
        if depth == 0 || rd > 4 {
            return self.simple_string(rd);
        }
        match self.random.below(8) {
            0 => self.simple_string(rd),
            1 => self.element(rd, &[3]),
            2 => self.address_text(rd),
            _ => self.string_call(rd, depth),
        }
    }

    fn simple_string(&mut self, rd: Reg) {
        if self.random.one_in(3) {
            let variable = self.random.pick(&[1, 8]);
            return self.asm.load_scalar(&self.variables[variable], rd);
        }
        // NULL and unassigned thread-local variables are rare: most uses of them fault.
        match self.random.below(40) {
            0 => self.asm.mov(0, rd),
            1..=3 => self.asm.load_scalar(&self.variables[5], rd),
            _ => {
                let text = self.random.text();
                self.asm.sets(&text, rd);
            }
        }
    }

    /// rd = an Internet address as a string, from bytes in scratch memory.
    fn address_text(&mut self, rd: Reg) {
        self.asm.setx(16, rd);
        self.asm.two(Opcode::Allocs, rd, rd);
        let value = self.random.next();
        self.asm.setx(value, rd + 1);
        self.asm.store(Opcode::Stx, rd + 1, rd);
        if self.random.one_in(2) {
            return self.call(Subr::InetNtoa, rd, "n");
        }
        if self.random.one_in(2) {
            // The other half, so that runs of zeroes vary.
            self.asm.setx(8, rd + 2);
            self.asm.three(Opcode::Add, rd, rd + 2, rd + 2);
            let value = self.random.next() & self.random.next() << 32;
            self.asm.setx(value, rd + 1);
            self.asm.store(Opcode::Stx, rd + 1, rd + 2);
        }
        self.call(Subr::InetNtoa6, rd, "n");
    }

    fn string_call(&mut self, rd: Reg, depth: usize) {
        use Subr::*;
        match self.random.below(8) {
            6 => self.json(rd, depth),
            7 => {
                self.bytes(rd + 1, depth - 1);
                let kind = self.random.pick(&[1, 1, 1, 1, 2]);
                self.asm.setx(kind, rd);
                self.call(LinkNtop, rd, "nn");
            }
            0 => {
                self.string(rd, depth - 1);
                self.string(rd + 1, depth - 1);
                self.call(Strjoin, rd, "ss");
            }
            1 => {
                self.string(rd, depth - 1);
                // At most the shortest strsize below the start.
                let start = (self.random.below(20) as u64).wrapping_sub(8);
                self.asm.setx(start, rd + 1);
                if self.random.one_in(2) {
                    return self.call(Substr, rd, "sn");
                }
                let length = (self.random.below(20) as u64).wrapping_sub(6);
                self.asm.setx(length, rd + 2);
                self.call(Substr, rd, "snn");
            }
            2 => {
                self.number(rd, depth - 1);
                let base = self.random.pick(&[10, 10, 2, 8, 16, 36, 37]);
                self.asm.setx(base, rd + 1);
                self.call(Lltostr, rd, "nn");
            }
            3 => self.tokens(rd, depth),
            4 => self.found(rd, depth),
            _ => {
                let subr = self.random.pick(&[Toupper, Tolower, Basename, Dirname, Cleanpath, Cleanpath]);
                self.string(rd, depth - 1);
                self.call(subr, rd, "s");
            }
        }
    }

    /// rd = a value from a string that is mostly JSON; a missing one becomes a constant.
    fn json(&mut self, rd: Reg, depth: usize) {
        const TEXTS: [&[u8]; 5] = [
            br#"{"a":1,"b":{"c":[10,{"a":"x\"}"},[3]]}}"#,
            br#" [ {"a" : null , "b":"" }, -2.5e3, "]" ]"#,
            br#"{"a":{"a":{"a":[[[7]]]}}}"#,
            br#"{"a":"b"#,
            br#"{"":5,"a" 6}"#,
        ];
        const PATHS: [&[u8]; 12] = [
            b"a",
            b"b.c[1].a",
            b"b.c[2]",
            b"[0].a",
            b"[1]",
            b"[2]",
            b"a.a.a[0][0][0]",
            b"",
            b"[3]",
            b"b",
            b"a.]",
            b"[x]",
        ];
        if self.random.one_in(6) {
            self.string(rd, depth - 1);
        } else {
            let mut text = self.random.pick(&TEXTS).to_vec();
            if self.random.one_in(4) {
                let place = self.random.below(text.len());
                text[place] = self.random.pick(b"{}[]\",:\\ a1");
            }
            self.asm.sets(&text, rd);
        }
        let path = self.random.pick(&PATHS);
        self.asm.sets(path, rd + 1);
        self.call(Subr::Json, rd, "ss");
        self.or_constant(rd);
    }

    /// rd = the first or second token; a missing one becomes a constant.
    fn tokens(&mut self, rd: Reg, depth: usize) {
        self.string(rd, depth - 1);
        self.asm.sets(b",;/ b", rd + 1);
        self.call(Subr::Strtok, rd, "ss");
        if self.random.one_in(2) {
            self.asm.mov(0, rd);
            self.call(Subr::Strtok, rd, "ns");
        }
        self.or_constant(rd);
    }

    fn found(&mut self, rd: Reg, depth: usize) {
        self.string(rd, depth - 1);
        if self.random.one_in(2) {
            self.string(rd + 1, depth - 1);
            self.call(Subr::Strstr, rd, "ss");
        } else {
            let subr = self.random.pick(&[Subr::Strchr, Subr::Strrchr]);
            let wanted = self.random.pick(b"abc/ \0");
            self.asm.setx(u64::from(wanted), rd + 1);
            self.call(subr, rd, "sn");
        }
        self.or_constant(rd);
    }

    pub(super) fn or_constant(&mut self, rd: Reg) {
        let end = self.asm.label();
        self.asm.tst(rd);
        self.asm.branch(Opcode::Bne, end);
        self.asm.sets(b"(none)", rd);
        self.asm.bind(end);
        self.asm.plain(Opcode::Nop);
    }
}
