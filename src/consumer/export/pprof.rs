//! consumer/export/pprof.rs: -O pprof: a gzipped profile.proto, for pprof, Pyroscope, Parca and speedscope.

use super::exporter::Export;
use super::profile::{self, Label, NO_FRAMES, Sample, Series};
use super::proto::{self, Message as _};
use super::tables::Tables;
use crate::consumer::frame::Frame;
use crate::consumer::value::Value;
use flate2::{Compression, write::GzEncoder};
use kinst_base::probe::Place;
use kinst_dif::enabled::Enabled;
use kinst_dif::object::Ecb;
use kinst_dif::{Clause, Program};
use std::collections::HashMap;
use std::hash::Hash;
use std::io::Write as _;

#[derive(Debug)]
pub(crate) struct Pprof {
    /// The start of tracing: nanoseconds since 1970, and nanoseconds of the monotonic clock.
    begun: (i64, i64),
    /// The nanoseconds between samples, if one clock takes them all.
    period: Option<u64>,
}

impl Default for Pprof {
    /// Takes the current time as the start, until `begin` sets it.
    fn default() -> Pprof {
        Pprof { begun: (kinst_os::time_of_day(), kinst_os::monotonic()), period: None }
    }
}

impl Pprof {
    pub(crate) fn new(program: &Program, enabled: &Enabled) -> Pprof {
        Pprof { period: period(program, enabled), ..Pprof::default() }
    }
}

/// Returns the interval of the profile probe that counts all stacks; `None` if other probes or another interval count
/// some.
fn period(program: &Program, enabled: &Enabled) -> Option<u64> {
    let counts = |clause: &Clause| {
        let ids = clause.actions.iter().filter_map(|action| (action.agg as usize).checked_sub(1));
        ids.filter_map(|id| program.aggregations.get(id)).any(profile::is_profile)
    };
    let counting = |ecb: &&Ecb| program.clauses.get(ecb.clause as usize).is_some_and(counts);
    let mut intervals = enabled.ecbs.iter().filter(counting).map(|ecb| {
        match enabled.probes.get(ecb.probe as usize).map(|probe| &probe.place) {
            Some(Place::Profile { interval }) => Some(*interval),
            _ => None,
        }
    });
    let first = intervals.next()??;
    intervals.all(|other| other == Some(first)).then_some(first)
}

impl Export for Pprof {
    fn begin(&mut self, wall: i64, monotonic: i64, _out: &mut Vec<u8>) {
        self.begun = (wall, monotonic);
    }

