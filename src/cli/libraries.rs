//! cli/libraries.rs: the D libraries that a run reads: from -L, from the system's directory, and the built-in ones.

use super::config::Config;
use super::console::{Console, Failed};
use super::output::reason;
use crate::dlib;
use crate::options::key;
use crate::pipeline::LibraryFile;
use kinst_base::source::{Origin, Source};

impl Config {
    /// Reads the libraries. The directories of -L come first, as other libraries may depend on them.
    pub(crate) fn read_libraries(&mut self, console: &Console) -> Result<(), Failed> {
        if self.options.flag(key::NOLIBS) {
            return Ok(());
        }
        for directory in self.options.list(key::LIBDIR).to_vec() {
            self.read_directory(console, &directory)?;
        }
        match self.options.text(key::SYSLIBDIR).map(str::to_owned) {
            Some(directory) => self.read_directory(console, &directory),
            None => {
                self.add_own_libraries();
                Ok(())
            }
        }
    }

    fn add_own_libraries(&mut self) {
        let texts = self.files.iter().chain(self.libraries.iter().map(|library| &library.file));
        let wanted = dlib::wanted(texts.map(|file| self.sources.get(*file).text.as_str()));
        for library in wanted {
            let text = library.text.to_owned();
            let source = Source { name: library.name.to_owned(), text, origin: Origin::Library };
            self.libraries.push(LibraryFile { file: self.sources.add(source), own: true });
        }
    }

    /// Reads all files that end in `.d`. A directory that cannot be read is skipped with a warning.
    fn read_directory(&mut self, console: &Console, directory: &str) -> Result<(), Failed> {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                let why = reason(&error);
                console.report.warning(&format!("no D libraries were read from {directory}: {why}"));
                return Ok(());
            }
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".d")).collect();
        names.sort();
        let mut files = Vec::new();
        for name in names {
            let path = format!("{}/{name}", directory.trim_end_matches('/'));
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    return console.fail(&format!("failed to open {path}: {}", reason(&error)), None);
                }
            };
            let text = crate::parser::decode(bytes).or_else(|diagnostic| {
                console.fail(&format!("failed to compile library {path}: {}", diagnostic.title), None)
            })?;
            files.push((name, text));
        }
        for index in dlib::order(&files) {
            let (name, text) = files[index].clone();
            let name = format!("{}/{name}", directory.trim_end_matches('/'));
            let file = self.sources.add(Source { name, text, origin: Origin::Library });
            self.libraries.push(LibraryFile { file, own: false });
        }
        Ok(())
    }
}
