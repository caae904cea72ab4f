//! consumer/export/perfetto/tests.rs: traces of made-up records, decoded again.

use super::*;
use crate::consumer::export::profile::sample::Fixed;
use crate::consumer::table::Table;
use crate::snapshot;
use kinst_base::probe::{Fields, Place as Where, Probe};
use kinst_dif::object::Ecb;
use std::fmt::Write as _;

const PROBES: [(&str, &str, &str); 9] = [
    ("fbt", "f", "entry"),
    ("fbt", "f", "return"),
    ("fbt", "g", "entry"),
    ("fbt", "g", "return"),
    ("syscall", "f", "entry"),
    ("syscall", "f", "return"),
    ("fbt", "lone", "entry"),
    ("profile", "", "tick-1s"),
    ("kinst", "caller", "53"),
];

/// The enablings of all probes; those of the last probe are the entry and the return of a copy of `f`.
fn enabled() -> Enabled {
    let probe = |(number, (provider, function, name)): (usize, &(&str, &str, &str))| Probe {
        id: number as u32,
        name: Fields::new(provider, "vmlinux", function, name),
        place: Where::FbtEntry { func: 0 },
    };
    let mut ecbs: Vec<Ecb> = (0..8).map(|probe| Ecb { probe, clause: 0, inlined: None, end: None }).collect();
    ecbs.extend([End::Entry, End::Return].map(|end| Ecb {
        probe: 8,
        clause: 0,
        inlined: Some("f".into()),
        end: Some(end),
    }));
    Enabled { probes: PROBES.iter().enumerate().map(probe).collect(), ecbs }
}

#[derive(Clone, Debug)]
struct Fired {
    ecb: usize,
    /// pid and tid
    thread: (i32, i32),
    cpu: u32,
    time: u64,
}

fn fired(ecb: usize, tid: i32, time: u64) -> Fired {
    Fired { ecb, thread: (7, tid), cpu: 0, time }
}

fn give(
    perfetto: &mut Perfetto,
    enabled: &Enabled,
    fired: &Fired,
    actions: Vec<Acted<'_>>,
    out: &mut Vec<u8>,
) {
    let ecb = &enabled.ecbs[fired.ecb];
    let probe = &enabled.probes[ecb.probe as usize];
    let (pid, tid) = fired.thread;
    let name = if tid == 0 { format!("swapper/{}", fired.cpu) } else { format!("thread {tid}") };
    let event = Event {
        probe,
        cpu: fired.cpu,
        monotonic: fired.time,
        wall: 0,
        thread: Some(Thread { pid, tid, name }),
        step: Step::of(probe, Some(ecb)),
        actions,
    };
    perfetto.event(&event, out);
}

fn written(records: &[Fired]) -> Trace {
    let enabled = enabled();
    let (mut perfetto, mut out) = (Perfetto::new(&enabled), Vec::new());
    records.iter().for_each(|fired| give(&mut perfetto, &enabled, fired, Vec::new(), &mut out));
    perfetto.finish(&Fixed(Vec::<Table<'_>>::new()), 0, &mut out);
    Trace::decode(&out[..]).unwrap()
}

/// Formats the events in order, each after its thread, and the descriptions of tracks.
fn shown(trace: &Trace) -> String {
    let mut names = HashMap::new();
    let mut out = String::new();
    for packet in &trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id, Some(SEQUENCE));
        if let Some(TrackDescriptor { uuid, name, process, thread }) = &packet.track_descriptor {
            let text = match (process, thread) {
                (Some(process), _) => format!("process {} {:?}", process.pid(), process.process_name()),
                (_, Some(thread)) => {
                    format!("thread {} of {} {:?}", thread.tid(), thread.pid(), thread.thread_name())
                }
                _ => format!("track {:?}", name.as_deref().unwrap_or_default()),
            };
            writeln!(out, "{text}").unwrap();
            names.insert(uuid.unwrap(), text.split(' ').take(2).collect::<Vec<_>>().join(" "));
        }
        let Some(event) = &packet.track_event else { continue };
        assert_eq!(packet.timestamp_clock_id, Some(MONOTONIC));
        let kind = match event.r#type() {
            Type::SliceBegin => "begin",
            Type::SliceEnd => "end",
            Type::Instant => "instant",
            Type::Unspecified => panic!("an event without a type"),
        };
        let what = event.name.as_deref().unwrap_or_default();
        write!(out, "{:>4} {}: {kind} {what}", packet.timestamp.unwrap(), names[&event.track_uuid.unwrap()])
            .unwrap();
        out.truncate(out.trim_end().len());
        out.extend(event.categories.iter().map(|category| format!(" [{category}]")));
        out.extend(event.debug_annotations.iter().map(|annotation| format!(" {}", text(annotation))));
        out.push('\n');
    }
    out
}

