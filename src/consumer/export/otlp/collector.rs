//! consumer/export/otlp/collector.rs: sends requests to a collector over HTTP in a thread, so that a trace never waits.

use super::envelope::Envelope;
use super::queue::{self, Item, Signal};
use super::schema::Answer;
use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use ureq::http::Uri;

/// The timeouts and intervals for sending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The time that items wait for more before a request is made of them, as in OpenTelemetry's SDKs.
    pub batch: Duration,
    /// The timeout of one request, as in OpenTelemetry's SDKs.
    pub request: Duration,
    /// The pause after the first failure; each further pause is twice as long, up to `longest`.
    pub pause: Duration,
    pub longest: Duration,
    /// The time that the end of a trace waits for the queue to be sent.
    pub end: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            batch: Duration::from_secs(1),
            request: Duration::from_secs(10),
            pause: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            end: Duration::from_secs(5),
        }
    }
}

/// The limit on the bytes read from an answer.
const ANSWER: u64 = 64 << 10;

/// The base of a collector's URLs: `http://host:4318`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    pub(crate) fn new(url: &str) -> Result<Address, String> {
        let local = "a collector on this machine can forward with TLS: otlp=http://localhost:4318";
        match url.split_once("://") {
            Some(("http", _)) => {}
            Some(("https", _)) => return Err(format!("TLS is not supported: {local}")),
            _ => return Err("expected a URL with http://".to_owned()),
        }
        let uri: Uri = url.parse().map_err(|error| format!("not a URL: {error}"))?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if uri.host().unwrap_or_default().is_empty() || authority.contains('@') {
            return Err("expected a host after http://, without a user".to_owned());
        }
        if uri.query().is_some() {
            return Err(
                "the URL has a query: only its base is expected, as in http://localhost:4318".to_owned()
            );
        }
        let base = url.trim_end_matches('/');
        if ["/v1/metrics", "/v1/logs"].iter().any(|path| base.ends_with(path)) {
            return Err("leave out /v1/metrics and /v1/logs, which are added".to_owned());
        }
        Ok(Address(base.to_owned()))
    }
}

/// Sends to one collector.
#[derive(Debug)]
pub(crate) struct Collector {
    shared: Arc<Shared>,
    times: Times,
}

#[derive(Debug)]
struct Shared {
    address: Address,
    state: Mutex<State>,
    /// Notified when the state has changed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Item>,
    /// The bytes in the queue and in the current request.
    bytes: usize,
    /// The limit on `bytes`.
    bound: usize,
    /// The time at which the first item was queued.
    oldest: Option<Instant>,
    /// The contents of the current request.
    under_way: Amount,
    /// Data dropped because of the limit.
    dropped: Amount,
    /// Data that was refused, or not accepted before the deadline.
    lost: Amount,
    /// The kinds of trouble already reported; each is reported once.
    said: Vec<Trouble>,
    messages: Vec<String>,
    /// The deadline for sending; set when the trace ends.
    end: Option<Instant>,
    /// Whether everything is sent, and nothing more will be queued.
    done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Away,
    Busy,
    /// The collector refuses requests at this path.
    Refusal(&'static str),
    Rubbish,
    Partial,
}

/// A number of records and data points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    records: u64,
    points: u64,
}

impl Amount {
    fn add(&mut self, item: &Item) {
        match item.signal {
            Signal::Logs => self.records += item.count,
            Signal::Metrics { .. } => self.points += item.count,
        }
    }

    fn is_none(self) -> bool {
        self == Amount::default()
    }
}

/// `3 log records and 1 data point`
impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |count| if count == 1 { "" } else { "s" };
        let Amount { records, points } = *self;
        match (records, points) {
            (_, 0) => write!(f, "{records} log record{}", plural(records)),
            (0, _) => write!(f, "{points} data point{}", plural(points)),
            _ => {
                write!(f, "{records} log record{} and {points} data point{}", plural(records), plural(points))
            }
        }
    }
}

impl Collector {
    /// Starts the thread. `bound`: the limit on waiting bytes.
    pub(crate) fn start(
        address: Address,
        bound: usize,
        envelope: Envelope,
        times: Times,
    ) -> io::Result<Collector> {
        let state = State { bound, ..State::default() };
        let shared = Arc::new(Shared { address, state: Mutex::new(state), changed: Condvar::new() });
        let sender = Sender { shared: Arc::clone(&shared), agent: agent(times), envelope, times };
        std::thread::Builder::new().spawn(move || sender.run())?;
        Ok(Collector { shared, times })
    }

    /// Queues an item. Beyond the limit the oldest items are dropped, but not the current request.
    pub(crate) fn push(&self, item: Item) {
        let mut state = self.shared.lock();
        let is_first = state.queue.is_empty();
        state.bytes += item.json.len();
        state.queue.push_back(item);
        state.oldest.get_or_insert_with(Instant::now);
        while state.bytes > state.bound
            && let Some(gone) = state.queue.pop_front()
        {
            state.bytes -= gone.json.len();
            state.dropped.add(&gone);
        }
        if is_first || state.queue.len() >= queue::MOST_ITEMS || state.bytes >= queue::MOST_BYTES {
            self.shared.changed.notify_all();
        }
    }

