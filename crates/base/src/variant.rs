//! base/variant.rs: the members of a record that exist only for some values of a tag, as in an enum of Rust.

/// The values of a tag for which a member exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Offset of the tag in bytes from the start of the record.
    pub offset: u64,
    /// Size of the tag: 1, 2, 4 or 8 bytes.
    pub bytes: u8,
    /// The values of the tag; none means all but `others`.
    pub values: Vec<u64>,
    /// The values of the tag for the other members.
    pub others: Vec<u64>,
}

impl Variant {
    /// Whether the member exists in a record with these bytes.
    pub fn is_in(&self, record: &[u8]) -> bool {
        let bytes = usize::from(self.bytes.min(8));
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let tag = start.checked_add(bytes).and_then(|end| record.get(start..end));
        let Some(tag) = tag else { return false };
        let tag = tag.iter().rev().fold(0_u64, |tag, byte| tag << 8 | u64::from(*byte));
        let is_tag = |value: &u64| (value ^ tag) << (64 - 8 * bytes.clamp(1, 8)) == 0;
        match self.values.is_empty() {
            true => !self.others.iter().any(is_tag),
            false => self.values.iter().any(is_tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Variant;

    #[test]
    fn members_by_the_tag() {
        let one = |values: &[u64], others: &[u64]| Variant {
            offset: 2,
            bytes: 2,
            values: values.to_vec(),
            others: others.to_vec(),
        };
        let record = [9, 9, 0xfe, 0xff, 9];
        assert!(one(&[0xfffe], &[]).is_in(&record));
        assert!(one(&[-2_i64 as u64], &[1]).is_in(&record), "a negative number");
        assert!(!one(&[1, 2], &[0xfffe]).is_in(&record));
        assert!(one(&[], &[1, 2]).is_in(&record));
        assert!(!one(&[], &[1, 0xfffe]).is_in(&record));
        assert!(!one(&[], &[]).is_in(&record[..3]), "not recorded");
    }
}
