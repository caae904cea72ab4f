//! cli/progress.rs: the progress of indexing, on a terminal.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::sites::Watch;

/// A bar on standard error, shown if that is a terminal and indexing takes long.
#[derive(Default)]
pub struct Progress {
    bar: OnceLock<(ProgressBar, Instant)>,
}

const SHOWN_AFTER: Duration = Duration::from_millis(300);

impl Watch for Progress {
    fn start(&self, bytes: u64) {
        let (bar, _) = self.bar.get_or_init(|| (ProgressBar::hidden(), Instant::now()));
        bar.set_length(bytes);
    }

    fn advance(&self, bytes: u64) {
        let Some((bar, started)) = self.bar.get() else { return };
        bar.inc(bytes);
        if bar.is_hidden() && started.elapsed() > SHOWN_AFTER {
            // The bar stays hidden if standard error is not a terminal.
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("indexing debug information {bar:30} {percent}% {eta}");
            if let Ok(style) = style {
                bar.set_style(style);
            }
        }
    }

    fn done(&self) {
        if let Some((bar, _)) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
