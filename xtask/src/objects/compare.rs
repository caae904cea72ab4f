//! Comparison of a text with one that has gaps, word by word.

use super::text::GAP;

/// Compares printed and expected text; the error shows the words around the first difference.
pub(super) fn compare(printed: &[u8], expected: &[u8]) -> Result<usize, String> {
    let (printed, expected) = (words(printed), words(expected));
    let gaps: Vec<&[String]> = expected.split(|word| word == GAP).collect();
    let mut at = 0;
    for (index, run) in gaps.iter().enumerate() {
        let rest = &printed[at..];
        let (first, last) = (index == 0, index + 1 == gaps.len());
        // The words before the first gap are at the start, and those after the last gap at the end.
        let found = match (first, last) {
            (true, true) if rest.len() != run.len() => None,
            (true, _) => rest.starts_with(run).then_some(0),
            (false, true) => rest.len().checked_sub(run.len()).filter(|start| rest[*start..] == **run),
            (false, false) if run.is_empty() => Some(0),
            (false, false) => rest.windows(run.len()).position(|window| window == *run),
        };
        let Some(found) = found else {
            let same = rest.iter().zip(*run).take_while(|(a, b)| a == b).count();
            let near = |words: &[String]| {
                words.iter().skip(same.saturating_sub(6)).take(20).cloned().collect::<Vec<_>>()
            };
            return Err(format!("printed … {}\nobjects … {}", near(rest).join(" "), near(run).join(" ")));
        };
        at += found + run.len();
    }
    Ok(expected.len())
}

fn words(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn gaps_stand_for_words() {
        assert!(compare(b"a b c", b"a  b\nc").is_ok());
        assert!(compare(b"a b c", b"a \x01 c").is_ok());
        assert!(compare(b"a c", b"a \x01 c").is_ok());
        assert!(compare(b"a b c d", b"a \x01 c").is_err());
        assert!(compare(b"a b", b"a").is_err());
        assert!(compare(b"a b", b"a c").is_err());
        assert!(compare(b"a x b y c", b"\x01 b \x01 c").is_ok());
        assert!(compare(b"a x y c", b"\x01 b \x01 c").is_err());
    }
}
