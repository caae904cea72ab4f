//! consumer/event.rs: a firing with its typed actions, for output formats other than text.

use super::frame::Frame;
use super::step::Step;
use super::table::Aggregate;
use super::value::{Member, Value};
use kinst_base::probe::Probe;

/// The firing of one clause.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    pub probe: &'a Probe,
    pub cpu: u32,
    /// Nanoseconds, as in the D variable `timestamp`.
    pub monotonic: u64,
    /// Nanoseconds since 1970.
    pub wall: i64,
    /// `None` if the program does not record it ([`kinst_dif::thread`]).
    pub thread: Option<Thread>,
    /// Set if the probe is the entry or return of a function.
    pub step: Option<Step<'a>>,
    pub actions: Vec<Acted<'a>>,
}

/// The thread that a probe has fired in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub pid: i32,
    pub tid: i32,
    /// execname
    pub name: String,
}

/// The record or effect of an action.
#[derive(Clone, Debug)]
pub enum Acted<'a> {
    Trace(Value),
    Print {
        type_name: &'a str,
        value: Value,
    },
    /// print(args) and print(locals)
    PrintAll(Vec<Printed<'a>>),
    Printf {
        text: Vec<u8>,
        arguments: Vec<Value>,
    },
    Printa {
        text: Option<Vec<u8>>,
        names: Vec<&'a str>,
        rows: Vec<Joined>,
    },
    /// stack()
    Stack(Vec<Frame>),
    /// ustack() and jstack()
    Ustack {
        pid: u64,
        frames: Vec<Frame>,
    },
    /// sym() and the like
    Symbol(Value),
    /// tracemem() and printm()
    Memory(Value),
    System(Vec<u8>),
    Freopen(Vec<u8>),
    Ftruncate,
    Exit(u32),
    Clear(&'a str),
    Trunc {
        name: &'a str,
        count: i64,
    },
    Normalize {
        name: &'a str,
        normal: i64,
    },
    Denormalize(&'a str),
    Setopt {
        name: Vec<u8>,
        value: Option<Vec<u8>>,
    },
}

/// A line of print(args) or print(locals).
#[derive(Clone, Debug)]
pub enum Printed<'a> {
    Function(&'a str),
    Value(Member),
    Missing { name: &'a str, type_name: &'a str, why: &'a str },
}

/// A row of several aggregations with the same key.
#[derive(Clone, Debug)]
pub struct Joined {
    pub key: Vec<Value>,
    pub values: Vec<Aggregate>,
}
