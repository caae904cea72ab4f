//! The state of a sweep, on disk after each batch.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::Options;
use super::guest::Bench;
use super::lines::{Batch, hex};

#[derive(Serialize, Deserialize)]
pub(super) struct State {
    #[serde(skip)]
    file: PathBuf,
    pub kernel: String,
    pub release: String,
    pub cpus: u32,
    pub modules: bool,
    pub sample: u32,
    pub size: u32,
    /// The number of all functions.
    pub total: u64,
    /// The start of the next batch.
    pub next_at: u64,
    pub done: bool,
    /// Ranges of functions that are left out because of a finding.
    pub skip: Vec<(u64, u64)>,
    pub batches: Vec<Batch>,
    pub findings: Vec<Finding>,
    /// Batches that were too hot and were swept again in parts.
    pub slow: u32,
    pub boots: u32,
    /// Seconds of sweeping, without the search for causes.
    pub seconds: f64,
}

/// A fault found by the sweep.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Finding {
    pub what: String,
    /// The phase that the guest was in: read, arm, run, disarm.
    pub phase: String,
    /// The batch.
    pub first: String,
    pub first_at: String,
    pub last: String,
    pub last_at: String,
    /// The number of retries, and how many failed; the first failure ends them.
    pub again: usize,
    pub failed_again: usize,
    /// The number of successes of the load in a guest without the module, and of tries.
    pub control: Option<(usize, usize)>,
    /// The addresses of the remaining functions after narrowing down.
    pub narrowed: Option<String>,
    /// The function, if only one remains, and the offsets in it.
    pub function: Option<String>,
    pub offsets: Option<String>,
    /// The range to leave out from now on.
    pub skip: Option<(u64, u64)>,
    /// Whether the whole batch is left out: it fails repeatedly, and no single function is the cause.
    pub left_out: bool,
    pub console: String,
    pub seconds: f64,
}

impl Finding {
    /// The finding in one line.
    pub(super) fn shown(&self) -> String {
        let place = match (&self.function, &self.offsets) {
            (Some(function), Some(offsets)) => format!("{function}, {offsets}"),
            (Some(function), None) => function.clone(),
            _ => format!("{} … {}", self.first, self.last),
        };
        let control = self.control.map_or(String::new(), |(right, of)| format!(", control {right} of {of}"));
        let left_out = if self.left_out { ", the batch is left out" } else { "" };
        format!(
            "{place}: {} ({}; again {} of {}{control}{left_out})",
            self.what, self.phase, self.failed_again, self.again
        )
    }
}

impl State {
    /// The state of the last run with --resume, else a new one.
    pub(super) fn open(folder: &Path, options: &Options, bench: &Bench) -> Result<State> {
        let file = folder.join("state.json");
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        if options.resume && file.is_file() {
            let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let mut state: State = serde_json::from_slice(&text)
                .with_context(|| format!("{} is damaged: begin anew without --resume", file.display()))?;
            if state.release != bench.kernel.release {
                bail!("the last sweep was of {}: begin anew without --resume", state.release);
            }
            state.file = file;
            return Ok(state);
        }
        Ok(State {
            file,
            kernel: options.kernel.to_string(),
            release: bench.kernel.release.clone(),
            cpus: options.cpus,
            modules: options.modules,
            sample: options.sample,
            size: options.size,
            total: 0,
            next_at: options.from.unwrap_or(0),
            done: false,
            skip: Vec::new(),
            batches: Vec::new(),
            findings: Vec::new(),
            slow: 0,
            boots: 0,
            seconds: 0.0,
        })
    }

    /// Records a batch that was swept without a fault.
    pub(super) fn took(&mut self, batch: Batch, total: u64) -> Result<()> {
        self.total = total;
        if batch.slow {
            self.slow += 1;
            return self.save();
        }
        self.next_at = hex(&batch.next_at)?;
        self.done = self.next_at == 0;
        // A guest counts batches from its boot.
        self.batches.push(Batch { batch: self.batches.len(), ..batch });
        self.save()
    }

    /// Replaces the file atomically: the tool may be killed at any moment.
    pub(super) fn save(&self) -> Result<()> {
        let part = self.file.with_extension("part");
        fs::write(&part, serde_json::to_vec(self)?)
            .with_context(|| format!("cannot write {}", part.display()))?;
        fs::rename(&part, &self.file).with_context(|| format!("cannot write {}", self.file.display()))
    }
}
