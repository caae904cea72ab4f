//! backend/bpf/rounds.rs: places in programs that fire once: their probes are removed in rounds, since a BPF program
//! cannot remove the probe that runs it.

use kinst_bpf::Home;
use kinst_os::Errno;
use kinst_os::bpf::{Attached, InFile, Program};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The places that are attached together: if one of them has fired, the others are attached anew.
pub(super) const TOGETHER: usize = 1 << 12;

/// The part of the time that rounds take: after each, at least so many times its length passes.
const PAUSE: u32 = 4;

/// A file whose places run a program.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub program: Arc<Program>,
    pub path: PathBuf,
    /// The only process.
    pub process: Option<u32>,
}

impl Target {
    pub(super) fn attach(&self, places: &[(Home, InFile)]) -> Result<Attached, Errno> {
        self.program.at_file(&self.path, self.process, places.iter().map(|(_, place)| *place))
    }
}

/// A link, with the places that it was made for.
#[derive(Debug)]
struct Link {
    target: Target,
    places: Vec<(Home, InFile)>,
    /// The probes are removed when it is closed.
    attached: Attached,
}

/// All places that fire once.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    links: Vec<Link>,
    /// The time of the next round.
    next: Option<Instant>,
}

impl Rounds {
    pub(super) fn add(&mut self, target: Target, places: Vec<(Home, InFile)>, attached: Attached) {
        self.links.push(Link { target, places, attached });
    }

    /// Removes the probes of places that have fired, unless the last round was a moment ago.
    pub(super) fn remove(&mut self, has_fired: impl Fn(Home) -> bool) {
        let begin = Instant::now();
        if self.next.is_some_and(|next| begin < next) {
            return;
        }
        self.links.retain_mut(|link| {
            let left: Vec<_> = link.places.iter().filter(|(home, _)| !has_fired(*home)).copied().collect();
            if left.is_empty() || left.len() == link.places.len() {
                return !left.is_empty();
            }
            // No hit is lost, as the other places have both links for a moment. If the kernel refuses the new link, the
            // old one does as well.
            if let Ok(attached) = link.target.attach(&left) {
                (link.attached, link.places) = (attached, left);
            }
            true
        });
        self.next = Some(begin + begin.elapsed().max(Duration::from_millis(1)) * (1 + PAUSE));
    }

    /// The number of places that have probes.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.links.iter().map(|link| link.places.len()).sum()
    }
}
