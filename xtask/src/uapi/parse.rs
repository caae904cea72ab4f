//! parse.rs: the restricted C of the ABI header: defines, enums, and structs of fixed-size integers.

use anyhow::{Context, Result, bail, ensure};

/// The declarations of the header, in its order.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub defines: Vec<Define>,
    pub enums: Vec<Enum>,
    pub structs: Vec<Struct>,
}

#[derive(Debug)]
pub(super) struct Define {
    pub name: String,
    pub value: Value,
    pub doc: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Value {
    Number(u64),
    Text(String),
    /// A request number, encoded.
    Ioctl(u32),
}

#[derive(Debug)]
pub(super) struct Enum {
    pub name: String,
    pub values: Vec<EnumValue>,
    pub doc: Vec<String>,
}

#[derive(Debug)]
pub(super) struct EnumValue {
    pub name: String,
    pub value: u32,
    pub doc: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Struct {
    pub name: String,
    pub fields: Vec<Field>,
    pub size: usize,
    pub align: usize,
    pub doc: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub name: String,
    pub ty: Type,
    /// Elements, when it is an array.
    pub count: Option<usize>,
    pub offset: usize,
    pub doc: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Type {
    /// `u8` … `i64`, or the C name of a struct declared above.
    pub name: String,
    pub size: usize,
    pub align: usize,
}

impl Field {
    pub(super) fn size(&self) -> usize {
        self.ty.size * self.count.unwrap_or(1)
    }
}

pub(super) fn parse(text: &str) -> Result<Header> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, doc: Vec::new(), header: Header::default() };
    while let Some(token) = parser.take() {
        match token {
            Token::Comment { text, .. } => parser.doc = text,
            Token::Directive(line) => parser.directive(&line).with_context(|| format!("in `#{line}`"))?,
            Token::Word(word) if word == "enum" => parser.enumeration()?,
            Token::Word(word) if word == "struct" => parser.structure()?,
            other => bail!("the header may not contain {other:?}"),
        }
    }
    Ok(parser.header)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Punct(char),
    /// A preprocessor line without its `#`.
    Directive(String),
    Comment {
        text: Vec<String>,
        /// Whether it follows code on its line.
        trailing: bool,
    },
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line_start = true;
    while let Some(first) = rest.chars().next() {
        if first == '\n' {
            line_start = true;
            rest = &rest[1..];
        } else if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").context("a comment does not end")?;
            tokens.push(Token::Comment { text: comment_lines(&comment[..end]), trailing: !line_start });
            rest = &comment[end + 2..];
        } else if first == '#' {
            let line = rest.lines().next().unwrap_or_default();
            let end = line.find("/*").unwrap_or(line.len());
            tokens.push(Token::Directive(line[1..end].trim().to_string()));
            rest = &rest[end..];
            line_start = false;
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_string()));
            rest = &rest[end..];
            line_start = false;
        } else {
            tokens.push(Token::Punct(first));
            rest = &rest[first.len_utf8()..];
            line_start = false;
        }
    }
    Ok(tokens)
}

fn comment_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches('*').trim_end());
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let start = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(start, |last| last + 1);
    lines[start..end].iter().map(|line| line.to_string()).collect()
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    /// The comment just before the current declaration.
    doc: Vec<String>,
    header: Header,
}

