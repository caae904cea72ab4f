//! codegen/tests/property_strings.rs: a property test: DIF of random string expressions against an evaluator of their tree.
//!
//! The evaluator uses Rust strings and the definitions of the language, and no code of the DIF machine. No
//! expression assigns to a variable that it also reads: a string variable is read through its address.

use std::collections::HashMap;
use std::fmt;

use super::Still;
use crate::codegen::generator::generate;
use crate::typeck::tests::check_text;
use kinst_dif::{ActionKind, Options, disasm};
use kinst_oracle::interp::{self, Flt, State};
use proptest::prelude::*;

/// The longest string in bytes, not counting its NUL.
const LONGEST: usize = 255;
const VARIABLES: [&str; 3] = ["s", "self->s", "this->s"];

/// A string expression.
#[derive(Clone, Debug)]
enum Text {
    Literal(String),
    Variable(usize),
    Element(usize),
    Join(Box<Text>, Box<Text>),
    Substr(Box<Text>, Number, Option<Number>),
    Chr(Box<Text>, char),
    Rchr(Box<Text>, char),
    Str(Box<Text>, Box<Text>),
    /// The first argument is copied to a separate string, which does not move.
    Tok(Box<Text>, Box<Text>),
    NextTok(Box<Text>),
    OfNumber(Number, Option<u32>),
    Upper(Box<Text>),
    Lower(Box<Text>),
    Base(Box<Text>),
    Dir(Box<Text>),
    Clean(Box<Text>),
    Choice(Number, Box<Text>, Box<Text>),
    After(Number, Box<Text>),
    Stringof(Box<Text>),
    Cast(Box<Text>),
}

/// A numeric expression.
#[derive(Clone, Debug)]
enum Number {
    Int(i32),
    Length(Box<Text>),
    Index(Box<Text>, Box<Text>, Option<i32>),
    Rindex(Box<Text>, Box<Text>, Option<i32>),
    Parse(Box<Text>, Option<u32>),
    Compare(&'static str, Box<Text>, Box<Text>),
    IsNull(Box<Text>),
    Sum(Box<Number>, Box<Number>),
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Literal(text) => write!(f, "\"{text}\""),
            Text::Variable(index) => write!(f, "{}", VARIABLES[*index]),
            Text::Element(key) => write!(f, "t[\"k{key}\"]"),
            Text::Join(a, b) => write!(f, "strjoin({a}, {b})"),
            Text::Substr(text, from, None) => write!(f, "substr({text}, {from})"),
            Text::Substr(text, from, Some(length)) => write!(f, "substr({text}, {from}, {length})"),
            Text::Chr(text, c) => write!(f, "strchr({text}, '{c}')"),
            Text::Rchr(text, c) => write!(f, "strrchr({text}, '{c}')"),
            Text::Str(text, part) => write!(f, "strstr({text}, {part})"),
            Text::Tok(text, delimiters) => write!(f, "strtok(strjoin({text}, \"\"), {delimiters})"),
            Text::NextTok(delimiters) => write!(f, "strtok(NULL, {delimiters})"),
            Text::OfNumber(number, None) => write!(f, "lltostr({number})"),
            Text::OfNumber(number, Some(base)) => write!(f, "lltostr({number}, {base})"),
            Text::Upper(text) => write!(f, "toupper({text})"),
            Text::Lower(text) => write!(f, "tolower({text})"),
            Text::Base(text) => write!(f, "basename({text})"),
            Text::Dir(text) => write!(f, "dirname({text})"),
            Text::Clean(text) => write!(f, "cleanpath({text})"),
            Text::Choice(number, a, b) => write!(f, "({number} ? {a} : {b})"),
            Text::After(number, text) => write!(f, "({number}, {text})"),
            Text::Stringof(text) => write!(f, "stringof({text})"),
            Text::Cast(text) => write!(f, "((string){text})"),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = |from: &Option<i32>| from.map_or(String::new(), |from| format!(", {from}"));
        match self {
            Number::Int(value) => write!(f, "({value})"),
            Number::Length(text) => write!(f, "strlen({text})"),
            Number::Index(text, part, from) => write!(f, "index({text}, {part}{})", with(from)),
            Number::Rindex(text, part, from) => write!(f, "rindex({text}, {part}{})", with(from)),
            Number::Parse(text, None) => write!(f, "strtoll({text})"),
            Number::Parse(text, Some(base)) => write!(f, "strtoll({text}, {base})"),
            Number::Compare(op, a, b) => write!(f, "({a} {op} {b})"),
            Number::IsNull(text) => write!(f, "({text} == NULL)"),
            Number::Sum(a, b) => write!(f, "({a} + {b})"),
        }
    }
}

