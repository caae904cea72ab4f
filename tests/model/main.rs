//! tests/model/: the exits of inlined copies, compared with a definition and with execution.

#[path = "../support/binutils.rs"]
mod binutils;
#[path = "../support/commands.rs"]
mod commands;
#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/numbers.rs"]
mod numbers;

mod beginnings;
mod compared;
mod counted;
mod counting;
mod counts_model;
mod debugfiles;
mod debugged;
mod debugserver;
mod exits_model;
mod functions;
mod golang;
mod latency;
mod leaves;
mod libraries;
mod lines;
mod live;
mod many;
mod processes;
mod projects;
mod real;
mod routes_model;
mod step;
mod stepped;
mod usdt;
mod values;
mod views;