    /// Takes the messages for the user since the last call.
    pub(crate) fn messages(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().messages)
    }

    /// Whether data is known to be lost on the way to the collector.
    pub(crate) fn has_lost(&self) -> bool {
        let state = self.shared.lock();
        !state.dropped.is_none() || !state.lost.is_none()
    }

    /// Waits until everything is sent, or until the deadline.
    pub(crate) fn finish(&mut self) {
        let end = Instant::now() + self.times.end;
        let mut state = self.shared.lock();
        state.end = Some(end);
        self.shared.changed.notify_all();
        while !state.done && Instant::now() < end {
            state = self.shared.wait(state, end.saturating_duration_since(Instant::now()));
        }
        let mut left = std::mem::take(&mut state.under_way);
        std::mem::take(&mut state.queue).iter().for_each(|item| left.add(item));
        let address = &self.shared.address.0;
        if !state.lost.is_none() {
            let text = format!("{address} has refused {}: lost", state.lost);
            state.messages.push(text);
        }
        if !left.is_none() {
            let seconds = self.times.end.as_secs();
            let text = format!("{address} has not accepted {left} within {seconds} s of the end: lost");
            state.messages.push(text);
            state.lost.records += left.records;
            state.lost.points += left.points;
        }
        if !state.dropped.is_none() {
            let text = format!("the queue for {address} was full (-x otlpqueue): {} lost", state.dropped);
            state.messages.push(text);
        }
    }
}

/// A run that ends with an error has not called finish().
impl Drop for Collector {
    fn drop(&mut self) {
        if self.shared.lock().end.is_none() {
            self.finish();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Reports that the collector accepts requests again, if trouble was reported before.
    fn is_back(&self, path: &'static str) {
        let mut state = self.lock();
        let known = state.said.len();
        let over = [Trouble::Refusal(path), Trouble::Away, Trouble::Busy];
        state.said.retain(|trouble| !over.contains(trouble));
        if state.said.len() < known {
            let mut gone = state.lost;
            gone.records += state.dropped.records;
            gone.points += state.dropped.points;
            let lost = if gone.is_none() { String::new() } else { format!("; {gone} lost so far") };
            let text = format!("{} accepts requests again{lost}", self.address.0);
            state.messages.push(text);
        }
    }

    /// Reports a trouble once.
    fn say(&self, trouble: Trouble, text: impl FnOnce(&str) -> String) {
        let mut state = self.lock();
        if !state.said.contains(&trouble) {
            state.said.push(trouble);
            state.messages.push(text(&self.address.0));
        }
    }
}

fn path(signal: Signal) -> &'static str {
    match signal {
        Signal::Logs => "logs",
        Signal::Metrics { .. } => "metrics",
    }
}

fn agent(times: Times) -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(times.request))
        // Data goes only to the address on the command line.
        .proxy(None)
        .max_redirects(0)
        .user_agent(concat!("kinst/", env!("CARGO_PKG_VERSION")));
    config.build().new_agent()
}

/// The outcome of a request.
enum Outcome {
    /// Accepted, except for this many records or points.
    Taken {
        rejected: u64,
    },
    /// To be sent again, no sooner than after the time that the collector has named.
    Again(Option<Duration>),
    Refused,
}

struct Sender {
    shared: Arc<Shared>,
    agent: ureq::Agent,
    envelope: Envelope,
    times: Times,
}

impl Sender {
    fn run(&self) {
        while let Some((signal, items)) = self.next() {
            let body = self.envelope.request(signal, &items);
            let mut pause = self.times.pause;
            let outcome = loop {
                match self.send(signal, &body) {
                    Outcome::Again(after) => {
                        if !self.pause(after.unwrap_or_else(|| varied(pause))) {
                            return;
                        }
                        pause = (pause * 2).min(self.times.longest);
                    }
                    outcome => break outcome,
                }
            };
            if let Outcome::Taken { .. } = outcome {
                self.shared.is_back(path(signal));
            }
            let mut state = self.shared.lock();
            state.bytes -= items.iter().map(|item| item.json.len()).sum::<usize>();
            let sent = std::mem::take(&mut state.under_way);
            match (outcome, signal) {
                (Outcome::Taken { rejected }, Signal::Logs) => state.lost.records += rejected,
                (Outcome::Taken { rejected }, Signal::Metrics { .. }) => state.lost.points += rejected,
                _ => {
                    state.lost.records += sent.records;
                    state.lost.points += sent.points;
                }
            }
        }
        self.shared.lock().done = true;
        self.shared.changed.notify_all();
    }