/// A string; `None` is NULL.
type Value = Option<String>;
/// NULL was used where a string is needed.
#[derive(Clone, Copy, Debug)]
struct BadAddress;

#[derive(Default)]
struct Evaluator {
    variables: [Value; 3],
    elements: HashMap<usize, Value>,
    /// The rest of the string, for strtok(NULL, …).
    rest: Option<String>,
}

impl Evaluator {
    fn text(&mut self, text: &Text) -> Result<Value, BadAddress> {
        Ok(match text {
            Text::Literal(text) => Some(text.clone()),
            Text::Variable(index) => self.variables[*index].clone(),
            Text::Element(key) => self.elements.get(key).cloned().flatten(),
            Text::Join(a, b) => {
                let (a, b) = (self.text(a)?, self.text(b)?);
                made(there(a)? + &there(b)?)
            }
            Text::Substr(text, from, length) => {
                let text = self.text(text)?;
                let from = self.number(from)? as i32;
                let length = length.as_ref().map(|length| self.number(length)).transpose()?;
                made(cut(&there(text)?, from.into(), length.map(|length| i64::from(length as i32))))
            }
            Text::Chr(text, c) => {
                let text = there(self.text(text)?)?;
                text.find(*c).map(|at| text[at..].to_owned())
            }
            Text::Rchr(text, c) => {
                let text = there(self.text(text)?)?;
                text.rfind(*c).map(|at| text[at..].to_owned())
            }
            Text::Str(text, part) => {
                let (text, part) = (self.text(text)?, self.text(part)?);
                let (text, part) = (there(text)?, there(part)?);
                text.find(&part).map(|at| text[at..].to_owned())
            }
            Text::Tok(text, delimiters) => {
                let text = made(there(self.text(text)?)?);
                let delimiters = self.text(delimiters)?;
                self.rest = text;
                self.token(delimiters)?
            }
            Text::NextTok(delimiters) => {
                let delimiters = self.text(delimiters)?;
                self.token(delimiters)?
            }
            Text::OfNumber(number, base) => Some(in_base(self.number(number)?, base.unwrap_or(10))),
            Text::Upper(text) => Some(there(self.text(text)?)?.to_uppercase()),
            Text::Lower(text) => Some(there(self.text(text)?)?.to_lowercase()),
            Text::Base(text) => Some(last_component(&there(self.text(text)?)?)),
            Text::Dir(text) => Some(parent(&there(self.text(text)?)?)),
            Text::Clean(text) => Some(clean(&there(self.text(text)?)?)),
            Text::Choice(number, a, b) => {
                let chosen = if self.number(number)? != 0 { a } else { b };
                self.text(chosen)?
            }
            Text::After(number, text) => {
                self.number(number)?;
                self.text(text)?
            }
            Text::Stringof(text) | Text::Cast(text) => self.text(text)?,
        })
    }

