//! oracle/interp/json.rs: json(), which extracts one value from a JSON string.

/// Returns the value at a path such as `a.b[2].c`: a string without its quotes, anything else as written.
/// Values off the path need not be valid.
pub(super) fn find<'a>(text: &'a [u8], path: &[u8]) -> Option<&'a [u8]> {
    let mut text = text;
    let mut path = path.strip_prefix(b"[").unwrap_or(path);
    loop {
        let len = path.iter().position(|byte| matches!(byte, b'.' | b'[' | b']')).unwrap_or(path.len());
        let (step, rest) = path.split_at(len);
        text = match blanks(text).split_first()? {
            (b'{', members) => member(blanks(members), step)?,
            (b'[', elements) => element(blanks(elements), step)?,
            _ => return None,
        };
        path = rest.strip_prefix(b"]").unwrap_or(rest);
        match path.split_first() {
            None => break,
            Some((b'.' | b'[', rest)) => path = rest,
            Some(_) => return None,
        }
    }
    let value = &text[..text.len() - behind(text)?.len()];
    Some(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
}

fn blanks(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    &text[count..]
}

fn member<'a>(mut members: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    loop {
        let name = members.strip_prefix(b"\"")?;
        let rest = behind_string(members)?;
        let name = &name[..name.len() - rest.len() - 1];
        let value = blanks(blanks(rest).strip_prefix(b":")?);
        if name == key {
            return Some(value);
        }
        members = next(value)?;
    }
}

fn element<'a>(mut elements: &'a [u8], index: &[u8]) -> Option<&'a [u8]> {
    let digits = !index.is_empty() && index.iter().all(u8::is_ascii_digit);
    // An index above the maximum length of a string; all larger ones are equivalent.
    let index =
        index.iter().fold(0u64, |n, digit| (n * 10 + u64::from(digit.wrapping_sub(b'0'))).min(1 << 20));
    for _ in 0..index {
        elements = next(elements)?;
    }
    digits.then_some(elements)
}

/// Advances from a value to the next one in its object or array.
fn next(value: &[u8]) -> Option<&[u8]> {
    blanks(behind(value)?).strip_prefix(b",").map(blanks)
}

/// Returns the text after its first value.
fn behind(text: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut depth) = (text, 0u32);
    loop {
        rest = match rest.split_first()? {
            (b'"', _) => behind_string(rest)?,
            (b'{' | b'[', rest) => {
                depth += 1;
                rest
            }
            (byte, rest) if depth > 0 => {
                depth -= u32::from(matches!(byte, b'}' | b']'));
                rest
            }
            _ => {
                let word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let len = rest.iter().take_while(word).count();
                (len > 0).then(|| &rest[len..])?
            }
        };
        if depth == 0 {
            return Some(rest);
        }
    }
}

/// Returns the text after its leading string; the first byte is the opening quote.
fn behind_string(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.get(1..)?;
    loop {
        rest = match rest {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', _, rest @ ..] | [_, rest @ ..] => rest,
            [] => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn values_by_path() {
        let text =
            br#" {"a": 1, "b": {"c": [10, -2.5e3, {"d": "x\"y"}], "e": null}, "f": "}", "g": [[1], [2, 3]]}"#;
        let cases: [(&[u8], Option<&[u8]>); 14] = [
            (b"a", Some(b"1")),
            (b"b.c[1]", Some(b"-2.5e3")),
            (b"b.c[2].d", Some(br#"x\"y"#)),
            (b"b.e", Some(b"null")),
            (b"f", Some(b"}")),
            (b"g[1][0]", Some(b"2")),
            (b"g[1]", Some(b"[2, 3]")),
            (b"b.c[3]", None),
            (b"b.x", None),
            (b"a.b", None),
            (b"g[x]", None),
            (b"", None),
            (b"g[]", None),
            (b"g[99999999999999999999]", None),
        ];
        for (path, value) in cases {
            assert_eq!(find(text, path), value, "{}", String::from_utf8_lossy(path));
        }
        assert_eq!(find(b"[5, 6]", b"[1]"), Some(&b"6"[..]));
        assert_eq!(find(b"{\"a\": \"b", b"a"), None);
        assert_eq!(find(b"{\"a\"", b"a"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_and_path(text: Vec<u8>, path: Vec<u8>) {
            find(&text, &path);
        }
    }
}
