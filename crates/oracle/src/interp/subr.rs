//! oracle/interp/subr.rs: the subroutines of `call`: strings, numbers, addresses.

use super::cpu::Cpu;
use super::json;
use super::machine::{Space, Trouble};
use crate::verify::subr_rule;
use kinst_base::uapi::Flt;
use kinst_dif::insn::Subr;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The maximum number of bytes that memstr() makes a string from.
const MEMSTR_MAX: u64 = 4096;
/// Address families, as Linux numbers them.
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;

impl Cpu<'_> {
    /// Calls a subroutine with the arguments on the tuple stack.
    pub(super) fn call(&mut self, subr: Subr) -> Result<u64, Trouble> {
        let rule = subr_rule(subr).ok_or(Flt::ILLOP)?;
        let arguments: Vec<u64> = self.tuple.iter().map(|pushed| pushed.value).collect();
        if arguments.len() < usize::from(rule.min) {
            return Err(Flt::ILLOP.into());
        }
        let first = arguments.first().copied().unwrap_or_default();
        match subr {
            Subr::Rand | Subr::Progenyof | Subr::Speculation | Subr::DPath => {
                Ok(self.machine.system(subr, &arguments)?)
            }
            Subr::MutexOwned | Subr::MutexOwner | Subr::MutexTypeAdaptive | Subr::MutexTypeSpin => {
                Ok(self.machine.system(subr, &arguments)?)
            }
            Subr::RwReadHeld | Subr::RwWriteHeld | Subr::RwIswriter => {
                Ok(self.machine.system(subr, &arguments)?)
            }
            // A dev_t as in the kernel: 12 bits and 20 bits.
            Subr::Getmajor => Ok(u64::from(first as u32 >> 20)),
            Subr::Getminor => Ok(first & 0xf_ffff),
            Subr::Htons | Subr::Ntohs => Ok(u64::from((first as u16).to_be())),
            Subr::Htonl | Subr::Ntohl => Ok(u64::from((first as u32).to_be())),
            Subr::Htonll | Subr::Ntohll => Ok(first.to_be()),
            Subr::Alloca | Subr::Bcopy | Subr::Copyin | Subr::Copyinstr | Subr::Copyinto => {
                self.copying(subr, &arguments)
            }
            Subr::Copyout | Subr::Copyoutstr => self.copying_out(subr, &arguments),
            Subr::InetNtop | Subr::InetNtoa | Subr::InetNtoa6 => self.internet(subr, &arguments),
            Subr::LinkNtop => self.link(first, second(&arguments)),
            Subr::Strchr | Subr::Strrchr | Subr::Strstr | Subr::Index | Subr::Rindex => {
                self.searching(subr, &arguments)
            }
            Subr::Strtok => self.strtok(first, second(&arguments)),
            Subr::Memref => {
                let room = self.memory.allocate(16)?;
                let pair = [first.to_le_bytes(), second(&arguments).to_le_bytes()].concat();
                self.memory.store(room, &pair).map(|()| room)
            }
            Subr::Json => {
                let (text, path) = (self.text(first)?, self.text(second(&arguments))?);
                json::find(&text, &path).map_or(Ok(0), |value| self.new_text(value))
            }
            Subr::Strlen => {
                let strsize = u64::from(self.memory.strsize);
                Ok(self.memory.string(self.machine, Space::Kernel, first, strsize)?.len() as u64)
            }
            Subr::Memstr => {
                self.memstr(first, second(&arguments), arguments.get(2).copied().unwrap_or_default())
            }
            Subr::Strtoll => {
                let base = base(arguments.get(1))?;
                Ok(parse_number(&self.text(first)?, base) as u64)
            }
            Subr::Lltostr => {
                let text = number_text(first as i64, base(arguments.get(1))?);
                self.new_text(&text)
            }
            _ => {
                let text = self.transformed(subr, &arguments)?;
                self.new_text(&text)
            }
        }
    }

    /// Makes a string from a string.
    fn transformed(&mut self, subr: Subr, arguments: &[u64]) -> Result<Vec<u8>, Trouble> {
        let first = self.text(arguments.first().copied().unwrap_or_default())?;
        let text = match subr {
            Subr::Strjoin => [first, self.text(second(arguments))?].concat(),
            Subr::Substr => {
                let length = arguments.get(2).map(|length| *length as i64);
                substring(&first, second(arguments) as i64, length)
            }
            Subr::Toupper => first.to_ascii_uppercase(),
            Subr::Tolower => first.to_ascii_lowercase(),
            Subr::Basename => basename(&first),
            Subr::Dirname => dirname(&first),
            Subr::Cleanpath => cleanpath(&first),
            _ => return Err(Flt::ILLOP.into()),
        };
        Ok(text)
    }

    fn copying(&mut self, subr: Subr, arguments: &[u64]) -> Result<u64, Trouble> {
        let (first, second) = (arguments.first().copied().unwrap_or_default(), second(arguments));
        let third = arguments.get(2).copied().unwrap_or_default();
        match subr {
            Subr::Alloca => self.memory.allocate(first),
            Subr::Bcopy => self.copy(first, third, second).map(|()| 0),
            Subr::Copyin => {
                let room = self.memory.allocate(second)?;
                let bytes = self.memory.load(self.machine, Space::User, first, second)?;
                self.memory.store(room, &bytes).map(|()| room)
            }
            Subr::Copyinstr => {
                let strsize = u64::from(self.memory.strsize);
                let limit = if arguments.len() > 1 { second.min(strsize) } else { strsize };
                let text = self.memory.string(self.machine, Space::User, first, limit.saturating_sub(1))?;
                self.new_text(&text)
            }
            _ => {
                self.memory.check_storable(third, second)?;
                let bytes = self.memory.load(self.machine, Space::User, first, second)?;
                self.memory.store(third, &bytes).map(|()| 0)
            }
        }
    }

    /// Makes a string of bytes: replaces each NUL but the last.
    fn memstr(&mut self, from: u64, filler: u64, size: u64) -> Result<u64, Trouble> {
        if size == 0 {
            return Ok(0);
        }
        if size > MEMSTR_MAX {
            return Err(Flt::ILLOP.into());
        }
        let mut text = self.memory.load(self.machine, Space::Kernel, from, size - 1)?;
        text.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = filler as u8);
        self.memory.new_string(&text)
    }

    fn copying_out(&mut self, subr: Subr, arguments: &[u64]) -> Result<u64, Trouble> {
        let (from, to) = (arguments.first().copied().unwrap_or_default(), second(arguments));
        let size = arguments.get(2).copied().unwrap_or_default();
        let bytes = if subr == Subr::Copyout {
            self.memory.load(self.machine, Space::Kernel, from, size)?
        } else {
            let limit = size.min(u64::from(self.memory.strsize));
            if limit == 0 {
                return Ok(0);
            }
            let mut text = self.memory.string(self.machine, Space::Kernel, from, limit - 1)?;
            text.push(0);
            text
        };
        if self.machine.write_user(to, &bytes) {
            Ok(0)
        } else {
            Err(Trouble { code: Flt::BADADDR, value: to })
        }
    }

    fn internet(&mut self, subr: Subr, arguments: &[u64]) -> Result<u64, Trouble> {
        let first = arguments.first().copied().unwrap_or_default();
        let (v6, address) = match (subr, first) {
            (Subr::InetNtoa, _) => (false, first),
            (Subr::InetNtoa6, _) => (true, first),
            (_, AF_INET) => (false, second(arguments)),
            (_, AF_INET6) => (true, second(arguments)),
            _ => return Err(Flt::ILLOP.into()),
        };
        let bytes = self.memory.load(self.machine, Space::Kernel, address, if v6 { 16 } else { 4 })?;
        let text = match (bytes.first_chunk::<16>(), bytes.first_chunk::<4>()) {
            (Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, v4 @ ..]), _) if v4[..2] != [0, 0] => {
                format!("::{}", Ipv4Addr::from(*v4))
            }
            (Some(bytes), _) => Ipv6Addr::from(*bytes).to_string(),
            (None, Some(bytes)) => Ipv4Addr::from(*bytes).to_string(),
            (None, None) => return Err(Flt::ILLOP.into()),
        };
        self.new_text(text.as_bytes())
    }

    /// Formats the address of an Ethernet or InfiniBand interface; `kind` is its ARPHRD_* number.
    fn link(&mut self, kind: u64, address: u64) -> Result<u64, Trouble> {
        let size = match kind as u32 {
            1 => 6,
            32 => 20,
            _ => return Err(Flt::ILLOP.into()),
        };
        let bytes = self.memory.load(self.machine, Space::Kernel, address, size)?;
        let text: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.new_text(text.join(":").as_bytes())
    }

    /// Searches a string; strchr, strrchr and strstr return an address in it.
    fn searching(&mut self, subr: Subr, arguments: &[u64]) -> Result<u64, Trouble> {
        let first = arguments.first().copied().unwrap_or_default();
        let text = self.text(first)?;
        let found = match subr {
            Subr::Strchr | Subr::Strrchr => {
                let wanted = second(arguments) as u8;
                // The NUL counts as part of the string here.
                let mut bytes = text.iter().chain(std::iter::once(&0));
                if subr == Subr::Strchr {
                    bytes.position(|byte| *byte == wanted)
                } else {
                    bytes.enumerate().filter(|(_, byte)| **byte == wanted).last().map(|(at, _)| at)
                }
            }
            _ => {
                let wanted = self.text(second(arguments))?;
                let from = arguments.get(2).map(|from| *from as i64);
                match subr {
                    Subr::Rindex => find_last(&text, &wanted, from),
                    _ => find_first(&text, &wanted, from.unwrap_or(0)),
                }
            }
        };
        match subr {
            Subr::Index | Subr::Rindex => Ok(found.map_or(u64::MAX, |at| at as u64)),
            _ => Ok(found.map_or(0, |at| first.wrapping_add(at as u64))),
        }
    }

    /// Returns the next token. A NULL `text` continues after the last one; the result is NULL if there are no
    /// more tokens. All strsize bytes of a string count; the rest of a token that is too long is the next
    /// token.
    fn strtok(&mut self, text: u64, delimiters: u64) -> Result<u64, Trouble> {
        let whole = u64::from(self.memory.strsize);
        let start = if text == 0 { self.memory.token } else { Some((text, whole)) };
        let Some((start, room)) = start else {
            return Ok(0);
        };
        let delimiters = self.text(delimiters)?;
        let text = self.memory.string(self.machine, Space::Kernel, start, room)?;
        let is_delimiter = |byte: &u8| delimiters.contains(byte);
        let Some(from) = text.iter().position(|byte| !is_delimiter(byte)) else {
            self.memory.token = None;
            return Ok(0);
        };
        let most = self.memory.strsize as usize - 1;
        let rest = text.iter().skip(from).take(most).copied();
        let token: Vec<u8> = rest.take_while(|byte| !is_delimiter(byte)).collect();
        let end = from + token.len();
        let read = end as u64;
        self.memory.token = (end < text.len()).then(|| (start.wrapping_add(read), room - read));
        self.new_text(&token)
    }

    /// Reads the string at an address, of at most strsize bytes including its NUL.
    fn text(&mut self, address: u64) -> Result<Vec<u8>, Trouble> {
        let limit = u64::from(self.memory.strsize) - 1;
        self.memory.string(self.machine, Space::Kernel, address, limit)
    }

    /// Makes a string in scratch memory, of at most strsize bytes including its NUL.
    fn new_text(&mut self, text: &[u8]) -> Result<u64, Trouble> {
        let limit = self.memory.strsize as usize - 1;
        self.memory.new_string(text.get(..limit).unwrap_or(text))
    }
}

