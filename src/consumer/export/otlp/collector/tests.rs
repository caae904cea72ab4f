//! consumer/export/otlp/collector/tests.rs: tests with collectors that work, start late, are busy, slow or missing.

use super::*;
use crate::consumer::export::otlp::envelope::Envelope;
use serde_json::Value as Json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender as Channel, channel};

const TIMES: Times = Times {
    batch: Duration::from_millis(20),
    request: Duration::from_millis(500),
    pause: Duration::from_millis(20),
    longest: Duration::from_millis(100),
    end: Duration::from_secs(20),
};

/// The reaction of a server to a request.
#[derive(Clone)]
enum Reply {
    /// The rest of the status line, more headers, the body.
    Http(&'static str, &'static str, &'static str),
    Bytes(&'static [u8]),
    Silence,
}

const FINE: Reply = Reply::Http("200 OK", "Content-Type: application/json\r\n", "{}");

/// Serves requests one after the other, each with its reply; the last reply is for all further ones. Sends the path and
/// body of each accepted request through the channel.
fn serve(listener: TcpListener, replies: Vec<Reply>) -> Receiver<(String, Json)> {
    let (taken, requests) = channel();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for (index, stream) in listener.incoming().enumerate() {
            let reply = replies[index.min(replies.len() - 1)].clone();
            let Ok(stream) = stream else { return };
            if matches!(reply, Reply::Silence) {
                silent.push(stream);
            } else {
                let _ = answer(stream, &reply, &taken);
            }
        }
    });
    requests
}

fn answer(stream: TcpStream, reply: &Reply, taken: &Channel<(String, Json)>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut path, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(rest) = line.strip_prefix("POST ") {
            path = rest.split(' ').next().unwrap_or_default().to_owned();
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut stream = reader.into_inner();
    match reply {
        Reply::Http(status, headers, text) => {
            if status.starts_with("200") {
                let _ = taken.send((path, serde_json::from_slice(&body).expect("JSON")));
            }
            let length = text.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{text}"
            )
        }
        Reply::Bytes(bytes) => stream.write_all(bytes),
        Reply::Silence => Ok(()),
    }
}

fn listen() -> (TcpListener, String) {
    listen_at("127.0.0.1")
}

/// A test that releases its port and takes it again uses a separate address.
fn listen_at(address: &str) -> (TcpListener, String) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn start(url: &str, bound: usize, times: Times) -> Collector {
    let envelope = Envelope::new("host", "", "");
    Collector::start(Address::new(url).unwrap(), bound, envelope, times).unwrap()
}

fn log(number: usize) -> Item {
    let json = format!("{{\"body\":{{\"intValue\":\"{number}\"}}}}").into_bytes();
    Item { signal: Signal::Logs, json, count: 1 }
}

fn metric(reading: u64) -> Item {
    let json = format!("{{\"name\":\"reading{reading}\"}}").into_bytes();
    Item { signal: Signal::Metrics { reading }, json, count: 3 }
}

/// Returns the numbers of the log records received, in order.
fn logs(requests: &Receiver<(String, Json)>) -> Vec<usize> {
    let mut numbers = Vec::new();
    for (path, body) in requests.try_iter().filter(|(path, _)| path == "/v1/logs") {
        let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().cloned();
        let records = records.unwrap_or_else(|| panic!("{path}: {body}"));
        let number = |record: &Json| record["body"]["intValue"].as_str().unwrap().parse::<usize>().unwrap();
        numbers.extend(records.iter().map(number));
    }
    numbers
}