    fn number(&mut self, number: &Number) -> Result<i64, BadAddress> {
        Ok(match number {
            Number::Int(value) => (*value).into(),
            Number::Length(text) => there(self.text(text)?)?.len() as i64,
            Number::Index(text, part, from) => {
                let (text, part) = (self.text(text)?, self.text(part)?);
                let (text, part) = (there(text)?, there(part)?);
                let from = usize::try_from(from.unwrap_or(0)).unwrap_or(0).min(text.len());
                text[from..].find(&part).map_or(-1, |at| (from + at) as i64)
            }
            Number::Rindex(text, part, from) => {
                let (text, part) = (self.text(text)?, self.text(part)?);
                let (text, part) = (there(text)?, there(part)?);
                match from {
                    Some(..0) => {
                        if part.is_empty() {
                            0
                        } else {
                            -1
                        }
                    }
                    from => {
                        let from = from.map_or(text.len(), |from| from as usize).min(text.len());
                        let end = (from + part.len()).min(text.len());
                        text[..end].rfind(&part).map_or(-1, |at| at as i64)
                    }
                }
            }
            Number::Parse(text, base) => parsed(&there(self.text(text)?)?, base.unwrap_or(10)),
            Number::Compare(op, a, b) => {
                // NULL counts as an empty string.
                let (a, b) = (self.text(a)?.unwrap_or_default(), self.text(b)?.unwrap_or_default());
                let order = a.cmp(&b);
                i64::from(match *op {
                    "==" => order.is_eq(),
                    "!=" => order.is_ne(),
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                })
            }
            Number::IsNull(text) => self.text(text)?.is_none().into(),
            Number::Sum(a, b) => self.number(a)?.wrapping_add(self.number(b)?),
        })
    }

    fn token(&mut self, delimiters: Value) -> Result<Value, BadAddress> {
        let Some(rest) = self.rest.take() else { return Ok(None) };
        let delimiters = there(delimiters)?;
        let is_delimiter = |c: char| delimiters.contains(c);
        let rest = rest.trim_start_matches(is_delimiter);
        if rest.is_empty() {
            return Ok(None);
        }
        let (token, after) = rest.split_at(rest.find(is_delimiter).unwrap_or(rest.len()));
        // The delimiter stays in the rest: a later call with other delimiters may treat it as part of a token.
        self.rest = (!after.is_empty()).then(|| after.to_owned());
        Ok(Some(token.to_owned()))
    }
}

fn there(value: Value) -> Result<String, BadAddress> {
    value.ok_or(BadAddress)
}

/// Truncates a string to the size of strings in DIF.
fn made(mut text: String) -> Value {
    text.truncate(LONGEST);
    Some(text)
}

/// Like Perl's substr(), except that no substring begins before the string and also ends relative to the
/// string's end.
fn cut(text: &str, from: i64, length: Option<i64>) -> String {
    let size = text.len() as i64;
    let begin = if from < 0 { size + from } else { from };
    let end = match length {
        None => size,
        Some(..0) if begin < 0 => return String::new(),
        Some(length @ ..0) => size + length,
        Some(length) => begin + length,
    };
    text.chars().zip(0..).filter(|(_, at)| (begin..end).contains(at)).map(|(c, _)| c).collect()
}

fn in_base(value: i64, base: u32) -> String {
    match base {
        2 => format!("{value:b}"),
        8 if value == 0 => "0".to_owned(),
        8 => format!("0{value:o}"),
        16 => format!("{value:#x}"),
        _ => value.to_string(),
    }
}

/// Like C's strtoll(), except that it wraps.
fn parsed(text: &str, base: u32) -> i64 {
    let text = text.trim_start();
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => (-1, text),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixed = ["0x", "0X"].iter().find_map(|prefix| text.strip_prefix(prefix));
    let text = prefixed.filter(|_| base == 16).unwrap_or(text);
    let end = text.find(|c: char| !c.is_digit(base)).unwrap_or(text.len());
    let digits = text[..end].chars().map(|c| i64::from(c.to_digit(base).unwrap()));
    digits.fold(0_i64, |value, digit| value.wrapping_mul(base.into()).wrapping_add(digit)).wrapping_mul(sign)
}

fn last_component(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    let mut components = path.split('/').filter(|component| !component.is_empty());
    components.next_back().unwrap_or("/").to_owned()
}

fn parent(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/').map(|(before, _)| before.trim_end_matches('/')) {
        Some("") => "/".to_owned(),
        Some(before) => before.to_owned(),
        None if path.starts_with('/') && path.ends_with('/') => "/".to_owned(),
        None => ".".to_owned(),
    }
}