fn second(arguments: &[u64]) -> u64 {
    arguments.get(1).copied().unwrap_or_default()
}

fn base(argument: Option<&u64>) -> Result<u64, Trouble> {
    let base = argument.copied().unwrap_or(10);
    if (2..=36).contains(&base) { Ok(base) } else { Err(Flt::ILLOP.into()) }
}

/// Formats a number: signed in base 10, else unsigned; bases 8 and 16 have a prefix.
fn number_text(value: i64, base: u64) -> Vec<u8> {
    let (sign, mut rest) =
        if base == 10 && value < 0 { ("-", value.unsigned_abs()) } else { ("", value as u64) };
    let mut digits = Vec::new();
    while rest > 0 {
        digits.extend(char::from_digit((rest % base) as u32, base as u32));
        rest /= base;
    }
    let prefix = match base {
        16 => "0x",
        8 => "0",
        _ => "",
    };
    if digits.is_empty() && base != 8 {
        digits.push('0');
    }
    let text: String = sign.chars().chain(prefix.chars()).chain(digits.into_iter().rev()).collect();
    text.into_bytes()
}

/// Parses blanks, a sign, 0x in base 16, and digits; wraps on overflow.
fn parse_number(text: &[u8], base: u64) -> i64 {
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | 9..=13)).count();
    let text = text.get(blanks..).unwrap_or_default();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let text = match text {
        [b'0', b'x' | b'X', rest @ ..] if base == 16 => rest,
        _ => text,
    };
    let digits = text.iter().map_while(|byte| char::from(*byte).to_digit(base as u32));
    let value = digits.fold(0u64, |value, digit| value.wrapping_mul(base).wrapping_add(u64::from(digit)));
    if negative { value.wrapping_neg() as i64 } else { value as i64 }
}

