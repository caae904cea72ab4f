//! tests/support/tables.rs: a D program's aggregations with rows made by a test, as input of the output formats.

#![allow(dead_code, reason = "each test needs some of it")]

use kinst::consumer::export::Tables;
use kinst::consumer::table::{self, Aggregate, Bucket, Entry, Table};
use kinst::consumer::value::Value;
use kinst::dif::{Aggregation, Program};
use kinst::options::Options;
use kinst::parser::Macros;
use kinst::pipeline::{self, Given};
use kinst::source::{Origin, Source, Sources};
use kinst::types::intrinsic::Intrinsic;

/// Compiles a D program that does not refer to a kernel.
pub(crate) fn program(text: &str) -> (Program, Options) {
    let mut sources = Sources::default();
    let file = sources.add(Source { name: "test.d".into(), origin: Origin::Script, text: text.into() });
    let given = Given {
        macros: &Macros::default(),
        kernel: &Intrinsic,
        places: &Intrinsic,
        index: &|_| unreachable!("no inlined function is named"),
        libraries: &[],
        stability: false,
    };
    let mut options = Options::default();
    let compiled = pipeline::compile(&sources, &[file], given, &mut options).result.expect("it compiles");
    (compiled.program, options)
}

/// The rows of each aggregation, in the order of the program.
pub(crate) struct Rows<'p> {
    pub program: &'p Program,
    pub rows: Vec<Vec<Entry>>,
    pub faults: u64,
}

impl<'p> Rows<'p> {
    pub(crate) fn new(program: &'p Program) -> Rows<'p> {
        Rows { program, rows: vec![Vec::new(); program.aggregations.len()], faults: 0 }
    }

    /// Adds a row.
    pub(crate) fn add(mut self, name: &str, key: &[Value], value: Aggregate) -> Rows<'p> {
        let index = self.program.aggregations.iter().position(|known| known.name == name);
        self.rows[index.expect("an aggregation")].push(Entry { key: key.to_vec(), value });
        self
    }

    /// Adds a row with a distribution of these values.
    pub(crate) fn add_values(self, name: &str, key: &[Value], values: &[i64]) -> Rows<'p> {
        let known = self.program.aggregations.iter().find(|known| known.name == name);
        let value = distribution(known.expect("an aggregation"), values);
        self.add(name, key, value)
    }

    fn table(&self, id: u32) -> Table<'_> {
        let index = id as usize - 1;
        let Aggregation { name, function, key_texts, .. } = &self.program.aggregations[index];
        Table { name, function: *function, keys: key_texts, normal: 1, rows: self.rows[index].clone() }
    }
}

impl Tables for Rows<'_> {
    fn all(&self) -> Vec<Table<'_>> {
        (1..).take(self.rows.len()).map(|id| self.table(id)).collect()
    }

    fn unprinted(&self) -> Vec<Table<'_>> {
        self.all()
    }

    fn undivided(&self, ids: &[u32]) -> Vec<Table<'_>> {
        ids.iter().map(|id| self.table(*id)).collect()
    }

    fn profiles(&self) -> Vec<Table<'_>> {
        self.all()
    }

    fn faults(&self) -> Vec<(&'static str, u64)> {
        vec![("invalid address", self.faults), ("divide-by-zero", 0)]
    }
}

pub(crate) fn number(number: i128) -> Aggregate {
    Aggregate::Number(number)
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.as_bytes().to_vec())
}

/// The result of quantize() and similar functions for some values.
pub(crate) fn distribution(aggregation: &Aggregation, values: &[i64]) -> Aggregate {
    let starts = table::starts(aggregation.function, aggregation.arg);
    let mut counts = vec![0; starts.len() + 1];
    for value in values {
        counts[starts.iter().filter(|start| *start <= value).count()] += 1;
    }
    let bucket = |(index, count): (usize, &i64)| Bucket {
        min: index.checked_sub(1).map(|before| starts[before]),
        max: starts.get(index).map(|next| next - 1),
        count: *count,
    };
    let all: Vec<Bucket> = counts.iter().enumerate().map(bucket).collect();
    let used = |bucket: &Bucket| bucket.count != 0;
    match (all.iter().position(used), all.iter().rposition(used)) {
        (Some(first), Some(last)) => Aggregate::Distribution(all[first..=last].to_vec()),
        _ => Aggregate::Distribution(Vec::new()),
    }
}
