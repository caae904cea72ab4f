//! Lines of dtrace -O json that do not follow their schema.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The file with the schema
    pub schema: PathBuf,
}

/// Reads lines `NUMBER<TAB>JSON`, and writes `NUMBER<TAB>MESSAGE` for each violation of the schema; a message of
/// several lines becomes several such lines. All input is read before any output, so a caller can write first and
/// read then.
pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let validator = Validator::new(&options.schema)?;
    let messages = messages(&validator, io::stdin().lock())?;
    io::stdout().write_all(messages.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn messages(validator: &Validator, input: impl BufRead) -> Result<String> {
    let mut messages = String::new();
    for (at, line) in input.split(b'\n').enumerate() {
        let line = line.context("cannot read the lines")?;
        let (number, json) =
            numbered(&line).with_context(|| format!("line {} is not NUMBER<TAB>JSON", at + 1))?;
        if let Err(error) = validator.check(json) {
            let rows = error.to_string();
            messages.extend(rows.lines().map(|row| format!("{number}\t{row}\n")));
        }
    }
    Ok(messages)
}

fn numbered(line: &[u8]) -> Option<(usize, &[u8])> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let number = str::from_utf8(&line[..tab]).ok()?.parse().ok()?;
    Some((number, &line[tab + 1..]))
}

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new(file: &Path) -> Result<Validator> {
        let name = file.display().to_string();
        let text = fs::read(file).with_context(|| format!("cannot read {name}"))?;
        let schema = serde_json::from_slice(&text).with_context(|| name.clone())?;
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let wrong = |error: &dyn std::fmt::Display| anyhow!("{name}: {error}");
        compiler.add_resource(&name, schema).map_err(|error| wrong(&error))?;
        let index = compiler.compile(&name, &mut schemas).map_err(|error| wrong(&error))?;
        Ok(Validator { schemas, index })
    }

    fn check(&self, json: &[u8]) -> Result<()> {
        let object: Value = serde_json::from_slice(json)?;
        self.schemas.validate(&object, self.index).map_err(|error| anyhow!("{error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(lines: &str) -> Result<String> {
        let schema = xtask::workspace::root().join("docs/schema/trace-1.schema.json");
        messages(&Validator::new(&schema).unwrap(), lines.as_bytes())
    }

    #[test]
    fn the_schema_refuses_what_it_does_not_know() {
        let end =
            serde_json::json!({ "type": "end", "timestamp": "2026-01-01T00:00:00.000000000Z", "status": 0 });
        assert_eq!(about(&format!("0\t{end}\n")).unwrap(), "");
        for wrong in [
            serde_json::json!({ "type": "end", "timestamp": "2026-01-01", "status": 0 }),
            serde_json::json!({ "type": "other" }),
            serde_json::json!({ "type": "begin", "schema": 2, "timestamp": "2026-01-01T00:00:00.000000000Z" }),
        ] {
            let said = about(&format!("0\t{end}\n7\t{wrong}\n1\t{end}")).unwrap();
            assert!(said.lines().count() > 1 && said.lines().all(|row| row.starts_with("7\t")), "{said}");
        }
    }

    #[test]
    fn a_line_that_is_no_json_has_a_message() {
        assert_eq!(about("3\t{\n").unwrap(), "3\tEOF while parsing an object at line 1 column 1\n");
        let error = about("3\t{}\n{}\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2 is not NUMBER<TAB>JSON");
    }
}
