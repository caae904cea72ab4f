//! debuginfo/debuginfod.rs: debug information by build id, from the servers in DEBUGINFOD_URLS.

use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::buildid::BuildId;
use super::elf_file::ElfFile;
use super::error::Error;
use kinst_os::process;

/// Reports what the program is waiting for.
pub type Say<'s> = &'s (dyn Fn(&str) + Sync);

/// The result of a query.
pub enum Asked {
    /// A file with debug information and the build id.
    Found(Box<ElfFile>),
    /// No server has it.
    Unknown,
    /// No answer, or a file that cannot be used.
    Failed(Error),
}

/// The servers to query, as configured by the user.
pub fn servers() -> Option<String> {
    let urls = std::env::var_os("DEBUGINFOD_URLS")?.to_string_lossy().trim().to_owned();
    (!urls.is_empty()).then_some(urls)
}

/// Queries with debuginfod-find, which caches downloads for the user. `of` names the binary that the file
/// belongs to.
pub fn fetch(id: &BuildId, of: &str, say: Say<'_>) -> Asked {
    say(&format!("querying debuginfod for the debug information of {of} (build id {id})"));
    let failed = |cause: String| Asked::Failed(Error::Debuginfod { of: of.to_owned(), cause });
    let show = std::io::stderr().is_terminal();
    let mut command = Command::new("debuginfod-find");
    command.args(["debuginfo", &id.to_string()]).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if show {
        command.env("DEBUGINFOD_PROGRESS", "1");
    }
    process::ends_with_us(&mut command);
    let (status, path, said) = match command.spawn().and_then(|child| finish(child, show)) {
        Ok(finished) => finished,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return failed("the program debuginfod-find is not installed".to_owned());
        }
        Err(error) => return failed(error.to_string()),
    };
    if !status {
        // ENOENT is the client's equivalent of a server's 404.
        let last = said.trim_end().rsplit(['\n', '\r']).next().unwrap_or_default().trim();
        return match last.contains("No such file") {
            true => Asked::Unknown,
            false => failed(last.to_owned()),
        };
    }
    match ElfFile::open(&path) {
        Ok(image) if image.build_id() != Some(id) => Asked::Failed(Error::BuildId {
            file: image.build_id().cloned(),
            path,
            wanted: id.clone(),
            of: of.to_owned(),
        }),
        Ok(image) if image.has_dwarf() => Asked::Found(Box::new(image)),
        Ok(_) => Asked::Unknown,
        Err(error) => Asked::Failed(error),
    }
}

/// Returns the child's success, the path that it printed, and its messages, which are shown at once if
/// `show`.
fn finish(mut child: Child, show: bool) -> std::io::Result<(bool, PathBuf, String)> {
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        let mut chunk = [0; 512];
        loop {
            let read = stderr.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            said.extend_from_slice(&chunk[..read]);
            if show {
                let _ = std::io::stderr().lock().write_all(&chunk[..read]);
            }
        }
    }
    let output = child.wait_with_output()?;
    let path = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    Ok((output.status.success(), PathBuf::from(path), String::from_utf8_lossy(&said).into_owned()))
}
