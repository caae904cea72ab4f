//! The output of kmod/tests/vm/sweep.c, line by line.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The functions of a batch, before it is armed.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Begun {
    pub first: String,
    pub first_at: String,
    pub last: String,
    pub last_at: String,
    pub functions: u32,
    pub probes: u32,
    /// The offset of the last probe's instruction, plus 1.
    pub reach: u64,
}

impl Begun {
    pub(super) fn first_address(&self) -> Result<u64> {
        hex(&self.first_at)
    }

    pub(super) fn last_address(&self) -> Result<u64> {
        hex(&self.last_at)
    }
}

/// The result of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub batch: usize,
    pub first: String,
    pub first_at: String,
    pub last: String,
    pub last_at: String,
    /// The start of the next batch; 0 after the last one.
    pub next_at: String,
    /// Functions done, of the total.
    pub next: u64,
    pub functions: u64,
    pub instructions: u64,
    pub probes: u64,
    pub armed: u64,
    /// The number of probes that have a jump.
    pub jumps: u64,
    /// Probes that fired at least once; 0 where they are not counted.
    pub fired: u64,
    /// Instructions that were refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Functions that were refused completely.
    pub whole: BTreeMap<String, u64>,
    pub names: Vec<(String, String)>,
    pub hits: u64,
    pub nested: u64,
    pub drops: u64,
    pub read_s: f64,
    pub arm_s: f64,
    pub jump_s: f64,
    pub run_s: f64,
    pub disarm_s: f64,
    /// The status of the load, as returned by wait(), and its output.
    pub status: i32,
    pub said: String,
    /// Whether the kernel closed the session, as its status was not read for too long.
    pub killed: bool,
    /// Whether it was too hot to continue: its functions are swept again in smaller batches.
    pub slow: bool,
    /// The number of changed bytes of the text, and the first one.
    pub wrong: u64,
    pub wrong_at: String,
    /// Bytes that differ because the kernel rewrote them itself: jump labels and the like.
    pub rewritten: u64,
    pub sum: String,
}

impl Batch {
    /// The fault of the batch, if it has one.
    pub(super) fn fault(&self) -> Option<String> {
        if self.wrong > 0 {
            return Some(format!(
                "{} bytes of the text are different, from {} on",
                self.wrong, self.wrong_at
            ));
        }
        if self.status != 0 {
            return Some(format!("the load failed: {} (status {:#x})", self.said, self.status));
        }
        if self.slow && self.functions == 1 {
            return Some(format!(
                "too slow with only this function armed: {} hits in {:.0} s",
                self.hits, self.run_s
            ));
        }
        self.killed.then(|| "the session was killed: its consumer could not run for too long".into())
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    // The shorter variant also matches the longer one's line, so it comes second.
    Batch(Box<Batch>),
    Begun(Begun),
    Phase { phase: String },
    Beat { beat: f64, hits: u64 },
    Total { total: u64 },
    End { end: bool },
}

impl Line {
    pub(super) fn parse(text: &str) -> Result<Line> {
        serde_json::from_str(text).with_context(|| format!("unexpected line of the guest's sweep: {text}"))
    }
}

pub(super) fn hex(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).with_context(|| format!("{text} is not an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_what_it_is() {
        let begun = r#"{"begin":3,"first":"a","first_at":"0xffffffff81000000","last":"b","last_at":"0xffffffff81000010","functions":2,"probes":9,"reach":41}"#;
        assert!(
            matches!(Line::parse(begun).unwrap(), Line::Begun(b) if b.first_address().unwrap() == 0xffff_ffff_8100_0000)
        );
        assert!(
            matches!(Line::parse(r#"{"phase":"run"}"#).unwrap(), Line::Phase { phase } if phase == "run")
        );
        assert!(matches!(Line::parse(r#"{"beat":2.5,"hits":7}"#).unwrap(), Line::Beat { hits: 7, .. }));
        assert!(matches!(Line::parse(r#"{"end":true,"batches":6,"faults":0}"#).unwrap(), Line::End { .. }));
        assert!(Line::parse("sweep: LOAD: no").is_err());
    }
}