/// Returns a substring. A negative start counts from the end; a negative length cuts that many bytes off the end.
fn substring(text: &[u8], start: i64, length: Option<i64>) -> Vec<u8> {
    let size = text.len() as i64;
    let from = if start < 0 { start.saturating_add(size) } else { start };
    let end = match length {
        None => size,
        // A substring that starts before the string cannot end relative to its end.
        Some(length) if length < 0 && from < 0 => return Vec::new(),
        Some(length) if length < 0 => size.saturating_add(length),
        Some(length) => from.saturating_add(length).min(size),
    };
    let from = from.max(0);
    if from >= end { Vec::new() } else { text.get(from as usize..end as usize).unwrap_or_default().to_vec() }
}

/// Returns the first position at or after `from`.
fn find_first(text: &[u8], wanted: &[u8], from: i64) -> Option<usize> {
    let from = from.clamp(0, text.len() as i64) as usize;
    (from..=text.len()).find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(wanted)))
}

/// Returns the last position at or before `from`.
fn find_last(text: &[u8], wanted: &[u8], from: Option<i64>) -> Option<usize> {
    let from = from.unwrap_or(i64::MAX).min(text.len() as i64);
    if from < 0 {
        return wanted.is_empty().then_some(0);
    }
    (0..=from as usize).rev().find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(wanted)))
}

