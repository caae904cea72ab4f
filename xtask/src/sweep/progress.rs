//! The progress of a sweep: a bar on a terminal, else lines.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::lines::Batch;

pub(super) struct Progress {
    /// `None` if standard error is not a terminal.
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent}% {eta} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar }
    }

    pub(super) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(format!("sweep: {text}")),
            None => eprintln!("sweep: {text}"),
        }
    }

    pub(super) fn batch(&self, batch: &Batch, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(batch.next);
            bar.set_message(format!("{}, {} hits", batch.last, batch.hits));
            return;
        }
        let hot = if batch.slow { "TOO HOT, again in parts: " } else { "" };
        eprintln!(
            "sweep: {:3} % {hot}batch {}: {} … {}: {} functions, {} probes, {} by jumps, {} fired, {} hits; arm {:.1} s, jumps {:.1} s, run {:.1} s, disarm {:.1} s",
            batch.next * 100 / total.max(1),
            batch.batch,
            batch.first,
            batch.last,
            batch.functions,
            batch.armed,
            batch.jumps,
            batch.fired,
            batch.hits,
            batch.arm_s,
            batch.jump_s,
            batch.run_s,
            batch.disarm_s
        );
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