fn text(annotation: &DebugAnnotation) -> String {
    let DebugAnnotation { name, value, dict_entries, array_values } = annotation;
    let all = |annotations: &[DebugAnnotation]| annotations.iter().map(text).collect::<Vec<_>>().join(", ");
    let name = name.as_ref().map_or_else(String::new, |name| format!("{name}="));
    match value {
        Some(value) => format!("{name}{value:?}"),
        None if !dict_entries.is_empty() => format!("{name}{{{}}}", all(dict_entries)),
        None => format!("{name}[{}]", all(array_values)),
    }
}

/// A probe, a thread and a time.
type Firing = (usize, i32, u64);

#[test]
fn slices_and_instants() {
    let cases: [(&str, &[Firing]); 8] = [
        ("nested, with recursion", &[(0, 7, 10), (2, 7, 20), (0, 7, 25), (1, 7, 30), (3, 7, 40), (1, 7, 50)]),
        ("two threads", &[(0, 7, 10), (0, 8, 11), (1, 7, 12), (1, 8, 13)]),
        ("returns that were not seen", &[(0, 7, 10), (2, 7, 11), (2, 7, 12), (1, 7, 13)]),
        ("a return without its entry, an entry without its return", &[(1, 7, 10), (2, 7, 11)]),
        ("an entry whose return has no probe, and a timer", &[(6, 7, 10), (7, 7, 11)]),
        ("a system call is not the function of its name", &[(0, 7, 10), (4, 7, 11), (1, 7, 12), (5, 7, 13)]),
        ("a copy", &[(8, 7, 10), (9, 7, 12)]),
        (
            "two clauses of one firing, then another",
            &[(0, 7, 10), (0, 7, 10), (0, 7, 11), (1, 7, 12), (1, 7, 12), (1, 7, 13)],
        ),
    ];
    let mut all = String::new();
    for (name, records) in cases {
        let records: Vec<Fired> = records.iter().map(|(ecb, tid, time)| fired(*ecb, *tid, *time)).collect();
        writeln!(all, "{name}:\n{}", shown(&written(&records))).unwrap();
    }
    let idle = |cpu, ecb, time| Fired { ecb, thread: (0, 0), cpu, time };
    let idle = [idle(0, 0, 10), idle(1, 0, 11), idle(0, 1, 12), idle(1, 1, 13)];
    writeln!(all, "idle threads are not one:\n{}", shown(&written(&idle))).unwrap();
    snapshot::settings("consumer").bind(|| insta::assert_snapshot!("perfetto", all));
}

#[test]
fn values_of_actions() {
    let frame = Frame { module: Some("vmlinux".into()), function: Some("g".into()), ..Frame::default() };
    let member = |name: &str, value| Member { type_name: "int".into(), name: name.into(), value };
    let record =
        Value::Record(vec![member("a", Value::Int(-1)), member("b", Value::Array(vec![Value::Float(0.5)]))]);
    let printf = |text: &str| Acted::Printf { text: text.into(), arguments: Vec::new() };
    let actions = || {
        vec![
            printf("one"),
            printf("two"),
            Acted::Trace(Value::Int(u64::MAX.into())),
            Acted::Print { type_name: "struct s", value: record.clone() },
            Acted::PrintAll(vec![Printed::Function("f"), Printed::Value(member("x", Value::Int(3)))]),
            Acted::Stack(vec![frame.clone(), Frame { address: 16, ..Frame::default() }]),
            Acted::Ustack { pid: 1, frames: Vec::new() },
            Acted::Clear("x"),
        ]
    };
    let enabled = enabled();
    let (mut perfetto, mut out) = (Perfetto::new(&enabled), Vec::new());
    for (ecb, time) in [(0, 1), (7, 2), (1, 3)] {
        give(&mut perfetto, &enabled, &fired(ecb, 7, time), actions(), &mut out);
    }
    perfetto.finish(&Fixed(Vec::new()), 0, &mut out);
    let text = shown(&Trace::decode(&out[..]).unwrap());
    snapshot::settings("consumer").bind(|| insta::assert_snapshot!("perfetto-values", text));
}

