//! uapi/: crates/base/src/uapi.rs from the module's headers, so that both sides of the device agree by construction.

mod parse;
mod render;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write nothing; fail if the file is out of date
    #[arg(long)]
    pub check: bool,
}

pub(crate) fn main(options: &Options) -> Result<()> {
    let target = crate::workspace::root().join("crates/base/src/uapi.rs");
    let generated = generate()?;
    if !options.check {
        return std::fs::write(&target, generated)
            .with_context(|| format!("cannot write {}", target.display()));
    }
    let present =
        std::fs::read_to_string(&target).with_context(|| format!("cannot read {}", target.display()))?;
    if present != generated {
        bail!("crates/base/src/uapi.rs does not match kmod/include/uapi; run `cargo xtask uapi`");
    }
    Ok(())
}

/// The contents of crates/base/src/uapi.rs.
pub(crate) fn generate() -> Result<String> {
    rustfmt(&render::render(&header()?))
}

/// The headers, the first of which includes the others.
const HEADERS: [&str; 2] = ["kinst.h", "kinst_dif.h"];

/// All declarations, in the order of the headers.
fn header() -> Result<parse::Header> {
    let mut all = parse::Header::default();
    for name in HEADERS {
        let path = folder().join(name);
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let header = parse::parse(&text).with_context(|| format!("in {}", path.display()))?;
        all.defines.extend(header.defines);
        all.enums.extend(header.enums);
        all.structs.extend(header.structs);
    }
    Ok(all)
}

fn folder() -> PathBuf {
    crate::workspace::root().join("kmod/include/uapi")
}

fn rustfmt(text: &str) -> Result<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(crate::workspace::root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run rustfmt; `rustup component add rustfmt` brings it")?;
    // rustfmt reads all of its input before it writes, so the pipes cannot deadlock.
    child.stdin.take().context("no pipe to rustfmt")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt refused the generated text");
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parse::Value;

    #[test]
    fn the_generated_file_is_current() {
        main(&Options { check: true }).unwrap();
    }

    /// The C compiler prints every number that the parser computed; the generated file asserts the same in Rust.
    #[test]
    fn the_c_compiler_agrees() {
        let header = header().unwrap();
        let (mut program, mut expected) = (String::new(), String::new());
        program.push_str("#include <stdio.h>\n#include <stddef.h>\n#include \"kinst.h\"\nint main(void) {\n");
        let mut number = |label: &str, expression: &str, value: u64| {
            program.push_str(&format!("printf(\"{label} %llu\\n\", (unsigned long long)({expression}));\n"));
            expected.push_str(&format!("{label} {value}\n"));
        };
        for define in &header.defines {
            match &define.value {
                Value::Number(value) => number(&define.name, &define.name, *value),
                Value::Ioctl(value) => number(&define.name, &define.name, u64::from(*value)),
                Value::Text(text) => {
                    number(&define.name, &format!("sizeof({}) - 1", define.name), text.len() as u64);
                }
            }
        }
        for (name, value) in header.enums.iter().flat_map(|e| &e.values).map(|v| (&v.name, v.value)) {
            number(name, name, u64::from(value));
        }
        for layout in &header.structs {
            let tag = format!("struct {}", layout.name);
            number(&layout.name, &format!("sizeof({tag})"), layout.size as u64);
            for field in &layout.fields {
                let place = format!("{}.{}", layout.name, field.name);
                number(&place, &format!("offsetof({tag}, {})", field.name), field.offset as u64);
                let size = format!("sizeof((({tag} *)0)->{})", field.name);
                number(&format!("{place} size"), &size, field.size() as u64);
            }
        }
        program.push_str("return 0; }\n");
        assert_eq!(run_c(&program), expected);
    }

    fn run_c(program: &str) -> String {
        let dir = std::env::temp_dir().join(format!("kinst-uapi-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("print.c"), program).unwrap();
        let include = folder();
        let built = Command::new("gcc")
            .args(["-Wall", "-Werror", "-o", "print", "print.c", "-I"])
            .arg(&include)
            .current_dir(&dir)
            .status()
            .unwrap();
        assert!(built.success());
        let output = Command::new(dir.join("print")).output().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}