/// Like basename(3) of POSIX.
fn basename(path: &[u8]) -> Vec<u8> {
    let trimmed = trim_slashes(path);
    match (path, trimmed) {
        ([], _) => b".".to_vec(),
        (_, []) => b"/".to_vec(),
        _ => trimmed.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec(),
    }
}

/// Like dirname(3) of POSIX.
fn dirname(path: &[u8]) -> Vec<u8> {
    let trimmed = trim_slashes(path);
    match trimmed.iter().rposition(|byte| *byte == b'/') {
        _ if trimmed.is_empty() && !path.is_empty() => b"/".to_vec(),
        None => b".".to_vec(),
        Some(slash) => match trim_slashes(trimmed.get(..slash).unwrap_or_default()) {
            [] => b"/".to_vec(),
            parent => parent.to_vec(),
        },
    }
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

/// Removes `//`, `/./` and `/x/../`. A trailing slash or `/.` stays, and a relative path stays relative.
fn cleanpath(path: &[u8]) -> Vec<u8> {
    let relative = path.first().is_some_and(|byte| *byte != b'/');
    let mut components = path.split(|byte| *byte == b'/');
    let mut clean = components.next().unwrap_or_default().to_vec();
    let mut components = components.peekable();
    while let Some(name) = components.next() {
        let last = components.peek().is_none();
        let is_parent = clean == b".." || clean.ends_with(b"/..");
        match name {
            b"" | b"." if !last => {}
            b".." if !relative || !clean.is_empty() && !is_parent => {
                let slash = clean.iter().rposition(|byte| *byte == b'/');
                clean.truncate(slash.unwrap_or(0));
                if last && (!relative || !clean.is_empty()) {
                    clean.push(b'/');
                }
            }
            _ => {
                if !relative || !clean.is_empty() {
                    clean.push(b'/');
                }
                clean.extend(name);
            }
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_text_and_back() {
        let text = |value, base| String::from_utf8(number_text(value, base)).unwrap();
        assert_eq!(text(0, 10), "0");
        assert_eq!(text(i64::MIN, 10), "-9223372036854775808");
        assert_eq!(text(0, 16), "0x0");
        assert_eq!(text(255, 16), "0xff");
        assert_eq!(text(0, 8), "0");
        assert_eq!(text(8, 8), "010");
        assert_eq!(text(-1, 2), "1".repeat(64));
        assert_eq!(parse_number(b"  -12z", 10), -12);
        assert_eq!(parse_number(b"0xfF", 16), 255);
        assert_eq!(parse_number(b"", 10), 0);
    }

    #[test]
    fn searching_and_cutting() {
        assert_eq!(find_first(b"abcabc", b"bc", 2), Some(4));
        assert_eq!(find_first(b"abc", b"", 9), Some(3));
        assert_eq!(find_last(b"abcabc", b"abc", Some(2)), Some(0));
        assert_eq!(find_last(b"abc", b"x", None), None);
        assert_eq!(substring(b"abcdef", 2, None), b"cdef");
        assert_eq!(substring(b"abcdef", -2, None), b"ef");
        assert_eq!(substring(b"abcdef", 1, Some(-2)), b"bcd");
        assert_eq!(substring(b"abcdef", -9, Some(5)), b"ab");
        assert_eq!(substring(b"abcdef", i64::MIN, Some(i64::MIN)), b"");
    }

    #[test]
    fn paths() {
        let cases: [(&[u8], &[u8], &[u8]); 7] = [
            (b"", b".", b"."),
            (b"/", b"/", b"/"),
            (b"//", b"/", b"/"),
            (b"a", b"a", b"."),
            (b"/a", b"a", b"/"),
            (b"a/b//", b"b", b"a"),
            (b"/a//b", b"b", b"/a"),
        ];
        for (path, base, directory) in cases {
            assert_eq!(basename(path), base);
            assert_eq!(dirname(path), directory);
        }
        assert_eq!(cleanpath(b"/a/./b//../c"), b"/a/c");
        assert_eq!(cleanpath(b"/../a"), b"/a");
        assert_eq!(cleanpath(b"/a//b/"), b"/a/b/");
        assert_eq!(cleanpath(b"/a/.."), b"/");
        assert_eq!(cleanpath(b"/a/b/.."), b"/a/");
        assert_eq!(cleanpath(b"../a/../b"), b"../b");
        assert_eq!(cleanpath(b"a/../.."), b"..");
    }
}