impl Parser {
    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.next).cloned();
        self.next += 1;
        token
    }

    fn word(&mut self) -> Result<String> {
        match self.take() {
            Some(Token::Word(word)) => Ok(word),
            other => bail!("expected a name, not {other:?}"),
        }
    }

    fn punct(&mut self, wanted: char) -> Result<()> {
        let found = self.take();
        ensure!(found == Some(Token::Punct(wanted)), "`{wanted}` is expected, not {found:?}");
        Ok(())
    }

    fn punct_if(&mut self, wanted: char) -> bool {
        let found = self.tokens.get(self.next) == Some(&Token::Punct(wanted));
        self.next += usize::from(found);
        found
    }

    /// The comment after the declaration, or else the one before it.
    fn trailing_doc(&mut self) -> Vec<String> {
        let before = std::mem::take(&mut self.doc);
        match self.tokens.get(self.next) {
            Some(Token::Comment { text, trailing: true }) => {
                self.next += 1;
                text.clone()
            }
            _ => before,
        }
    }

    fn directive(&mut self, line: &str) -> Result<()> {
        let Some(define) = line.strip_prefix("define ") else {
            self.doc.clear();
            return Ok(());
        };
        let (name, value) = match define.trim().split_once(char::is_whitespace) {
            Some((name, value)) => (name, value.trim()),
            // The include guard.
            None => return Ok(()),
        };
        let value = if let Some(text) = value.strip_prefix('"') {
            Value::Text(text.strip_suffix('"').context("a string does not end")?.to_string())
        } else if value.starts_with("_IO") {
            Value::Ioctl(self.ioctl(value)?)
        } else {
            Value::Number(number(value)?)
        };
        let doc = self.trailing_doc();
        self.header.defines.push(Define { name: name.to_string(), value, doc });
        Ok(())
    }

    /// The encoding of asm-generic/ioctl.h: direction, size, type, number.
    fn ioctl(&self, text: &str) -> Result<u32> {
        let (macro_name, rest) = text.split_once('(').context("no arguments")?;
        let arguments: Vec<&str> = rest.trim_end_matches(')').split(',').map(str::trim).collect();
        let direction: u32 = match macro_name {
            "_IO" => 0,
            "_IOW" => 1,
            "_IOR" => 2,
            "_IOWR" => 3,
            other => bail!("unknown macro {other}"),
        };
        let letter = arguments.first().and_then(|letter| letter.trim_matches('\'').bytes().next());
        let letter = letter.context("no type letter")?;
        let request = number(arguments.get(1).context("no number")?)?;
        let size = match arguments.get(2) {
            None => 0,
            Some(ty) => {
                let name = ty.strip_prefix("struct ").context("the argument is not a struct")?;
                self.structure_named(name)?.size
            }
        };
        ensure!(size < 1 << 14 && request < 256, "a number does not fit");
        Ok(direction << 30 | (size as u32) << 16 | u32::from(letter) << 8 | request as u32)
    }

    fn enumeration(&mut self) -> Result<()> {
        let doc = std::mem::take(&mut self.doc);
        let name = self.word()?;
        self.punct('{')?;
        let mut values = Vec::new();
        while !self.closing()? {
            let name = self.word()?;
            self.punct('=')?;
            let value = u32::try_from(number(&self.word()?)?)?;
            self.punct(',')?;
            let doc = self.trailing_doc();
            values.push(EnumValue { name, value, doc });
        }
        self.header.enums.push(Enum { name, values, doc });
        Ok(())
    }

    fn structure(&mut self) -> Result<()> {
        let doc = std::mem::take(&mut self.doc);
        let name = self.word()?;
        self.punct('{')?;
        let (mut fields, mut size, mut align) = (Vec::new(), 0, 1);
        while !self.closing()? {
            let field = self.field(size).with_context(|| format!("in struct {name}"))?;
            size += field.size();
            align = align.max(field.ty.align);
            fields.push(field);
        }
        ensure!(size % align == 0, "struct {name} ends with padding: add a reserved field");
        self.header.structs.push(Struct { name, fields, size, align, doc });
        Ok(())
    }

    fn field(&mut self, offset: usize) -> Result<Field> {
        let ty = match self.word()?.as_str() {
            "struct" => {
                let name = self.word()?;
                let found = self.structure_named(&name)?;
                Type { name, size: found.size, align: found.align }
            }
            scalar => scalar_type(scalar)?,
        };
        let name = self.word()?;
        let mut count = None;
        if self.punct_if('[') {
            count = Some(usize::try_from(number(&self.word()?)?)?);
            self.punct(']')?;
        }
        self.punct(';')?;
        ensure!(offset.is_multiple_of(ty.align), "padding before {name}: add a reserved field");
        let doc = self.trailing_doc();
        Ok(Field { name, ty, count, offset, doc })
    }

    /// Skips comments that document nothing in particular; true after `};`.
    fn closing(&mut self) -> Result<bool> {
        while let Some(Token::Comment { text, .. }) = self.tokens.get(self.next) {
            self.doc = text.clone();
            self.next += 1;
        }
        if !self.punct_if('}') {
            return Ok(false);
        }
        self.punct(';')?;
        self.doc.clear();
        Ok(true)
    }

    fn structure_named(&self, name: &str) -> Result<&Struct> {
        let found = self.header.structs.iter().find(|known| known.name == name);
        found.with_context(|| format!("struct {name} is not declared above"))
    }
}

fn scalar_type(name: &str) -> Result<Type> {
    let (name, size) = match name {
        "__u8" => ("u8", 1),
        "__u16" => ("u16", 2),
        "__u32" => ("u32", 4),
        "__u64" => ("u64", 8),
        "__s32" => ("i32", 4),
        "__s64" => ("i64", 8),
        other => bail!("the header may not use the type {other}"),
    };
    Ok(Type { name: name.to_string(), size, align: size })
}

fn number(text: &str) -> Result<u64> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.with_context(|| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_differ_between_callers_is_refused() {
        let padding = parse("struct a {\n\t__u32 x;\n\t__u64 y;\n};\n").unwrap_err();
        assert_eq!(format!("{padding:#}"), "in struct a: padding before y: add a reserved field");
        let tail = parse("struct a {\n\t__u64 x;\n\t__u32 y;\n};\n").unwrap_err();
        assert_eq!(format!("{tail:#}"), "struct a ends with padding: add a reserved field");
        assert!(parse("struct a {\n\tlong x;\n};\n").is_err());
        assert!(parse("#define A (1 + 2)\n").is_err());
        assert!(parse("#define A _IOR('k', 1, struct nowhere)\n").is_err());
    }

    #[test]
    fn comments_become_docs() {
        let header = parse("/* Before. */\nstruct a {\n\t__u32 x; /* behind */\n\t__u32 y;\n};\n").unwrap();
        assert_eq!(header.structs[0].doc, ["Before."]);
        assert_eq!(header.structs[0].fields[0].doc, ["behind"]);
        assert!(header.structs[0].fields[1].doc.is_empty());
    }
}