    fn finish(&mut self, tables: &dyn Tables, _status: u8, out: &mut Vec<u8>) -> Option<String> {
        let series = profile::series(&tables.profiles());
        let (wall, begun) = self.begun;
        let profile = proto::profile::Profile {
            time_nanos: wall,
            duration_nanos: tables.ended().1.saturating_sub(begun),
            ..profile(&series, self.period)
        };
        out.extend(gzipped(&profile.encode_to_vec()));
        profile::remark("pprof", &series, true)
    }
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Makes the profile, without times. The values of a stack in several aggregations are one sample.
fn profile(series: &[Series], period: Option<u64>) -> proto::profile::Profile {
    let mut build = Build::default();
    build.text("");
    let mut sample_type: Vec<proto::profile::ValueType> = Vec::new();
    for one in series {
        let r#type = build.text(&one.name);
        let unit = build.text(one.unit.text());
        // Make duplicate names unique, as for @wait and @wait_ns, or @ and @samples: readers select by name.
        let r#type = match sample_type.iter().any(|known| known.r#type == r#type) {
            true if one.aggregation.is_empty() => build.text("@"),
            true if one.aggregation == one.name => build.text(&format!("@{}", one.aggregation)),
            true => build.text(&one.aggregation),
            false => r#type,
        };
        sample_type.push(proto::profile::ValueType { r#type, unit });
    }
    for (index, one) in series.iter().enumerate() {
        one.samples.iter().for_each(|sample| build.sample(sample, index, series.len()));
    }
    let period_type = period.map(|_| proto::profile::ValueType {
        r#type: build.text("cpu"),
        unit: build.text(profile::Unit::Nanoseconds.text()),
    });
    let default_sample_type = sample_type.first().map_or(0, |first| first.r#type);
    let Build { samples, mappings, locations, functions, strings, .. } = build;
    proto::profile::Profile {
        sample_type,
        sample: samples,
        mapping: mappings,
        location: locations,
        function: functions,
        string_table: strings.all,
        default_sample_type,
        period_type,
        period: period.and_then(|period| i64::try_from(period).ok()).unwrap_or(0),
        ..proto::profile::Profile::default()
    }
}

/// Unique values, with the index of each.
#[derive(Debug)]
struct Table<T> {
    at: HashMap<T, usize>,
    all: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { at: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    /// Returns the index of a value, and whether it is new.
    fn put(&mut self, value: T) -> (usize, bool) {
        if let Some(known) = self.at.get(&value) {
            return (*known, false);
        }
        self.at.insert(value.clone(), self.all.len());
        self.all.push(value);
        (self.all.len() - 1, true)
    }
}

/// A code location: the module, the address, and the functions with the name, file and line of each.
type Spot = (Option<String>, u64, Vec<(String, Option<(String, u64)>)>);

#[derive(Debug, Default)]
struct Build {
    strings: Table<String>,
    /// The name and file of each function, as string indices.
    known_functions: Table<(i64, i64)>,
    functions: Vec<proto::profile::Function>,
    known_mappings: Table<String>,
    mappings: Vec<proto::profile::Mapping>,
    spots: Table<Spot>,
    locations: Vec<proto::profile::Location>,
    stacks: Table<(Vec<u64>, Vec<proto::profile::Label>)>,
    samples: Vec<proto::profile::Sample>,
}

impl Build {
    fn text(&mut self, text: &str) -> i64 {
        self.strings.put(text.to_owned()).0 as i64
    }

    fn sample(&mut self, sample: &Sample, index: usize, types: usize) {
        let mut location_id = Vec::new();
        let mut functions: Vec<&Frame> = Vec::new();
        for frame in &sample.frames {
            functions.push(frame);
            if !frame.inlined {
                location_id.push(self.location(&std::mem::take(&mut functions)));
            }
        }
        if !functions.is_empty() {
            location_id.push(self.location(&functions));
        }
        if sample.frames.is_empty() {
            location_id.push(self.spot((None, 0, vec![(NO_FRAMES.to_owned(), None)])));
        }
        let label: Vec<_> = sample.labels.iter().map(|label| self.label(label)).collect();
        let (at, new) = self.stacks.put((location_id.clone(), label.clone()));
        if new {
            self.samples.push(proto::profile::Sample { location_id, value: vec![0; types], label });
        }
        let value = &mut self.samples[at].value[index];
        *value = value.saturating_add(sample.value);
    }

    /// Makes a label: a number if it fits 64 bits, else text. The unit, which is the key as pprof assumes by default,
    /// keeps a 0 from being an empty label.
    fn label(&mut self, label: &Label) -> proto::profile::Label {
        let key = self.text(&label.name);
        let number = match &label.value {
            Value::Int(number) => i64::try_from(*number).ok(),
            _ => None,
        };
        match number {
            Some(num) => proto::profile::Label { key, str: 0, num, num_unit: key },
            None => {
                let str = self.text(&profile::text(&label.value));
                proto::profile::Label { key, str, num: 0, num_unit: 0 }
            }
        }
    }

    /// Returns the id of a location. `frames`: the inlined functions, then the out-of-line one.
    fn location(&mut self, frames: &[&Frame]) -> u64 {
        let own = frames.last().copied();
        let functions = frames.iter().filter_map(|frame| {
            let place = frame.place.as_ref().map(|place| (place.file.clone(), place.line));
            Some((frame.function.clone()?, place))
        });
        self.spot((
            own.and_then(|own| own.module.clone()),
            own.map_or(0, |own| own.address),
            functions.collect(),
        ))
    }

    fn spot(&mut self, spot: Spot) -> u64 {
        let (index, new) = self.spots.put(spot.clone());
        let id = index as u64 + 1;
        if new {
            let (module, address, functions) = spot;
            let mapping_id = module.map_or(0, |module| self.mapping(&module, &functions));
            let line = functions.into_iter().map(|(name, place)| self.line(&name, place)).collect();
            self.locations.push(proto::profile::Location { id, mapping_id, address, line });
        }
        id
    }

    /// Returns the id of a mapping. Its bounds stay 0: they do not matter for a kernel module, and with bounds,
    /// readers of several profiles would relocate addresses.
    fn mapping(&mut self, module: &str, functions: &[(String, Option<(String, u64)>)]) -> u64 {
        let filename = self.text(module);
        let (index, new) = self.known_mappings.put(module.to_owned());
        if new {
            self.mappings.push(proto::profile::Mapping {
                id: index as u64 + 1,
                filename,
                has_functions: true,
                ..Default::default()
            });
        }
        let mapping = &mut self.mappings[index];
        let lines = functions.iter().any(|(_, place)| place.is_some());
        mapping.has_filenames |= lines;
        mapping.has_line_numbers |= lines;
        mapping.has_inline_frames |= functions.len() > 1;
        mapping.id
    }

    fn line(&mut self, name: &str, place: Option<(String, u64)>) -> proto::profile::Line {
        let (file, line) = place.unwrap_or_default();
        let (name, filename) = (self.text(name), self.text(&file));
        let (index, new) = self.known_functions.put((name, filename));
        let id = index as u64 + 1;
        if new {
            self.functions.push(proto::profile::Function { id, name, system_name: name, filename });
        }
        proto::profile::Line { function_id: id, line: i64::try_from(line).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::export::profile::sample::{self, Fixed};
    use crate::snapshot;
    use std::fmt::Write as _;
    use std::io::Read as _;

    fn decoded(tables: Fixed) -> proto::profile::Profile {
        let mut out = Vec::new();
        Pprof { begun: (1_700_000_000_000_000_000, 0), period: Some(1_003_009) }.finish(&tables, 0, &mut out);
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&out[..]).read_to_end(&mut bytes).unwrap();
        proto::profile::Profile::decode(&bytes[..]).unwrap()
    }

    /// Returns the profile as text, with string indices resolved.
    fn shown(profile: &proto::profile::Profile) -> String {
        let text = |index: i64| &*profile.string_table[index as usize];
        let mut out = format!("begun {}\n", profile.time_nanos);
        for one in &profile.sample_type {
            let default = if one.r#type == profile.default_sample_type { " (default)" } else { "" };
            writeln!(out, "type {}/{}{default}", text(one.r#type), text(one.unit)).unwrap();
        }
        let period = profile.period_type.map(|one| format!("{}/{}", text(one.r#type), text(one.unit)));
        writeln!(out, "period {:?} {}", period, profile.period).unwrap();
        for sample in &profile.sample {
            write!(out, "sample {:?} at {:?}", sample.value, sample.location_id).unwrap();
            for label in &sample.label {
                match label.str {
                    0 => write!(out, ", {} = {} {}", text(label.key), label.num, text(label.num_unit)),
                    str => write!(out, ", {} = {:?}", text(label.key), text(str)),
                }
                .unwrap();
            }
            out.push('\n');
        }
        for location in &profile.location {
            let proto::profile::Location { id, mapping_id, address, line } = location;
            writeln!(out, "location {id}: mapping {mapping_id}, {address:#x}").unwrap();
            for line in line {
                let function = &profile.function[line.function_id as usize - 1];
                writeln!(out, "    {} {}:{}", text(function.name), text(function.filename), line.line)
                    .unwrap();
            }
        }
        for mapping in &profile.mapping {
            let proto::profile::Mapping { id, filename, has_functions, has_filenames, .. } = mapping;
            let has = [
                (*has_functions, "functions"),
                (*has_filenames, "files"),
                (mapping.has_line_numbers, "lines"),
                (mapping.has_inline_frames, "inlined"),
            ];
            let has: Vec<&str> = has.iter().filter(|(has, _)| *has).map(|(_, what)| *what).collect();
            writeln!(out, "mapping {id}: {} {}", text(*filename), has.join(" ")).unwrap();
        }
        out
    }

    #[test]
    fn messages() {
        let one = decoded(Fixed(vec![sample::counted()]));
        let several = decoded(Fixed(vec![sample::counted(), sample::summed(), sample::distributed()]));
        assert!(one.duration_nanos > 0);
        let text = format!("{}--- several\n{}", shown(&one), shown(&several));
        snapshot::settings("consumer").bind(|| insta::assert_snapshot!("pprof", text));
    }

    #[test]
    fn two_names_without_units_differ() {
        let renamed = crate::consumer::table::Table { name: "wait", ..sample::summed() };
        let profile = decoded(Fixed(vec![renamed, sample::summed()]));
        let names = profile.sample_type.iter().map(|one| &*profile.string_table[one.r#type as usize]);
        assert_eq!(names.collect::<Vec<_>>(), ["wait", "wait_ns"]);
    }

    /// Runs `pprof -top`. Returns for each function the value of the stacks that end in it (flat), the value of those
    /// that contain it (cum), and its name.
    fn top(program: &std::path::Path, file: &std::path::Path, kind: &str) -> Vec<(String, String, String)> {
        let mut pprof = std::process::Command::new(program);
        pprof.args(["-top", "-nodefraction=0", &format!("-sample_index={kind}")]).arg(file);
        let output = pprof.env("HOME", "/nonexistent").output().expect("pprof runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let rows = text.lines().skip_while(|line| !line.contains("flat%")).skip(1);
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[0].to_owned(), words[3].to_owned(), words[5..].join(" "))
        };
        rows.map(row).collect()
    }

    #[test]
    fn pprof_reads_it() {
        let Some(program) = crate::needs::pprof() else { return };
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut out = Vec::new();
        let tables = Fixed(vec![sample::counted(), sample::summed(), sample::distributed()]);
        Pprof::default().finish(&tables, 0, &mut out);
        std::fs::write(file.path(), out).unwrap();
        let found = |kind, function: &str| {
            let rows = top(&program, file.path(), kind);
            let row = rows.iter().find(|(.., name)| name == function);
            row.map(|(flat, cum, _)| (flat.clone(), cum.clone()))
        };
        let row = |flat: &str, cum: &str| Some((flat.to_owned(), cum.to_owned()));
        assert_eq!(found("samples", "fsnotify_parent (inline)"), row("7", "7"));
        assert_eq!(found("samples", "vfs_read"), row("0", "7"));
        assert_eq!(found("samples", "ext4_file_read_iter"), row("3", "3"));
        assert_eq!(found("samples", "(no frames)"), row("1", "1"));
        assert_eq!(found("wait", "fsnotify_access (inline)"), row("0", "1500000000ns"));
        assert_eq!(found("wait", "schedule"), row("-4ns", "-4ns"));
        assert_eq!(found("sizes", "fsnotify_parent (inline)"), row("7", "7"));
    }

    #[test]
    fn nothing_is_a_profile_without_samples() {
        let profile = decoded(Fixed(Vec::new()));
        assert_eq!(
            (profile.sample.len(), &profile.string_table[..]),
            (0, &["", "cpu", "nanoseconds"].map(str::to_owned)[..])
        );
    }
}
