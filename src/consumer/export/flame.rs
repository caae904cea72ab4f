//! consumer/export/flame.rs: -O flame: a flame graph as one self-contained HTML file.

use super::exporter::Export;
use super::profile::{self, Kind, NO_FRAMES, Sample, Series};
use super::tables::Tables;
use crate::consumer::clock::rfc3339;
use crate::consumer::frame::Frame;
use kinst_sites::listing::Place;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The page; the data replaces [`DATA`].
const PAGE: &str = include_str!("flame.html");
const DATA: &str = "{{data}}";

/// The limit on listed source lines of a frame.
const PLACES: usize = 4;

#[derive(Debug)]
pub(crate) struct Flame {
    /// The start of tracing.
    begun: i64,
}

impl Default for Flame {
    /// Takes the current time as the start, until `begin` sets it.
    fn default() -> Flame {
        Flame { begun: kinst_os::monotonic() }
    }
}

impl Export for Flame {
    fn begin(&mut self, _wall: i64, monotonic: i64, _out: &mut Vec<u8>) {
        self.begun = monotonic;
    }

    fn finish(&mut self, tables: &dyn Tables, _status: u8, out: &mut Vec<u8>) -> Option<String> {
        let series = profile::series(&tables.profiles());
        let (wall, ended) = tables.ended();
        let about = About {
            ended: rfc3339(wall),
            seconds: ended.saturating_sub(self.begun) as f64 / 1e9,
            host: kinst_os::hostname(),
            kernel: kinst_os::release(),
            command: kinst_os::command_line(),
        };
        out.extend(page(&graph(&series, about)).bytes());
        profile::remark("flame", &series, false)
    }
}

fn page(graph: &Graph) -> String {
    // With `<` escaped, no data can end the script or begin a comment.
    let data = serde_json::to_string(graph).unwrap_or_default().replace('<', "\\u003c");
    PAGE.replacen(DATA, &data, 1)
}

/// The trace that the page shows.
#[derive(Serialize)]
struct About {
    /// The end of tracing.
    ended: String,
    seconds: f64,
    host: String,
    /// The kernel's release.
    kernel: String,
    command: String,
}

#[derive(Serialize)]
struct Graph {
    #[serde(flatten)]
    about: About,
    frames: Vec<Drawn>,
    series: Vec<Tree>,
}

/// A drawn frame: a function in one kind of code, or a key component.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
struct Drawn {
    title: String,
    kind: &'static str,
    /// The module or the program's file; for a key component, its D text.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
}

#[derive(Serialize)]
struct Tree {
    aggregation: String,
    name: String,
    unit: &'static str,
    /// Three numbers per node, in preorder: the depth from 1, the index of the frame, the value of the stacks that end
    /// in it.
    nodes: Vec<i64>,
    /// The source lines, by the index of the node in that order.
    places: BTreeMap<usize, String>,
}

#[derive(Default)]
struct Node {
    own: i64,
    children: BTreeMap<Drawn, Node>,
    places: Vec<Place>,
    /// Whether there are more places.
    more: bool,
}

fn graph(series: &[Series], about: About) -> Graph {
    let mut frames = Frames::default();
    let series = series.iter().map(|one| tree(one, &mut frames)).collect();
    Graph { about, frames: frames.all, series }
}

fn tree(series: &Series, frames: &mut Frames) -> Tree {
    let mut root = Node::default();
    for sample in series.samples.iter().filter(|sample| sample.value > 0) {
        add(&mut root, sample);
    }
    let mut tree = Tree {
        aggregation: format!("@{}", series.aggregation),
        name: series.name.clone(),
        unit: series.unit.text(),
        nodes: Vec::new(),
        places: BTreeMap::new(),
    };
    tree.flatten(1, &root, frames);
    tree
}