#[test]
fn lost_records_end_all_slices() {
    let enabled = enabled();
    let (mut perfetto, mut out) = (Perfetto::new(&enabled), Vec::new());
    for (ecb, time) in [(0, 1), (2, 2)] {
        give(&mut perfetto, &enabled, &fired(ecb, 7, time), Vec::new(), &mut out);
    }
    let lost = |tag| Message { what: What::Drop { tag, cpu: Some(0), count: 1 }, text: String::new() };
    perfetto.message(&lost("DYNAMIC"), &mut out);
    assert!(out.is_empty());
    perfetto.message(&lost("PRINCIPAL"), &mut out);
    give(&mut perfetto, &enabled, &fired(1, 7, 9), Vec::new(), &mut out);
    perfetto.finish(&Fixed(Vec::new()), 0, &mut out);
    let text = shown(&Trace::decode(&out[..]).unwrap());
    let events: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).map(str::trim).collect();
    let expected = [
        "1 thread 7: begin f [fbt]",
        "2 thread 7: begin g [fbt]",
        "2 thread 7: end",
        "2 thread 7: end",
        "9 thread 7: instant f:return [fbt]",
    ];
    assert_eq!(events, expected);
}

#[test]
fn little_waits_and_the_file_grows() {
    let enabled = enabled();
    let (mut perfetto, mut all) = (Perfetto::new(&enabled), Vec::new());
    let mut pieces = 0;
    for number in 0..300_000 {
        let mut out = Vec::new();
        // A microsecond apart at first, so that the limit on their number applies; then a tenth of a second.
        let time =
            if number < 200_000 { number * 1000 } else { 200_000_000 + (number - 200_000) * 100_000_000 };
        give(&mut perfetto, &enabled, &fired((number % 2) as usize, 7, time), Vec::new(), &mut out);
        assert!(perfetto.waiting.len() < MOST);
        pieces += usize::from(!out.is_empty());
        all.append(&mut out);
    }
    assert!(perfetto.waiting.len() < 30);
    assert!((2..20_000).contains(&pieces), "{pieces}");
    perfetto.finish(&Fixed(Vec::new()), 0, &mut all);
    let events = Trace::decode(&all[..]).unwrap().packet.into_iter().filter_map(|packet| packet.track_event);
    assert_eq!(events.filter(|event| event.r#type() != Type::Instant).count(), 300_000);
}

/// A slice: track, name, begin, end, depth.
type Slice = (u64, String, u64, u64, usize);

/// Returns the slices that a reader makes of the events.
fn slices(trace: &Trace) -> Vec<Slice> {
    let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
    let mut slices = Vec::new();
    for packet in &trace.packet {
        let Some(event) = &packet.track_event else { continue };
        let track = event.track_uuid.unwrap();
        let stack = open.entry(track).or_default();
        match event.r#type() {
            Type::SliceBegin => stack.push((event.name.clone().unwrap(), packet.timestamp.unwrap())),
            Type::SliceEnd => {
                let (name, begin) = stack.pop().expect("an end has a begin");
                slices.push((track, name, begin, packet.timestamp.unwrap(), stack.len()));
            }
            _ => panic!("{event:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty));
    slices.sort();
    slices
}

proptest::proptest! {
    /// Threads move between CPUs, and records arrive CPU by CPU: the slices still match the calls.
    #[test]
    fn calls_are_slices(steps in proptest::collection::vec((0..3usize, 0..2usize, proptest::bool::ANY, 0..3u32), 0..200)) {
        let mut records = Vec::new();
        let mut open: [Vec<(usize, u64)>; 3] = Default::default();
        let mut expected: Vec<(usize, String, u64, u64, usize)> = Vec::new();
        let mut time = 0;
        let mut record = |ecb, thread: usize, cpu, time| records.push(Fired { ecb, thread: (7, 100 + thread as i32), cpu, time });
        let mut leave = |thread: usize, calls: &mut Vec<(usize, u64)>, cpu, time| {
            if let Some((function, begin)) = calls.pop() {
                expected.push((thread, PROBES[2 * function].1.into(), begin, time, calls.len()));
                record(2 * function + 1, thread, cpu, time);
            }
        };
        let mut entered = Vec::new();
        for (thread, function, enter, cpu) in steps {
            time += 10;
            match enter {
                true => {
                    open[thread].push((function, time));
                    entered.push((2 * function, thread, cpu, time));
                }
                false => leave(thread, &mut open[thread], cpu, time),
            }
        }
        for (thread, calls) in open.iter_mut().enumerate() {
            while !calls.is_empty() {
                time += 10;
                leave(thread, calls, 0, time);
            }
        }
        entered.into_iter().for_each(|(ecb, thread, cpu, time)| record(ecb, thread, cpu, time));
        records.sort_by_key(|fired| (fired.cpu, fired.time));
        let trace = written(&records);
        let tracks: HashMap<u64, usize> = trace.packet.iter().filter_map(|packet| {
            let descriptor = packet.track_descriptor.as_ref()?;
            Some((descriptor.uuid?, descriptor.thread.as_ref()?.tid() as usize - 100))
        }).collect();
        let mut found: Vec<_> = slices(&trace).into_iter().map(|(track, name, begin, end, depth)| (tracks[&track], name, begin, end, depth)).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
}
