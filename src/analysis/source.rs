//! analysis/source.rs: the text of source lines, if the source is available.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Source files, read on demand.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    folders: Vec<PathBuf>,
    /// How missing files are provided.
    advice: &'static str,
    /// By the name in the debug information; `None`: not available.
    files: HashMap<String, Option<Text>>,
}

#[derive(Debug)]
struct Text {
    path: PathBuf,
    lines: Vec<String>,
}

/// The size limit; a larger file is not a source file.
const MOST: u64 = 16 << 20;

impl Sources {
    /// `given`: the option sourcepath; `release`: the running kernel's release, for the folders where
    /// packages install the source.
    pub(crate) fn new(given: &[String], release: Option<&str>) -> Sources {
        let mut folders = named(given);
        if let Some(release) = release {
            let version = release.split(['-', '+']).next().unwrap_or(release);
            let short = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
            folders.push(format!("/lib/modules/{release}/source").into());
            folders
                .extend([version, &short].map(|version| format!("/usr/src/linux-source-{version}").into()));
            folders.extend([version, &short].map(|version| format!("/usr/src/linux-{version}").into()));
            folders.push("/usr/src/linux".into());
        }
        let advice = "unpack the source of this kernel (Debian: the package linux-source), and name its folder with -x sourcepath=FOLDER";
        Sources { folders, advice, files: HashMap::new() }
    }

    /// The sources of programs: in the folders of the option sourcepath, in the given ones, and at their own paths.
    pub(crate) fn of_programs(given: &[String], folders: Vec<PathBuf>) -> Sources {
        let mut all = named(given);
        all.extend(folders);
        all.push("/".into());
        Sources {
            folders: all,
            advice: "name the folder of the source with -x sourcepath=FOLDER",
            files: HashMap::new(),
        }
    }

    /// The text of a line, counted from 1.
    pub(crate) fn line(&mut self, file: &str, line: u64) -> Option<&str> {
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        self.text(file)?.lines.get(index).map(String::as_str)
    }

    /// The path of the file.
    pub(crate) fn path(&mut self, file: &str) -> Option<&Path> {
        self.text(file).map(|text| text.path.as_path())
    }

    /// A remark if requested files are missing, and how to get them.
    pub(crate) fn missing(&self) -> Option<String> {
        let names = self.files.iter().filter(|(_, text)| text.is_none()).map(|(name, _)| name.as_str());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        let first = names.first()?;
        let more = match names.len() - 1 {
            0 => "is".to_owned(),
            1 => "and another file are".to_owned(),
            more => format!("and {more} more files are"),
        };
        Some(format!("{first} {more} missing, so lines have no text: {}", self.advice))
    }

    fn text(&mut self, file: &str) -> Option<&Text> {
        if !self.files.contains_key(file) {
            let found = find(&self.folders, file);
            self.files.insert(file.to_owned(), found);
        }
        self.files.get(file)?.as_ref()
    }
}

/// The folders of the option sourcepath.
fn named(given: &[String]) -> Vec<PathBuf> {
    let all = given.iter().flat_map(|list| list.split(':'));
    all.filter(|one| !one.is_empty()).map(PathBuf::from).collect()
}

/// Reads the file below one of the folders: by its full name, or by the part that follows the build folder.
fn find(folders: &[PathBuf], file: &str) -> Option<Text> {
    let relative = Path::new(file.trim_start_matches('/'));
    let parts: Vec<_> = relative.components().collect();
    // A name of one component cannot be a file in the root of the kernel's source.
    let tails =
        (0..parts.len().saturating_sub(1).max(1)).map(|skip| parts[skip..].iter().collect::<PathBuf>());
    let tails: Vec<PathBuf> =
        tails.filter(|tail| tail.components().all(|part| part.as_os_str() != "..")).collect();
    let there = folders.iter().flat_map(|folder| tails.iter().map(move |tail| folder.join(tail)));
    there.into_iter().find_map(|path| Some(Text { lines: read(&path)?, path }))
}

fn read(path: &Path) -> Option<Vec<String>> {
    let is_small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MOST);
    let text = is_small.then(|| std::fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn a_file_is_found_without_the_folder_that_it_was_built_in() {
        let folder = std::env::temp_dir().join(format!("kinst-sources-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("fs")).unwrap();
        std::fs::write(folder.join("fs/open.c"), b"one\ntwo\xff\n").unwrap();
        std::fs::write(folder.join("secret"), "no").unwrap();
        let mut sources = Sources::new(&[format!("/nowhere:{}", folder.join("fs/..").display())], None);
        assert_eq!(sources.line("fs/open.c", 1), Some("one"));
        assert!(sources.line("/build/linux-6.1/fs/open.c", 2).is_some_and(|line| line.starts_with("two")));
        for (file, line) in
            [("fs/open.c", 0), ("fs/open.c", 3), ("fs/read.c", 1), ("fs/../secret", 1), ("", 1)]
        {
            assert_eq!(sources.line(file, line), None, "{file}:{line}");
        }
        let missing = sources.missing().unwrap();
        assert!(missing.contains("and 2 more files are missing") && missing.contains("-x sourcepath="));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
