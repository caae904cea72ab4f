//! The patterns of the rules, which are part of the program.

use regex_lite::Regex;

pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of the rules are regular expressions")
}