fn add(root: &mut Node, sample: &Sample) {
    let mut node = root;
    for label in &sample.labels {
        node =
            node.child(Drawn { title: label.title(), kind: kind(Kind::Key), from: Some(label.name.clone()) });
    }
    if sample.frames.is_empty() {
        node = node.child(Drawn { title: NO_FRAMES.to_owned(), kind: kind(Kind::Key), from: None });
    }
    for frame in sample.frames.iter().rev() {
        node = node.child(drawn(frame));
        if let Some(place) = frame.place.as_ref().filter(|place| !node.places.contains(place)) {
            match node.places.len() < PLACES {
                true => node.places.push(place.clone()),
                false => node.more = true,
            }
        }
    }
    node.own = node.own.saturating_add(sample.value);
}

fn drawn(frame: &Frame) -> Drawn {
    Drawn { title: profile::title(frame), kind: kind(Kind::of(frame)), from: frame.module.clone() }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Kernel => "kernel",
        Kind::Module => "module",
        Kind::User => "user",
        Kind::Inlined => "inlined",
        Kind::Key => "key",
    }
}

impl Node {
    fn child(&mut self, frame: Drawn) -> &mut Node {
        self.children.entry(frame).or_default()
    }

    /// `fs/read_write.c:468, 470`
    fn places(&self) -> Option<String> {
        let mut text = String::new();
        let mut last = "";
        for Place { file, line } in &self.places {
            let before = if text.is_empty() { "" } else { ", " };
            text += &match file == last {
                true => format!("{before}{line}"),
                false => format!("{before}{file}:{line}"),
            };
            last = file;
        }
        if self.more {
            text += ", …";
        }
        (!text.is_empty()).then_some(text)
    }
}

impl Tree {
    fn flatten(&mut self, depth: i64, node: &Node, frames: &mut Frames) {
        for (frame, child) in &node.children {
            if let Some(places) = child.places() {
                self.places.insert(self.nodes.len() / 3, places);
            }
            self.nodes.extend([depth, frames.index(frame), child.own]);
            self.flatten(depth + 1, child, frames);
        }
    }
}

#[derive(Default)]
struct Frames {
    at: HashMap<Drawn, i64>,
    all: Vec<Drawn>,
}

impl Frames {
    fn index(&mut self, frame: &Drawn) -> i64 {
        let next = self.all.len() as i64;
        let index = *self.at.entry(frame.clone()).or_insert(next);
        if index == next {
            self.all.push(frame.clone());
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::export::profile::sample::{self, Fixed};
    use crate::snapshot;

    fn graph_of(tables: Fixed) -> Graph {
        let about = About {
            ended: "2026-11-25T04:00:00Z".into(),
            seconds: 1.5,
            host: "box".into(),
            kernel: "6.1.0".into(),
            command: "dtrace -n '</script>'".into(),
        };
        graph(&profile::series(&tables.profiles()), about)
    }

    #[test]
    fn data() {
        let graph = graph_of(Fixed(vec![sample::counted(), sample::summed(), sample::distributed()]));
        let text = serde_json::to_string_pretty(&graph).unwrap();
        // Three numbers a line.
        let mut lines = String::new();
        for line in text.lines() {
            match line.trim_end_matches(',').trim().parse::<i64>() {
                Ok(number) => lines += &format!(" {number}"),
                Err(_) => lines += &format!("\n{line}"),
            }
        }
        snapshot::settings("consumer").bind(|| insta::assert_snapshot!("flame", lines.trim_start()));
    }

    #[test]
    fn no_name_ends_the_script() {
        let mut table = sample::counted();
        table.name = "</script><!--<script>";
        let page = page(&graph_of(Fixed(vec![table])));
        let scripts = |text: &str| (text.matches("<script").count(), text.matches("</script").count());
        assert_eq!(scripts(&page), scripts(PAGE));
        assert_eq!(page.matches("<!--").count(), PAGE.matches("<!--").count());
        assert!(!page.contains(DATA));
        let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let read: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(read["series"][0]["aggregation"], "@</script><!--<script>");
    }

    #[test]
    fn the_page_loads_nothing() {
        let outside = ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML"];
        assert_eq!(outside.iter().find(|word| PAGE.contains(**word)), None);
        assert_eq!(PAGE.matches(DATA).count(), 1);
    }
}
