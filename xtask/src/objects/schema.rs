//! The lines that violate the schema of -O json.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::checks;

const SCHEMA: &str = "docs/schema/trace-1.schema.json";

/// The messages, by the text of the line.
pub(super) type Faults<'a> = BTreeMap<&'a [u8], String>;

/// Checks all lines in one run of `checks`.
pub(super) fn faults<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Faults<'a>> {
    let lines = Vec::from_iter(BTreeSet::from_iter(lines));
    let mut numbered = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        numbered.extend(format!("{number}\t").bytes());
        numbered.extend(*line);
        numbered.push(b'\n');
    }
    attributed(&checks::objects(SCHEMA, &numbered)?, &lines)
}

/// Reads rows `NUMBER<TAB>MESSAGE`; rows with the same number form one message.
fn attributed<'a>(rows: &str, lines: &[&'a [u8]]) -> Result<Faults<'a>> {
    let mut faults = Faults::new();
    for row in rows.lines() {
        let read = || {
            let (number, message) = row.split_once('\t')?;
            Some((*lines.get(number.parse::<usize>().ok()?)?, message))
        };
        let (line, message) = read().with_context(|| format!("not NUMBER<TAB>MESSAGE: {row:?}"))?;
        let first = !faults.contains_key(line);
        let fault = faults.entry(line).or_default();
        *fault += if first { "" } else { "\n" };
        *fault += message;
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_to_their_lines() {
        let lines: [&[u8]; 3] = [b"{}", b"{\"a\":1}", b"{\"b\":1}"];
        let faults = attributed("1\tit fails\n1\t- at a\n2\tno\n", &lines).unwrap();
        let wanted: [(&[u8], _); 2] =
            [(lines[1], "it fails\n- at a".to_owned()), (lines[2], "no".to_owned())];
        assert_eq!(faults, Faults::from(wanted));
        for wrong in ["3\tno", "no", "-1\tno"] {
            assert!(attributed(wrong, &lines).is_err(), "{wrong}");
        }
    }
}
