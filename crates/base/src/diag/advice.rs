//! base/diag/advice.rs: help derived from the D text under an error of the checker.

use super::diagnostic::Diagnostic;

/// Adds help that the text under the error suggests: for a macro argument that is not a number, or a
/// character constant that was meant as a string. `arguments` are those of the command line.
pub fn advise(mut diagnostic: Diagnostic, text: &str, arguments: &[String]) -> Diagnostic {
    if let Some((index, argument)) = macro_argument(text, arguments) {
        // The argument is the cause: the user did not mean a variable of that name.
        diagnostic.help = vec![format!("write $${index} for its text")];
        return diagnostic.note(format!("${index} is the argument `{argument}`, which is not a number"));
    }
    let about_string = diagnostic.title.contains("string");
    if let Some(quoted) = character_constant(text).filter(|_| about_string) {
        diagnostic.help = vec![format!("a string is written in double quotes: \"{quoted}\"")];
    }
    diagnostic
}

/// Returns the first `$1`, `$2` … whose argument is not a number.
fn macro_argument<'a>(text: &str, arguments: &'a [String]) -> Option<(usize, &'a str)> {
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        if letter == '$' && before != '$' {
            let digits = text[at + 1..].split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            let index: Option<usize> = digits.parse().ok().filter(|index| *index > 0);
            let argument = index.and_then(|index| Some((index, arguments.get(index - 1)?.as_str())));
            if let Some(found) = argument.filter(|(_, argument)| !is_number(argument)) {
                return Some(found);
            }
        }
        before = letter;
    }
    None
}

fn is_number(text: &str) -> bool {
    text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the text between the quotes of the first character constant outside strings.
fn character_constant(text: &str) -> Option<&str> {
    let mut open: Option<(char, usize)> = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (open, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(('\'', from)), '\'') => return Some(&text[from..at]),
            (Some(('"', _)), '"') => open = None,
            (None, '\'' | '"') => open = Some((letter, at + 1)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::tags;

    #[test]
    fn the_argument_and_the_constant() {
        let arguments = ["7".to_owned(), "sh".to_owned()];
        assert_eq!(macro_argument("pid == $2", &arguments), Some((2, "sh")));
        assert_eq!(macro_argument("$1 + $$2 + $3 + $0 + $", &arguments), None);
        assert_eq!(character_constant("\"it's\" == 's\\'h'"), Some("s\\'h"));
        assert_eq!(character_constant("x == \"'a'\""), None);
        let error = || Diagnostic::error(tags::OP_INCOMPAT, "`==` does not go with string and int");
        assert_eq!(
            advise(error(), "execname == 'sh'", &[]).help,
            ["a string is written in double quotes: \"sh\""]
        );
        assert_eq!(advise(error(), "execname == 1", &[]), error());
    }
}