/// Waits for a message.
fn message(collector: &Collector) -> String {
    let begin = Instant::now();
    loop {
        let mut messages = collector.messages();
        if !messages.is_empty() {
            return messages.remove(0);
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "no message");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn all_comes_in_its_order_and_in_batches() {
    let (listener, url) = listen();
    let requests = serve(listener, vec![FINE]);
    let mut collector = start(&format!("{url}/base/"), 1 << 20, TIMES);
    for number in 0..1500 {
        collector.push(log(number));
    }
    collector.push(metric(1));
    collector.push(metric(2));
    collector.finish();
    assert!(collector.messages().is_empty() && !collector.has_lost());
    let all: Vec<(String, Json)> = requests.try_iter().collect();
    let paths: Vec<&str> = all.iter().map(|(path, _)| &**path).collect();
    assert_eq!(paths.iter().filter(|path| **path == "/base/v1/metrics").count(), 2, "one for each reading");
    let of_logs = paths.iter().filter(|path| **path == "/base/v1/logs").count();
    assert!((3..100).contains(&of_logs), "{of_logs} requests");
    let (_, first) = &all[0];
    assert_eq!(
        first["resourceLogs"][0]["resource"]["attributes"][2]["value"]["stringValue"], "host",
        "{first}"
    );
    let (again, more) = channel();
    all.into_iter().for_each(|(path, body)| again.send((path.replace("/base", ""), body)).unwrap());
    assert_eq!(logs(&more), (0..1500).collect::<Vec<_>>());
}

#[test]
fn a_collector_that_is_away_is_waited_for() {
    let (listener, url) = listen_at("127.0.7.1");
    drop(listener);
    let mut collector = start(&url, 1 << 20, TIMES);
    for number in 0..600 {
        collector.push(log(number));
    }
    let said = message(&collector);
    assert!(said.contains("cannot be reached (Connection refused)"), "{said}");
    // Further failures make no further messages.
    std::thread::sleep(TIMES.longest * 3);
    assert!(collector.messages().is_empty());
    let listener = TcpListener::bind(url.trim_start_matches("http://")).unwrap();
    let requests = serve(listener, vec![FINE]);
    collector.finish();
    let said = collector.messages();
    assert!(said.len() == 1 && said[0].ends_with("accepts requests again"), "{said:?}");
    assert!(!collector.has_lost());
    assert_eq!(logs(&requests), (0..600).collect::<Vec<_>>());
}

#[test]
fn a_busy_collector_is_asked_again() {
    for status in
        ["429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"]
    {
        let (listener, url) = listen();
        let busy = Reply::Http(status, "Retry-After: 0\r\n", "later");
        let requests = serve(listener, vec![busy.clone(), busy, FINE]);
        let mut collector = start(&url, 1 << 20, TIMES);
        collector.push(log(7));
        collector.finish();
        let said = collector.messages();
        assert!(said[0].contains(&format!("answers {}", &status[..3])), "{said:?}");
        assert!(said[1].ends_with("accepts requests again") && said.len() == 2, "{said:?}");
        assert!(!collector.has_lost());
        assert_eq!(logs(&requests), [7]);
    }
}

#[test]
fn a_slow_collector_does_not_hold_up_the_trace() {
    let (listener, url) = listen();
    // The first request gets no answer, and is sent again after its timeout.
    let requests = serve(listener, vec![Reply::Silence, FINE]);
    let mut collector = start(&url, 1 << 20, TIMES);
    collector.push(log(0));
    // While it is in progress, new items wait in the queue.
    while collector.shared.lock().under_way.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    for number in 1..1000 {
        collector.push(log(number));
    }
    assert_eq!(collector.shared.lock().queue.len(), 999);
    let said = message(&collector);
    assert!(said.contains("cannot be reached (timeout"), "{said}");
    collector.finish();
    assert!(!collector.has_lost());
    assert_eq!(logs(&requests), (0..1000).collect::<Vec<_>>());
}

#[test]
fn the_end_waits_so_long_and_no_longer() {
    let (listener, url) = listen();
    let _requests = serve(listener, vec![Reply::Silence]);
    let mut collector = start(&url, 1 << 20, Times { end: Duration::from_secs(1), ..TIMES });
    collector.push(log(0));
    collector.push(metric(1));
    let begin = Instant::now();
    collector.finish();
    assert!(begin.elapsed() >= Duration::from_secs(1));
    let said = collector.messages().pop().unwrap();
    assert!(
        said.contains("has not accepted 1 log record and 3 data points within 1 s of the end: lost"),
        "{said}"
    );
    assert!(collector.has_lost());
}

#[test]
fn what_is_no_http_is_said_once() {
    // The first bytes of HTTP/2, which a collector's port for gRPC speaks.
    let settings =
        Reply::Bytes(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80\0\x04\0\x01\0\0\0\x05\0\xff\xff\xff");
    for rubbish in [settings, Reply::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n"), Reply::Bytes(b"HTTP/1.1 abc\r\n\r\n")]
    {
        let (listener, url) = listen();
        let requests = serve(listener, vec![rubbish.clone(), rubbish.clone(), rubbish, FINE]);
        let mut collector = start(&url, 1 << 20, TIMES);
        collector.push(log(1));
        let said = message(&collector);
        assert!(said.contains("does not answer in HTTP") && said.contains("4318"), "{said}");
        collector.finish();
        assert!(collector.messages().is_empty() && !collector.has_lost());
        assert_eq!(logs(&requests), [1]);
    }
}

#[test]
fn another_server_is_no_collector() {
    let (listener, url) = listen();
    let page = Reply::Http("200 OK", "Content-Type: text/html\r\n", "<html>\n<h1>It works!</h1>");
    let requests = serve(listener, vec![page]);
    let mut collector = start(&url, 1 << 20, TIMES);
    collector.push(log(1));
    collector.push(metric(1));
    collector.finish();
    let said = collector.messages();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("does not answer in OTLP ('<html> <h1>It works!</h1>'): is it a collector?"),
        "{}",
        said[0]
    );
    assert_eq!(logs(&requests), [1]);
}

#[test]
fn what_is_refused_is_lost() {
    let (listener, url) = listen();
    let refusal = Reply::Http("400 Bad Request", "", "{\"message\":\"no\"}");
    let requests = serve(listener, vec![refusal, FINE]);
    let mut collector = start(&url, 1 << 20, TIMES);
    collector.push(log(1));
    // The next request is sent only after this one is refused.
    let said = message(&collector);
    assert!(said.contains("/v1/logs answers 400: {\"message\":\"no\"}: refused data is lost"), "{said}");
    collector.push(log(2));
    collector.finish();
    assert!(collector.has_lost());
    let said = collector.messages();
    assert!(said[0].ends_with("accepts requests again; 1 log record lost so far"), "{said:?}");
    assert!(said[1].ends_with("has refused 1 log record: lost") && said.len() == 2, "{said:?}");
    assert_eq!(logs(&requests), [2], "the next request is taken");
}

#[test]
fn a_part_may_be_rejected() {
    for count in ["2", "\"2\""] {
        let (listener, url) = listen();
        let body =
            format!("{{\"partialSuccess\":{{\"rejectedLogRecords\":{count},\"errorMessage\":\"too old\"}}}}");
        let _requests = serve(listener, vec![Reply::Http("200 OK", "", String::leak(body))]);
        let mut collector = start(&url, 1 << 20, TIMES);
        collector.push(log(1));
        collector.finish();
        let said = collector.messages();
        assert!(said[0].contains("has rejected 2 of the items sent: 'too old'"), "{said:?}");
        assert!(said[1].ends_with("has refused 2 log records: lost"), "{said:?}");
        assert_eq!(collector.shared.lock().lost, Amount { records: 2, points: 0 });
    }
}

#[test]
fn memory_is_bounded_and_the_oldest_goes() {
    let (listener, url) = listen_at("127.0.7.2");
    drop(listener);
    let size = log(100).json.len();
    let mut collector = start(&url, 50 * size, TIMES);
    for number in 100..200 {
        collector.push(log(number));
        let state = collector.shared.lock();
        assert!(state.bytes <= 50 * size, "{} bytes", state.bytes);
    }
    let kept = collector.shared.lock().queue.len();
    let listener = TcpListener::bind(url.trim_start_matches("http://")).unwrap();
    let requests = serve(listener, vec![FINE]);
    collector.finish();
    let came = logs(&requests);
    let dropped = 100 - came.len();
    // The current request is never dropped, whatever its age.
    assert!(dropped >= 50 && came.ends_with(&(200 - kept..200).collect::<Vec<_>>()), "{came:?}");
    let said = collector.messages().pop().unwrap();
    let expected = format!("the queue for {url} was full (-x otlpqueue): {dropped} log records lost");
    assert_eq!(said, expected);
    assert!(collector.has_lost());
}
