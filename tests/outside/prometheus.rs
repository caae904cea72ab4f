//! tests/outside/prometheus.rs: the output of -O prom, checked by promtool, and through node_exporter in Prometheus.

use kinst::consumer::export::{Exports, format};
use kinst::consumer::sink::Sink;
use kinst::consumer::value::Value;
use kinst::dif::Program;
use kinst::dif::enabled::Enabled;
use kinst::options::{From, Options};
use serde_json::Value as Json;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::needs;
use crate::tables::{self, Rows, number};

/// Opens -O prom for a file.
fn open(file: &Path, program: &Program, options: &Options) -> Exports {
    let output = format::parse(&format!("prom={}", file.display())).unwrap();
    format::open(&[output], program, &Enabled::default(), options).unwrap()
}

fn compiled(text: &str) -> (Program, Options) {
    let (program, mut options) = tables::program(text);
    options.set("promlabels", Some("lat:dev"), From::CommandLine).unwrap();
    (program, options)
}

const TEXT: &str = "BEGIN { @reads[execname] = count(); @lat[arg0] = quantize(arg1); @balance = sum(arg0); }";

/// A child process, ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn start(program: PathBuf, arguments: &[String]) -> Running {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().unwrap())
}

/// The body of the answer to a GET; empty on failure.
fn get(port: u16, path: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().unwrap_or_default();
    answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
}

/// Retries until an answer arrives.
fn until<T>(what: &str, ask: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The results of a query: each series' labels, and its value.
fn query(port: u16, text: &str) -> Vec<(Json, f64)> {
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer: Json =
        serde_json::from_str(&get(port, &format!("/api/v1/query?query={encoded}"))).unwrap_or_default();
    let results = answer["data"]["result"].as_array().cloned().unwrap_or_default();
    let value = |result: &Json| result["value"][1].as_str().and_then(|text| text.parse().ok());
    results.iter().filter_map(|result| Some((result["metric"].clone(), value(result)?))).collect()
}

#[test]
fn promtool_finds_no_fault() {
    let Some(monitoring) = needs::monitoring() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("disk.prom");
    let (program, options) = compiled(TEXT);
    let rows = Rows::new(&program)
        .add("reads", &[Value::Text(b"a\"b\\c\nd\xffe{}=,".to_vec())], number(3))
        .add_values("lat", &[Value::Int(8)], &[1, 5, 300])
        .add("balance", &[], number(-1));
    open(&file, &program, &options).finish(&rows, 0, &mut Sink::default());
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["disk.prom"], "no other file is left in the folder");
    let checked = Command::new(monitoring.join("usr/bin/promtool"))
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(
        checked.status.success() && said.is_empty(),
        "{said}\n{}",
        std::fs::read_to_string(&file).unwrap()
    );
}

/// Starts a node_exporter for a folder of text files, and a Prometheus that scrapes it; returns the port of the latter.
fn start_both(monitoring: &Path, folder: &Path, textfiles: &Path) -> (u16, [Running; 2]) {
    let (exporter_port, port) = (free_port(), free_port());
    let exporter = start(
        monitoring.join("usr/bin/prometheus-node-exporter"),
        &[
            format!("--web.listen-address=127.0.0.1:{exporter_port}"),
            "--collector.disable-defaults".into(),
            "--collector.textfile".into(),
            format!("--collector.textfile.directory={}", textfiles.display()),
        ],
    );
    let config = folder.join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n- job_name: node\n  static_configs:\n  - targets: ['127.0.0.1:{exporter_port}']\n"
    );
    std::fs::write(&config, text).unwrap();
    let prometheus = start(
        monitoring.join("usr/bin/prometheus"),
        &[
            format!("--config.file={}", config.display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
        ],
    );
    (port, [exporter, prometheus])
}

#[test]
fn a_prometheus_has_the_series_of_a_node_exporter() {
    let Some(monitoring) = needs::monitoring() else { return };
    let folder = tempfile::tempdir().unwrap();
    let textfiles = folder.path().join("textfile");
    std::fs::create_dir(&textfiles).unwrap();
    let (program, options) = compiled(TEXT);
    // Two traces with aggregations of the same names in one folder.
    let mut exports = open(&textfiles.join("disk.prom"), &program, &options);
    let mut others = open(&textfiles.join("net.prom"), &program, &options);
    let sh = Value::Text(b"sh \"-c\"\\\n\xff".to_vec());
    let rows = Rows::new(&program).add("reads", std::slice::from_ref(&sh), number(3)).add_values(
        "lat",
        &[Value::Int(8)],
        &[5, 6, 300, 301],
    );
    exports.switch(&rows, &mut Sink::default());
    others.switch(
        &Rows::new(&program).add("reads", std::slice::from_ref(&sh), number(7)),
        &mut Sink::default(),
    );

    let (port, _running) = start_both(&monitoring, folder.path(), &textfiles);
    let found = until("kinst_reads_total", || {
        Some(query(port, "kinst_reads_total{trace=\"disk\"}")).filter(|found| !found.is_empty())
    });
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0["execname"].as_str(), found[0].1), (Some("sh \"-c\"\\\n\\xff"), 3.0));
    assert_eq!(query(port, "sum(kinst_reads_total)")[0].1, 10.0, "both traces");
    assert_eq!(query(port, "kinst_lat_bucket{dev=\"8\",le=\"7\"}")[0].1, 2.0);
    assert_eq!(query(port, "kinst_lat_count")[0].1, 4.0);
    // Half of the values are at most 7, the other half between 256 and 511.
    let median = query(port, "histogram_quantile(0.75, kinst_lat_bucket)")[0].1;
    assert!((256.0..=511.0).contains(&median), "{median}");
    assert_eq!(query(port, "node_textfile_scrape_error")[0].1, 0.0);

    // The file is replaced, and Prometheus sees it.
    let rows = Rows::new(&program).add("reads", &[sh], number(4));
    exports.finish(&rows, 0, &mut Sink::default());
    let four = || {
        query(port, "kinst_reads_total{trace=\"disk\"}").first().filter(|(_, value)| *value == 4.0).map(drop)
    };
    until("new value", four);
}
