//! consumer/output/flow.rs: the indentation of -F.

use std::collections::HashMap;

/// The prefix and indentation of a row of -F.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub indent: usize,
    pub prefix: &'static str,
    /// Whether the probe's name is shown too: true except at entries and returns.
    pub named: bool,
}

/// The indentation of each CPU.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    cpus: HashMap<u32, Cpu>,
}

#[derive(Debug, Default)]
struct Cpu {
    indent: usize,
    /// The probe and time of the previous record: the rows of one firing indent only once.
    last: Option<(u32, u64)>,
}

impl Flow {
    /// Returns the row of a record. `probe` and `timestamp` identify the firing; only its first clause changes the
    /// indentation.
    pub(crate) fn row(&mut self, cpu: u32, probe: u32, timestamp: u64, provider: &str, name: &str) -> Row {
        let cpu = self.cpus.entry(cpu).or_default();
        let again = cpu.last.is_some_and(|last| last == (probe, timestamp));
        cpu.last = Some((probe, timestamp));
        let syscall = provider == "syscall";
        match (name.ends_with("entry"), name.ends_with("return")) {
            (true, _) if !again => {
                let row =
                    Row { indent: cpu.indent, prefix: if syscall { " => " } else { " -> " }, named: false };
                cpu.indent += 2;
                row
            }
            (_, true) if !again => {
                cpu.indent = cpu.indent.saturating_sub(2);
                Row { indent: cpu.indent, prefix: if syscall { " <= " } else { " <- " }, named: false }
            }
            _ => Row { indent: cpu.indent, prefix: "| ", named: true },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_firing_step_once() {
        let mut flow = Flow::default();
        let mut row = |probe, timestamp, name| {
            let row = flow.row(0, probe, timestamp, "fbt", name);
            format!("{}{}", " ".repeat(row.indent), row.prefix)
        };
        let rows = [
            row(1, 10, "entry"),
            row(1, 10, "entry"),
            row(2, 11, "8"),
            row(3, 12, "entry"),
            row(4, 13, "return"),
            row(5, 14, "return"),
            row(5, 15, "return"),
        ];
        assert_eq!(rows, [" -> ", "  | ", "  | ", "   -> ", "   <- ", " <- ", " <- "]);
    }
}
