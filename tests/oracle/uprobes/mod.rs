//! tests/oracle/uprobes/: which instructions of programs can have a uprobe, compared with the running kernel.

mod armed;
mod events;
mod executed;
mod forms;
