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
    /// Whether the member exists with this value of the tag, in its low bytes.
    pub fn has(&self, tag: u64) -> bool {
        let is_tag = |value: &u64| (value ^ tag) << (64 - 8 * self.bytes.clamp(1, 8)) == 0;
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
        assert!(one(&[0xfffe], &[]).has(0xfffe));
        assert!(one(&[-2_i64 as u64], &[1]).has(0xfffe), "a negative number");
        assert!(!one(&[1, 2], &[0xfffe]).has(0xfffe));
        assert!(one(&[], &[1, 2]).has(0xfffe));
        assert!(!one(&[], &[1, 0xfffe]).has(0xfffe));
    }
}