/// Removes `//`, `/./` and `/x/..`, in this order. A trailing slash stays, and a relative path stays relative.
fn clean(path: &str) -> String {
    let mut path = path.to_owned();
    loop {
        let shorter = path.replace("//", "/").replace("/./", "/");
        if shorter != path {
            path = shorter;
            continue;
        }
        let relative = !path.starts_with('/');
        let of_parent = |prefix: &str| matches!(prefix, "" | "..") || prefix.ends_with("/..");
        let ends = |at: usize| matches!(path.as_bytes().get(at + 3), None | Some(b'/'));
        let mut all = path.match_indices("/..").map(|(at, _)| at);
        let Some(at) = all.find(|&at| ends(at) && !(relative && of_parent(&path[..at]))) else {
            return path;
        };
        let kept = path[..at].rfind('/').map_or("", |slash| &path[..slash]);
        let after = if at + 3 == path.len() { "/" } else { &path[at + 3..] };
        let after = if relative && kept.is_empty() { &after[1..] } else { after };
        path = format!("{kept}{after}");
    }
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[abAB ]{0,5}",
        1 => "-?[0-9]{1,20}",
        1 => "(0x)?[0-9a-f]{1,4}",
        2 => "/?([ab.]{0,2}/){0,4}[ab.]{0,2}",
    ]
}

fn number(inner: BoxedStrategy<Text>) -> BoxedStrategy<Number> {
    let text = || inner.clone().prop_map(Box::new);
    let from = || prop::option::of(-3..9_i32);
    let base = prop::option::of(prop::sample::select(vec![2, 8, 10, 16]));
    let compare = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let single = prop_oneof![
        4 => (-7..9_i32).prop_map(Number::Int),
        2 => text().prop_map(Number::Length),
        1 => (text(), text(), from()).prop_map(|(a, b, from)| Number::Index(a, b, from)),
        1 => (text(), text(), from()).prop_map(|(a, b, from)| Number::Rindex(a, b, from)),
        1 => (text(), base).prop_map(|(a, base)| Number::Parse(a, base)),
        2 => (compare, text(), text()).prop_map(|(op, a, b)| Number::Compare(op, a, b)),
        1 => text().prop_map(Number::IsNull),
    ]
    .boxed();
    prop_oneof![
        5 => single.clone(),
        1 => (single.clone(), single).prop_map(|(a, b)| Number::Sum(Box::new(a), Box::new(b))),
    ]
    .boxed()
}

fn text() -> impl Strategy<Value = Text> {
    let leaf = prop_oneof![
        4 => literal().prop_map(Text::Literal),
        2 => (0..VARIABLES.len()).prop_map(Text::Variable),
        1 => (0..2usize).prop_map(Text::Element),
    ];
    leaf.prop_recursive(6, 40, 3, |inner| {
        let inner = inner.boxed();
        let text = || inner.clone().prop_map(Box::new);
        let number = || number(inner.clone());
        let letter = || prop::sample::select(vec!['a', 'b', 'B', '/', '.', '0']);
        let base = prop::option::of(prop::sample::select(vec![2, 8, 10, 16]));
        let delimiters = || {
            prop::sample::select(vec![" ", "/", "ab", "", "."])
                .prop_map(|text| Box::new(Text::Literal(text.to_owned())))
        };
        let searching = prop_oneof![
            (text(), letter()).prop_map(|(a, c)| Text::Chr(a, c)),
            (text(), letter()).prop_map(|(a, c)| Text::Rchr(a, c)),
            (text(), text()).prop_map(|(a, b)| Text::Str(a, b)),
            (text(), delimiters()).prop_map(|(a, d)| Text::Tok(a, d)),
            delimiters().prop_map(Text::NextTok),
        ];
        let paths = prop_oneof![
            text().prop_map(Text::Base),
            text().prop_map(Text::Dir),
            text().prop_map(Text::Clean),
        ];
        prop_oneof![
            4 => (text(), text()).prop_map(|(a, b)| Text::Join(a, b)),
            3 => (text(), number(), prop::option::of(number())).prop_map(|(a, n, m)| Text::Substr(a, n, m)),
            3 => searching,
            3 => paths,
            2 => (number(), base).prop_map(|(n, base)| Text::OfNumber(n, base)),
            1 => text().prop_map(Text::Upper),
            1 => text().prop_map(Text::Lower),
            2 => (number(), text(), text()).prop_map(|(n, a, b)| Text::Choice(n, a, b)),
            1 => (number(), text()).prop_map(|(n, a)| Text::After(n, a)),
            1 => text().prop_map(Text::Stringof),
            1 => text().prop_map(Text::Cast),
        ]
    })
}

