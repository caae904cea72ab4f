//! The calls that a C function makes exactly once in each execution, by its text: the ones before its first decision.

/// The words and signs after which a call is no longer certain, or may be repeated.
const DECIDES: [&str; 16] = [
    "if",
    "for",
    "while",
    "do",
    "switch",
    "goto",
    "asm",
    "__asm__",
    "asm_volatile_goto",
    "?",
    "&&",
    "||",
    ":",
    "{",
    "}",
    "#",
];

/// The operators that look like calls.
const NO_CALLS: [&str; 6] = ["sizeof", "typeof", "__typeof__", "__alignof__", "offsetof", "likely"];

/// The names that the function on this line (from 1) calls once, in order; empty if the text has no function there.
pub(super) fn calls_once(text: &str, line: usize, name: &str) -> Vec<String> {
    let Some(body) = body(text, line, name) else { return Vec::new() };
    let tokens = tokens(&body);
    let certain = certain(&tokens);
    let once = |callee: &&str| {
        let pairs = tokens.windows(2).filter(|pair| pair[0] == *callee && pair[1] == "(");
        pairs.count() == 1 && *callee != name
    };
    certain.into_iter().filter(once).map(str::to_owned).collect()
}

/// The function's body without comments and strings.
fn body(text: &str, line: usize, name: &str) -> Option<String> {
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines.by_ref().take(line.checked_sub(1)?).map(str::len).sum();
    let text = &text[start..];
    // A macro that makes functions has their names in parts.
    let first = text.lines().next()?;
    first.split(|letter: char| !is_of_name(letter)).any(|word| word == name).then_some(())?;
    let text = plain(text);
    let open = text.find('{')?;
    if text[..open].contains([';', '#']) {
        return None;
    }
    let mut depth = 0;
    let end = text[open..].find(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        depth == 0
    })?;
    Some(text[open + 1..open + end].to_owned())
}

/// The text with blanks in place of comments, strings and characters.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len().min(1 << 16));
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let skipped = match letter {
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => quoted(rest, letter),
            _ => 0,
        };
        if skipped > 0 {
            plain.push(' ');
            rest = &rest[skipped..];
        } else {
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
        // A function ends at the first brace in the first column.
        if plain.ends_with("\n}") {
            break;
        }
    }
    plain
}

/// The length of a string or a character with its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The tokens: names and numbers, `&&` and `||`, and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            _ if is_of_name(letter) => rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len()),
            _ if rest.starts_with("&&") || rest.starts_with("||") => 2,
            _ => letter.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// The functions that are called outside of all braces and brackets, before the first decision.
fn certain<'t>(tokens: &[&'t str]) -> Vec<&'t str> {
    let mut found = Vec::new();
    let (mut at, mut returns) = (0, false);
    while let Some(&token) = tokens.get(at) {
        if DECIDES.contains(&token) || (token == ";" && returns) {
            break;
        }
        returns |= token == "return";
        let is_called = is_name(token) && token != "return" && tokens.get(at + 1) == Some(&"(");
        at += usize::from(is_called);
        if tokens[at] == "(" {
            // Calls in brackets may not be certain, and a statement there is a macro's argument.
            let Some(end) = closing(tokens, at).filter(|end| !tokens[at..*end].contains(&"{")) else { break };
            at = end;
        }
        at += 1;
        // A macro followed by a separate statement is a loop or a condition.
        if is_called && tokens.get(at).is_some_and(|next| *next == "{" || is_name(next)) {
            break;
        }
        if is_called && !NO_CALLS.contains(&token) && !token.starts_with("__builtin_") {
            found.push(token);
        }
    }
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter| is_of_name(letter) && !letter.is_ascii_digit())
}

/// The bracket that closes the one at `open`.
fn closing(tokens: &[&str], open: usize) -> Option<usize> {
    let mut depth = 0;
    let at = tokens[open..].iter().position(|token| {
        depth += i32::from(*token == "(") - i32::from(*token == ")");
        depth == 0
    })?;
    Some(open + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<String> {
        calls_once(&format!("/* a */\nstatic inline int f(int x)\n{{\n{body}\n}}\nint g;\n"), 2, "f")
    }

    #[test]
    fn calls_in_front_of_a_decision_are_certain() {
        assert_eq!(of("int y = a(x, h(1)); b(); if (y) c(); d();"), ["a", "b"]);
        assert_eq!(of("return (u32)a(x) + b(x);"), ["a", "b"]);
        assert_eq!(of("return x && a(x);"), [""; 0]);
        assert_eq!(of("list_for_each(x) a(x);"), [""; 0]);
        assert_eq!(of("again: a(x); goto again;"), [""; 0]);
    }

    #[test]
    fn a_call_that_comes_again_is_not_made_once() {
        assert_eq!(of("a(x); b(x); while (x) a(x);"), ["b"]);
        assert_eq!(of("a(\"b(\"); /* } a( */ f(x);"), ["a"]);
    }

    #[test]
    fn a_text_that_is_not_the_function_has_none() {
        assert_eq!(calls_once("int f(void);\nint g(void) { a(); }\n", 1, "f"), [""; 0]);
        assert_eq!(calls_once("DEFINE(f)\n", 1, "f"), [""; 0]);
        assert_eq!(calls_once("int f(void) { a(); }\n", 7, "f"), [""; 0]);
    }
}