    /// Waits for the next request; `None` at the end.
    fn next(&self) -> Option<(Signal, Vec<Item>)> {
        let mut state = self.shared.lock();
        loop {
            let age = state.oldest.map(|oldest| oldest.elapsed()).unwrap_or_default();
            let full = state.queue.len() >= queue::MOST_ITEMS || state.bytes >= queue::MOST_BYTES;
            let due = full || state.end.is_some() || age >= self.times.batch;
            match queue::batch(&state.queue) {
                Some((signal, length)) if due => {
                    let items: Vec<Item> = state.queue.drain(..length).collect();
                    items.iter().for_each(|item| state.under_way.add(item));
                    if state.queue.is_empty() {
                        state.oldest = None;
                    }
                    return Some((signal, items));
                }
                None if state.end.is_some() => return None,
                Some(_) => state = self.shared.wait(state, self.times.batch.saturating_sub(age)),
                None => state = self.shared.wait(state, Duration::from_secs(3600)),
            }
        }
    }

    /// Waits before a request is sent again; returns false after the deadline.
    fn pause(&self, time: Duration) -> bool {
        let begin = Instant::now();
        let mut state = self.shared.lock();
        loop {
            let now = Instant::now();
            if state.end.is_some_and(|end| now >= end) {
                return false;
            }
            // Long pauses would pass the deadline at the end of a trace.
            let time = if state.end.is_some() { time.min(self.times.pause) } else { time };
            let until = begin + time;
            if now >= until {
                return true;
            }
            let until = state.end.map_or(until, |end| end.min(until));
            state = self.shared.wait(state, until.saturating_duration_since(now));
        }
    }

    fn send(&self, signal: Signal, body: &[u8]) -> Outcome {
        let path = path(signal);
        let url = format!("{}/v1/{path}", self.shared.address.0);
        let mut answer = match self.agent.post(&url).content_type("application/json").send(body) {
            Ok(answer) => answer,
            Err(error) => return self.failed(&error),
        };
        let status = answer.status().as_u16();
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let after = header("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let text = match answer.body_mut().with_config().limit(ANSWER).read_to_vec() {
            Ok(text) => String::from_utf8_lossy(&text).trim().to_owned(),
            Err(error) if (200..300).contains(&status) => return self.failed(&error),
            Err(_) => String::new(),
        };
        match status {
            200..300 => self.taken(&text),
            429 | 502 | 503 | 504 => {
                let most = self.times.longest;
                self.shared.say(Trouble::Busy, |address| {
                    format!("{address} answers {status}: data is queued, up to -x otlpqueue")
                });
                Outcome::Again(after.map(|after| after.min(most)))
            }
            _ => {
                let said = if text.is_empty() { String::new() } else { format!(": {}", excerpt(&text)) };
                self.shared.say(Trouble::Refusal(path), |address| {
                    format!("{address}/v1/{path} answers {status}{said}: refused data is lost")
                });
                Outcome::Refused
            }
        }
    }

    /// Parses the answer of a collector that has accepted a request: a JSON object, or nothing.
    fn taken(&self, text: &str) -> Outcome {
        let answer =
            if text.is_empty() { Ok(Answer::default()) } else { serde_json::from_str::<Answer>(text) };
        let Ok(Answer { partial_success }) = answer else {
            self.shared.say(Trouble::Rubbish, |address| {
                format!("{address} does not answer in OTLP ('{}'): is it a collector?", excerpt(text))
            });
            return Outcome::Taken { rejected: 0 };
        };
        let rejected = partial_success.rejected();
        if rejected > 0 {
            self.shared.say(Trouble::Partial, |address| {
                let why = excerpt(&partial_success.error_message);
                format!("{address} has rejected {rejected} of the items sent: '{why}'")
            });
        }
        Outcome::Taken { rejected }
    }

    /// Handles an error of the connection. All of them are retried: the collector may be started, or the port forwarded
    /// again.
    fn failed(&self, error: &ureq::Error) -> Outcome {
        match error {
            ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) | ureq::Error::Http(_) => {
                self.shared.say(Trouble::Rubbish, |address| {
                    format!("{address} does not answer in HTTP ({error}): a collector's port for OTLP over HTTP is 4318")
                });
            }
            _ => {
                let why = match error {
                    ureq::Error::Io(error) => kinst_os::io_text(error),
                    other => other.to_string(),
                };
                self.shared.say(Trouble::Away, |address| {
                    format!("{address} cannot be reached ({why}): data is queued, up to -x otlpqueue")
                });
            }
        }
        Outcome::Again(None)
    }
}

/// Returns a random time between three quarters and all of `time`, so that many machines do not retry at once.
fn varied(time: Duration) -> Duration {
    let chance = RandomState::new().hash_one(0) as u8;
    time.mul_f64(0.75 + f64::from(chance) / 1024.0)
}

/// Returns the start of another program's message, on one line.
fn excerpt(text: &str) -> String {
    const MOST: usize = 80;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MOST).collect();
    if text.chars().count() > MOST { format!("{line}…") } else { line }
}

#[cfg(test)]
mod tests;
