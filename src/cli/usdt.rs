//! cli/usdt.rs: -h and -G: a header of static probes, and an object file with their semaphores.

use super::config::Config;
use super::console::{Console, Failed};
use super::dtrace_args::{Mode, ProgramArg};
use super::output::reason;
use crate::usdt::{self, Provider};
use kinst_base::machine::Machine;
use kinst_base::source::Origin;
use kinst_debuginfo::ElfFile;
use std::path::{Path, PathBuf};

/// Writes the header, or the object file, of the providers that the scripts define.
pub(super) fn write(config: &mut Config, console: &Console) -> Result<u8, Failed> {
    config.read_programs(console)?;
    let makes_header = config.invocation.mode == Mode::Header;
    let programs = &config.invocation.programs;
    let [ProgramArg { origin: Origin::Script, text: script }] = &programs[..] else {
        let option = if makes_header { "-h" } else { "-G" };
        return console.fail(&format!("{option} needs one script, with -s FILE"), None);
    };
    let script = script.clone();
    let (file, macros) = (config.files[0], config.macros(0));
    let providers = usdt::parse(&config.sources, file, &macros).map_err(|diagnostic| {
        config.report(console, &diagnostic);
        Failed
    })?;
    let path = output(config.invocation.output.as_deref(), &script, if makes_header { "h" } else { "o" });
    let contents = match makes_header {
        true => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            usdt::header(&name, &providers).into_bytes()
        }
        false => {
            let machine = machine(&config.invocation.operands, console)?;
            let made = kinst_debuginfo::semaphores(&semaphores(&providers), machine, &path);
            made.or_else(|error| console.fail(&error.to_string(), None))?
        }
    };
    std::fs::write(&path, contents).or_else(|error| {
        console.fail(&format!("failed to write {}: {}", path.display(), reason(&error)), None)
    })?;
    Ok(0)
}

/// The file of -o, or one with the name of the script in the current directory.
fn output(given: Option<&str>, script: &str, extension: &str) -> PathBuf {
    match given {
        Some(path) => PathBuf::from(path),
        None => Path::new(Path::new(script).file_name().unwrap_or_default()).with_extension(extension),
    }
}

fn semaphores(providers: &[Provider]) -> Vec<String> {
    let of = |provider: &Provider| {
        let name = provider.name.clone();
        provider.probes.iter().map(move |probe| usdt::semaphore(&name, &probe.name)).collect::<Vec<_>>()
    };
    providers.iter().flat_map(of).collect()
}

/// Returns the machine of the object files of the project. The files of other compilers, with code that is linked as a
/// whole, do not tell.
fn machine(objects: &[String], console: &Console) -> Result<Machine, Failed> {
    let mut machine = None;
    for object in objects {
        if let Err(error) = std::fs::metadata(object) {
            return console.fail(&format!("failed to open {object}: {}", reason(&error)), None);
        }
        let found = ElfFile::open(Path::new(object)).ok().and_then(|file| file.machine());
        machine = machine.or(found);
    }
    Ok(machine.unwrap_or(Machine::HERE))
}
