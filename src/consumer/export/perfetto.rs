//! consumer/export/perfetto.rs: -O perfetto: the activity of threads, as tracks of slices and instants.
//!
//! An entry and its return are a slice on the track of their thread, if the program probes both; any other record is
//! an instant. A return ends the innermost slice of its function, and the slices nested in it, whose returns were
//! missed. A return without an entry is an instant; an entry without a return is a slice that does not end.

use super::exporter::Export;
use super::profile;
use super::proto::Message as _;
use super::proto::trace::{
    Clock, ClockSnapshot, DebugAnnotation, INCREMENTAL_STATE_CLEARED, MONOTONIC, ProcessDescriptor, REALTIME,
    ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent, Type, Value as Shown,
};
use super::tables::Tables;
use crate::consumer::clock::rfc3339;
use crate::consumer::event::{Acted, Event, Printed, Thread};
use crate::consumer::frame::Frame;
use crate::consumer::message::{Message, What};
use crate::consumer::step::Step;
use crate::consumer::value::{Member, Value};
use kinst_base::probe::End;
use kinst_dif::enabled::Enabled;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The id of the only packet sequence; 0 means none.
const SEQUENCE: u32 = 1;

/// The time in nanoseconds that an event waits for earlier events on other CPUs, which are read one after the other,
/// many times a second.
const WINDOW: u64 = 1_000_000_000;
/// The limit on waiting events.
const MOST: usize = 1 << 16;

/// The limit on nested slices on a track.
const DEEPEST: usize = 1000;

pub(crate) struct Perfetto {
    /// The functions whose entries and returns are both probed.
    paired: HashSet<Call>,
    begun: bool,
    waiting: BTreeMap<(u64, u64), Waiting>,
    /// The number of events so far, which orders events with equal timestamps.
    events: u64,
    newest: u64,
    tracks: HashMap<Place, Track>,
    /// The track and name of each process.
    processes: HashMap<i32, (u64, String)>,
    uuids: u64,
    /// The last firing on each CPU: only the first clause of a firing is a step.
    last: HashMap<u32, Firing>,
}

/// The identity of a slice: a function or system call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Call {
    syscall: bool,
    function: String,
}

/// The owner of a track. The idle threads of all CPUs share the tid 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Thread {
        pid: i32,
        tid: i32,
    },
    Idle(u32),
    /// The CPU of a record without a thread.
    Cpu(u32),
}

#[derive(Debug)]
struct Track {
    uuid: u64,
    name: String,
    /// The slices that have not ended, the outermost first.
    open: Vec<Call>,
}

#[derive(Debug, PartialEq)]
struct Firing {
    probe: u32,
    time: u64,
    step: Option<(Call, End)>,
}

/// An event that waits, as earlier ones may still arrive.
#[derive(Debug)]
struct Waiting {
    cpu: u32,
    probe: u32,
    thread: Option<Thread>,
    step: Option<(Call, End)>,
    /// The function that the function of the step is inlined into.
    into: Option<String>,
    /// The name of the event as an instant.
    title: String,
    category: String,
    values: Vec<DebugAnnotation>,
}

impl Perfetto {
    pub(crate) fn new(enabled: &Enabled) -> Perfetto {
        let mut seen: HashMap<Call, [bool; 2]> = HashMap::new();
        for ecb in &enabled.ecbs {
            let probe = enabled.probes.get(ecb.probe as usize);
            if let Some(step) = probe.and_then(|probe| Step::of(probe, Some(ecb))) {
                seen.entry(call(&step)).or_default()[usize::from(step.end == End::Return)] = true;
            }
        }
        let both = seen.into_iter().filter(|(_, ends)| *ends == [true; 2]);
        Perfetto {
            paired: both.map(|(call, _)| call).collect(),
            begun: false,
            waiting: BTreeMap::new(),
            events: 0,
            newest: 0,
            tracks: HashMap::new(),
            processes: HashMap::new(),
            uuids: 0,
            last: HashMap::new(),
        }
    }

    /// Writes the events up to and including a time.
    fn write_until(&mut self, time: u64, out: &mut Vec<u8>) {
        self.begin(out);
        while let Some(first) = self.waiting.first_entry() {
            let at = first.key().0;
            if at > time {
                break;
            }
            let event = first.remove();
            self.write(at, event, out);
        }
    }

