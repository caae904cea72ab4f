//! parser/lex/header.rs: C text of headers, as included by the preprocessor: functions, and keywords of GNU C.

use super::lexer::Lexer;
use super::token::Token;
use kinst_base::source::Span;

/// GNU C keywords that do not affect a type.
const WORDS: &[&str] = &["__extension__", "__inline", "__inline__", "_Noreturn"];

/// Words of D without a meaning in C.
const OF_D: &[&str] = &[
    "counter",
    "import",
    "probe",
    "provider",
    "self",
    "string",
    "stringof",
    "this",
    "translator",
    "userland",
    "xlate",
];

/// Words followed by a parenthesis.
const CALLS: &[&str] = &["__attribute__", "__attribute", "__asm__", "__asm", "_Alignas"];

impl<'a> Lexer<'a> {
    /// Whether the text here was included by the preprocessor. A layout leaves such text unchanged.
    pub(crate) fn in_header(&self) -> bool {
        self.included > 0 && !self.settings.directives
    }

    /// Whether the word is a keyword only in D, and the file is C.
    pub(super) fn is_plain_word(&self, word: &str) -> bool {
        self.in_system_header && self.in_header() && OF_D.contains(&word)
    }

    /// Records a line marker of the preprocessor: flag 1 begins an included file, flag 2 ends it, and flag 3
    /// marks a system header.
    pub(super) fn note_marker(&mut self, line: &str) {
        let Some((_, flags)) = line.rsplit_once('"') else { return };
        self.in_system_header = flags.split_ascii_whitespace().any(|flag| flag == "3");
        match flags.split_ascii_whitespace().next() {
            Some("1") => self.included += 1,
            Some("2") => self.included = self.included.saturating_sub(1),
            _ => {}
        }
    }

    /// Skips a function and its body, which is not a declaration of D. Returns whether the item here is a
    /// function.
    pub(super) fn skip_function(&mut self) -> bool {
        if !self.in_header() {
            return false;
        }
        let start = self.queued.as_ref().map_or(self.at, |(start, ..)| *start);
        let Some(length) = function_length(&self.text[start..]) else { return false };
        let text = &self.text[start..start + length];
        for line in text.lines().filter(|line| line.starts_with('#')) {
            self.note_marker(line);
        }
        self.queued = None;
        self.at = start + length;
        true
    }

    /// Returns the length of a word here that does not affect a type, with its arguments.
    pub(super) fn ignored_word(&self) -> Option<usize> {
        let word = self.rest().split(|c: char| !is_word(c)).next().unwrap_or_default();
        if WORDS.contains(&word) {
            return Some(word.len());
        }
        let length = CALLS.contains(&word).then(|| self.call_length(word)).flatten()?;
        (!is_packed(&self.rest()[..length])).then_some(length)
    }

    /// Reads an attribute that packs a struct.
    pub(super) fn packed(&mut self, word: Span) -> Option<Token> {
        let text = self.slice(word);
        if !CALLS.contains(&text) {
            return None;
        }
        self.at = word.start as usize;
        let length = self.call_length(text).filter(|&length| is_packed(&self.rest()[..length]));
        self.at = word.start as usize + length.unwrap_or(text.len());
        length.map(|_| Token::Packed)
    }

    /// Returns the length of the word and of the parentheses after it.
    fn call_length(&self, word: &str) -> Option<usize> {
        let after = &self.rest()[word.len()..];
        let opens = after.len() - after.trim_start().len();
        let closes = after[opens..].starts_with('(').then(|| bracketed(&after[opens..])).flatten()?;
        Some(word.len() + opens + closes)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_packed(attribute: &str) -> bool {
    attribute.split(|c: char| !is_word(c)).any(|word| matches!(word, "packed" | "__packed__"))
}

/// Returns the length of the function at the start of the text: its body follows the parenthesis of its
/// parameters.
fn function_length(text: &str) -> Option<usize> {
    let (mut at, mut parameters) = (0, false);
    loop {
        let rest = &text[at..];
        at += match rest.chars().next()? {
            '#' => rest.find('\n')?,
            '(' => bracketed(rest)?,
            '{' if parameters => return Some(at + bracketed(rest)?),
            '{' => bracketed(rest)?,
            ';' | '=' | '"' | '\'' => return None,
            c => c.len_utf8(),
        };
        parameters = match rest.chars().next()? {
            '(' => true,
            c if c.is_whitespace() || c == '#' => parameters,
            _ => false,
        };
    }
}

/// Returns the length from the opening bracket at the start of the text to its closing bracket.
fn bracketed(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(mark), _) if byte == mark => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(' | b'{' | b'[') => depth += 1,
            (None, b')' | b'}' | b']') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