/// Runs the clause; returns what trace() records, or the fault.
fn run(program: &kinst_dif::Program) -> Result<Vec<u8>, Flt> {
    let mut state = State::new(&program.variables, &Options::default());
    state.fire();
    let mut found = Vec::new();
    for action in &program.clauses[0].actions {
        let difo = &program.difos[action.difo.unwrap() as usize];
        let value = interp::run(difo, &mut state, &mut Still).map_err(|fault| fault.code)?;
        if action.kind == ActionKind::DifExpr && difo.rtype.size > 0 {
            found = interp::recorded(&difo.rtype, value, &mut state, &mut Still).map_err(|f| f.code)?;
        }
    }
    Ok(found)
}

/// A program that sets all variables and traces an expression.
#[derive(Clone, Debug)]
struct Case {
    variables: Vec<Text>,
    elements: Vec<Text>,
    traced: Result<Text, Number>,
}

impl Case {
    fn program(&self) -> String {
        let mut text = "string s; self string s; this string s; string t[string];\nBEGIN { ".to_owned();
        // All variables are empty at first.
        for name in VARIABLES {
            text += &format!("{name} = \"\"; ");
        }
        for (name, value) in VARIABLES.iter().zip(&self.variables) {
            text += &format!("{name} = strjoin({value}, \"\");\n");
        }
        for (key, value) in self.elements.iter().enumerate() {
            text += &format!("t[\"k{key}\"] = {value};\n");
        }
        text + &match &self.traced {
            Ok(traced) => format!("trace({traced}); }}"),
            Err(number) => format!("trace({number}); }}"),
        }
    }

    fn expected(&self) -> Result<Vec<u8>, BadAddress> {
        let mut evaluator = Evaluator { variables: [const { Some(String::new()) }; 3], ..Default::default() };
        for (index, value) in self.variables.iter().enumerate() {
            let value = there(evaluator.text(value)?)?;
            evaluator.variables[index] = made(value);
        }
        for (key, value) in self.elements.iter().enumerate() {
            let value = evaluator.text(value)?;
            evaluator.elements.insert(key, value);
        }
        match &self.traced {
            Ok(traced) => {
                let mut bytes = there(evaluator.text(traced)?)?.into_bytes();
                bytes.resize(LONGEST + 1, 0);
                Ok(bytes)
            }
            Err(number) => Ok(evaluator.number(number)?.to_le_bytes().to_vec()),
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    let traced = prop_oneof![
        3 => text().prop_map(Ok),
        1 => number(text().boxed()).prop_map(Err),
    ];
    let few = || prop::collection::vec(text(), 0..3);
    (few(), few(), traced).prop_map(|(variables, elements, traced)| Case { variables, elements, traced })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn dif_computes_the_strings_of_the_tree(case in case()) {
        let text = case.program();
        let checked = check_text(&text).map_err(|error| format!("{}\n{text}", error.title)).unwrap();
        let program = generate(&checked).map_err(|error| format!("{error:?}\n{text}")).unwrap();
        let listing = disasm::program(&program);
        let verified = kinst_oracle::verify::verify_program(&program, &Options::default());
        prop_assert!(verified.is_ok(), "{:?}\n{}", verified, listing);
        let found = run(&program);
        match case.expected() {
            Ok(expected) => {
                let found = found.map(|found| found.iter().take(expected.len()).copied().collect::<Vec<u8>>());
                let bytes = found.as_ref().map_or(0, Vec::len);
                prop_assert_eq!(found, Ok(expected[..bytes.min(expected.len())].to_vec()), "{}\n{}", text, listing);
            }
            Err(BadAddress) => prop_assert_eq!(found, Err(Flt::BADADDR), "{}\n{}", text, listing),
        }
    }
}