    /// Writes a snapshot of the clocks, with which a reader converts times.
    fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let clock = |id, time: i64| Clock { clock_id: Some(id), timestamp: u64::try_from(time).ok() };
        let snapshot = ClockSnapshot {
            clocks: vec![clock(MONOTONIC, kinst_os::monotonic()), clock(REALTIME, kinst_os::time_of_day())],
            primary_trace_clock: Some(MONOTONIC),
        };
        let sequence_flags = Some(INCREMENTAL_STATE_CLEARED);
        put(TracePacket { clock_snapshot: Some(snapshot), sequence_flags, ..TracePacket::default() }, out);
    }

    fn write(&mut self, time: u64, event: Waiting, out: &mut Vec<u8>) {
        let Waiting { cpu, probe, thread, step, into, title, category, mut values } = event;
        let firing = Firing { probe, time, step: step.clone() };
        let again = self.last.get(&cpu) == Some(&firing);
        self.last.insert(cpu, firing);
        let place = self.track(thread, cpu, out);
        let Some(Track { uuid, open, .. }) = self.tracks.get_mut(&place) else { return };
        let mut event = |kind: Type, name: Option<String>, debug_annotations: Vec<DebugAnnotation>| {
            let categories = name.is_some().then(|| category.clone()).into_iter().collect();
            let track_uuid = Some(*uuid);
            let event =
                TrackEvent { r#type: Some(kind.into()), track_uuid, categories, name, debug_annotations };
            put(packet(time, event), out);
        };
        match step.filter(|(call, _)| !again && self.paired.contains(call)) {
            Some((call, End::Entry)) if open.len() < DEEPEST => {
                values.extend(into.map(|into| annotation("inlined into", Shown::Text(into))));
                event(Type::SliceBegin, Some(call.function.clone()), values);
                open.push(call);
            }
            Some((call, End::Return)) if open.contains(&call) => {
                while open.pop().is_some_and(|inner| inner != call) {
                    event(Type::SliceEnd, None, Vec::new());
                }
                // A record, to keep them apart from the values of the entry.
                let named = (!values.is_empty()).then(|| DebugAnnotation {
                    name: Some("return".to_owned()),
                    dict_entries: values,
                    ..DebugAnnotation::default()
                });
                event(Type::SliceEnd, None, named.into_iter().collect());
            }
            _ => event(Type::Instant, Some(title), values),
        }
    }

    /// Ends all slices: records were lost, perhaps those of returns.
    fn interrupt(&mut self, out: &mut Vec<u8>) {
        self.write_until(u64::MAX, out);
        for track in self.tracks.values_mut() {
            for _ in track.open.drain(..) {
                let event = TrackEvent {
                    r#type: Some(Type::SliceEnd.into()),
                    track_uuid: Some(track.uuid),
                    ..TrackEvent::default()
                };
                put(packet(self.newest, event), out);
            }
        }
    }

    /// Returns the track of a thread. A track is described when it is new or its name changes.
    fn track(&mut self, thread: Option<Thread>, cpu: u32, out: &mut Vec<u8>) -> Place {
        let (place, name) = match thread {
            Some(Thread { tid: 0, name, .. }) => (Place::Idle(cpu), name),
            Some(Thread { pid, tid, name }) => (Place::Thread { pid, tid }, name),
            None => (Place::Cpu(cpu), format!("CPU {cpu}")),
        };
        if self.tracks.get(&place).is_some_and(|track| track.name == name) {
            return place;
        }
        let thread = match place {
            Place::Thread { pid, tid } => {
                self.process(pid, tid, &name, out);
                Some(ThreadDescriptor { pid: Some(pid), tid: Some(tid), thread_name: Some(name.clone()) })
            }
            Place::Idle(_) | Place::Cpu(_) => None,
        };
        let next = self.uuids + 1;
        let track =
            self.tracks.entry(place).or_insert(Track { uuid: next, name: String::new(), open: Vec::new() });
        self.uuids = self.uuids.max(track.uuid);
        track.name.clone_from(&name);
        let name = thread.is_none().then_some(name);
        describe(TrackDescriptor { uuid: Some(track.uuid), name, process: None, thread }, out);
        place
    }

    /// Describes a process. Its name is that of its main thread or, until that one has an event, of another thread.
    fn process(&mut self, pid: i32, tid: i32, name: &str, out: &mut Vec<u8>) {
        let next = self.uuids + 1;
        let (uuid, known) = self.processes.entry(pid).or_insert((next, String::new()));
        if known == name || (pid != tid && !known.is_empty()) {
            return;
        }
        self.uuids = self.uuids.max(*uuid);
        name.clone_into(known);
        let process = ProcessDescriptor { pid: Some(pid), process_name: Some(name.to_owned()) };
        describe(
            TrackDescriptor { uuid: Some(*uuid), name: None, process: Some(process), thread: None },
            out,
        );
    }
}

impl Export for Perfetto {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let name = &event.probe.name;
        let title = match name.function.is_empty() {
            true => name.name.clone(),
            false => format!("{}:{}", name.function, name.name),
        };
        let waiting = Waiting {
            cpu: event.cpu,
            probe: event.probe.id,
            thread: event.thread.clone(),
            step: event.step.map(|step| (call(&step), step.end)),
            into: event.step.and_then(|step| step.into).map(str::to_owned),
            title,
            category: name.provider.clone(),
            values: values(&event.actions),
        };
        self.events += 1;
        self.newest = self.newest.max(event.monotonic);
        self.waiting.insert((event.monotonic, self.events), waiting);
        let first = self.waiting.first_key_value().map_or(self.newest, |((time, _), _)| *time);
        // Write in large pieces: each one is a system call.
        if self.newest - first > 2 * WINDOW {
            self.write_until(self.newest - WINDOW, out);
        }
        if self.waiting.len() >= MOST {
            let half = self.waiting.keys().nth(MOST / 2).map_or(self.newest, |(time, _)| *time);
            self.write_until(half, out);
        }
    }

    fn message(&mut self, message: &Message, out: &mut Vec<u8>) {
        if matches!(message.what, What::Drop { tag: "PRINCIPAL", .. }) {
            self.interrupt(out);
        }
    }

    fn finish(&mut self, _tables: &dyn Tables, _status: u8, out: &mut Vec<u8>) -> Option<String> {
        self.write_until(u64::MAX, out);
        None
    }
}

fn call(step: &Step<'_>) -> Call {
    Call { syscall: step.syscall, function: step.function.to_owned() }
}

fn packet(time: u64, event: TrackEvent) -> TracePacket {
    TracePacket {
        timestamp: Some(time),
        timestamp_clock_id: Some(MONOTONIC),
        track_event: Some(event),
        ..TracePacket::default()
    }
}

fn describe(track: TrackDescriptor, out: &mut Vec<u8>) {
    put(TracePacket { track_descriptor: Some(track), ..TracePacket::default() }, out);
}

/// Writes a trace of one packet; concatenated traces are one trace.
fn put(packet: TracePacket, out: &mut Vec<u8>) {
    let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
    out.extend(Trace { packet: vec![packet] }.encode_to_vec());
}

/// Returns the recorded values, each under the name of its action; `printf 2` is the second printf() of a clause.
fn values(actions: &[Acted<'_>]) -> Vec<DebugAnnotation> {
    let mut all: Vec<DebugAnnotation> = Vec::new();
    let mut times: HashMap<&str, usize> = HashMap::new();
    let mut add = |name: &'static str, value: DebugAnnotation| {
        let count = times.entry(name).or_default();
        *count += 1;
        let name = if *count == 1 { name.to_owned() } else { format!("{name} {count}") };
        let empty = value.value.is_none() && value.dict_entries.is_empty() && value.array_values.is_empty();
        let value = if empty { bytes(b"") } else { value };
        all.push(DebugAnnotation { name: Some(name), ..value });
    };
    for action in actions {
        match action {
            Acted::Trace(value) => add("trace", shown(value)),
            Acted::Print { value, .. } => add("print", shown(value)),
            Acted::PrintAll(printed) => add("variables", variables(printed)),
            Acted::Printf { text, .. } => add("printf", bytes(text)),
            Acted::Stack(frames) => add("stack", stack(frames)),
            Acted::Ustack { frames, .. } => add("ustack", stack(frames)),
            Acted::Symbol(value) => add("symbol", shown(value)),
            Acted::Memory(value) => add("memory", shown(value)),
            Acted::System(command) => add("system", bytes(command)),
            Acted::Exit(status) => add("exit", of(Shown::Int((*status).into()))),
            Acted::Printa { .. }
            | Acted::Freopen(_)
            | Acted::Ftruncate
            | Acted::Clear(_)
            | Acted::Trunc { .. }
            | Acted::Normalize { .. }
            | Acted::Denormalize(_)
            | Acted::Setopt { .. } => {}
        }
    }
    all
}

fn of(value: Shown) -> DebugAnnotation {
    DebugAnnotation { value: Some(value), ..DebugAnnotation::default() }
}

fn annotation(name: &str, value: Shown) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_owned()), ..of(value) }
}

fn bytes(text: &[u8]) -> DebugAnnotation {
    of(Shown::Text(String::from_utf8_lossy(text).into_owned()))
}

fn stack(frames: &[Frame]) -> DebugAnnotation {
    let array_values = frames.iter().map(|frame| of(Shown::Text(frame.to_string()))).collect();
    DebugAnnotation { array_values, ..DebugAnnotation::default() }
}

fn shown(value: &Value) -> DebugAnnotation {
    match value {
        Value::Int(number) => of(match (i64::try_from(*number), u64::try_from(*number)) {
            (Ok(number), _) => Shown::Int(number),
            (_, Ok(number)) => Shown::Uint(number),
            _ => Shown::Text(number.to_string()),
        }),
        Value::Pointer(address) => of(Shown::Text(format!("{address:#x}"))),
        Value::Float(number) => of(Shown::Double(*number)),
        Value::Stack(frames) => stack(frames),
        Value::Array(elements) => DebugAnnotation {
            array_values: elements.iter().map(shown).collect(),
            ..DebugAnnotation::default()
        },
        Value::Record(members) => record(members.iter()),
        Value::Time(nanoseconds) => of(Shown::Text(rfc3339(*nanoseconds))),
        other => of(Shown::Text(profile::text(other))),
    }
}

fn record<'a>(members: impl Iterator<Item = &'a Member>) -> DebugAnnotation {
    let entry = |member: &Member| DebugAnnotation { name: Some(member.name.clone()), ..shown(&member.value) };
    DebugAnnotation { dict_entries: members.map(entry).collect(), ..DebugAnnotation::default() }
}

fn variables(printed: &[Printed<'_>]) -> DebugAnnotation {
    record(printed.iter().filter_map(|line| match line {
        Printed::Value(member) => Some(member),
        Printed::Function(_) | Printed::Missing { .. } => None,
    }))
}

#[cfg(test)]
mod tests;
